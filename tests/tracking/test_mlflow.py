"""What stands in a real MLflow after deliveries that were repeated, raced, lost and refused."""

import json
import threading
from typing import Any

import pandas as pd
import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.tracking.connection import load_mlflow
from monitor.tracking.runs import DUPLICATE_OF, NewRun, RunKey, find_or_create, settle
from tests.tracking.conftest import handler_for, the_run
from tests.tracking.reports import (
    FLEET,
    ROUND,
    center,
    make_effect,
    make_report,
    segments,
    slot_of,
)

load_mlflow()  # without its telemetry, before anything else imports it

from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import ViewType  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402

pytestmark = pytest.mark.server


def runs_in(client, name, *, deleted=False):
    experiment = client.get_experiment_by_name(name)
    view = ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY
    return client.search_runs([experiment.experiment_id], run_view_type=view)


def where(run):
    """The run's path in MLflow's pages."""
    return f"experiments/{run.info.experiment_id}/runs/{run.info.run_id}"


def test_a_round_becomes_one_run_with_figures_description_and_files(handler, client, prefix):
    receipt = handler.deliver(make_effect(ROUND, make_report(3)))

    run = the_run(client, f"{prefix}/mail-travel")
    assert receipt == where(run)
    assert (run.info.run_name, run.info.status) == ("3 ok P 0.85 R 0.58 2025-01-20", "FINISHED")
    assert run.info.start_time == slot_of(3).timestamp() * 1000
    assert run.data.metrics["precision/point"] == center("precision", 3)
    assert run.data.metrics["prevalence/point"] == 0.051
    assert run.data.metrics["round/labels"] == 456
    assert run.data.tags["monitor.alert"] == "none"
    assert run.data.tags["mlflow.user"] == "pr-monitor"
    assert run.data.tags["mlflow.note.content"].startswith("All well: no alert on")
    assert run.data.params["threshold"] == "0.5"
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert files == {"timeline.svg", "counts.json", "report.html", "report.json"}


def test_a_run_has_the_dataset_and_a_table_of_counts_and_of_segments_of_its_newest_version(
    handler, client, prefix, tmp_path
):
    handler.deliver(make_effect(ROUND, make_report(1)))
    handler.deliver(make_effect(ROUND, make_report(1, version=2, segments=segments())))

    run = the_run(client, f"{prefix}/mail-travel")
    counts, by_segment = (
        pd.read_json(
            client.download_artifacts(run.info.run_id, name, str(tmp_path)), orient="split"
        )
        for name in ("counts.json", "segments.json")
    )
    (data,) = run.inputs.dataset_inputs
    assert data.dataset.name == "mail-travel predictions"
    assert len(data.dataset.digest) == 8
    assert json.loads(data.dataset.profile)["num_rows"] == make_report(1).size
    assert [(tag.key, tag.value) for tag in data.tags] == [("mlflow.data.context", "monitoring")]
    assert json.loads(run.data.tags["mlflow.loggedArtifacts"]) == [
        {"path": "counts.json", "type": "table"},
        {"path": "segments.json", "type": "table"},
    ]
    assert list(counts["stratum"])[:2] == ["flagged-1", "flagged-2"]
    assert list(counts["labeled"] + counts["declined"] + counts["unanswered"]) == [80] * 6
    assert list(by_segment["value"]) == ["CZ", "CZ", "SK", "SK"]


def test_a_run_links_to_its_status_page_where_mlflow_serves_it(mlflow_url, client, prefix):
    link = "[Status page](pr-monitor/monitors/mail-travel/rounds/{})"

    for number, has_pages in [(3, False), (4, True)]:
        handler = handler_for(mlflow_url, f"{prefix}{number}", status_pages=has_pages)
        handler.deliver(make_effect(ROUND, make_report(number)))

        note = the_run(client, f"{prefix}{number}/mail-travel").data.tags["mlflow.note.content"]
        assert (link.format(number) in note) is has_pages


def test_an_older_version_that_comes_late_does_not_replace_a_newer_one(handler, client, prefix):
    handler.deliver(make_effect(ROUND, make_report(1, version=2, shift=-0.1)))

    handler.deliver(make_effect(ROUND, make_report(1, version=1)))

    run = the_run(client, f"{prefix}/mail-travel")
    assert run.data.tags["monitor.version"] == "2"
    assert run.data.metrics["recall/round"] == pytest.approx(center("recall", 1) - 0.1)


def test_nothing_is_drawn_or_sent_for_a_version_that_is_there(proxy, prefix, monkeypatch):
    handler = handler_for(proxy.url, prefix)
    handler.deliver(make_effect(ROUND, make_report(1)))
    monkeypatch.setattr("monitor.tracking.writing.timeline_svg", None)  # whoever draws breaks
    before = len(proxy.seen)

    handler.deliver(make_effect(ROUND, make_report(1)))

    assert len(proxy.seen) - before == 2  # find the run, and see that it is the only one


def test_the_job_did_not_fail_because_a_round_was_abandoned_so_its_run_says_why(
    handler, client, prefix
):
    handler.deliver(make_effect(ROUND, make_report(1, state="abandoned", sentence="Abandoned.")))

    run = the_run(client, f"{prefix}/mail-travel")
    assert run.info.status == "FINISHED"
    assert run.data.tags["monitor.reason"] == "no label came for the flagged class"
    assert "precision/round" not in run.data.metrics

    handler.deliver(make_effect(ROUND, make_report(1, version=2)))  # done again

    assert "monitor.reason" not in the_run(client, f"{prefix}/mail-travel").data.tags


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("dropped", "runs/create"),
        ("dropped", "log-batch"),
        ("dropped", "log-inputs"),
        ("dropped", "artifacts"),
        ("dropped", "runs/update"),
        ("unavailable", "log-batch"),
    ],
)
def test_one_run_comes_of_it_whichever_answer_is_lost(proxy, client, prefix, kind, call):
    handler = handler_for(proxy.url, prefix)
    proxy.fault(kind, call, times=2)
    effect = make_effect(ROUND, make_report(1))

    for _ in range(5):
        try:
            receipt = handler.deliver(effect)
            break
        except DeliveryFailed:
            continue

    assert proxy.faulted  # a lost answer may need no second call
    assert sum("runs/create" in path for path in proxy.seen) == 1
    run = the_run(client, f"{prefix}/mail-travel")
    assert receipt == where(run)
    assert run.data.tags["monitor.digest"]
    assert runs_in(client, f"{prefix}/mail-travel", deleted=True) == []


def test_three_workers_that_make_the_run_at_once_end_with_one(mlflow_url, client, prefix):
    experiment = client.create_experiment(prefix)
    key = RunKey("monitor.round_key", 'store/it\'s "quoted"/1')
    all_searched = threading.Barrier(3)
    kept = []

    class Racing:
        """A client that creates only once all three have searched in vain."""

        def __init__(self):
            self._client = MlflowClient(mlflow_url)

        def create_run(self, *args):
            all_searched.wait(10)
            return self._client.create_run(*args)

        def __getattr__(self, name):
            return getattr(self._client, name)

    def work():
        mine: Any = Racing()
        try:
            find_or_create(mine, experiment, key, NewRun("a", 0))
            all_searched.wait(10)
            kept.append(settle(mine, experiment, key).info.run_id)
        except (DeliveryFailed, MlflowException):
            pass  # its run was removed under its hands: it would be tried again

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    last = settle(client, experiment, key)
    assert [run.info.run_id for run in runs_in(client, prefix)] == [last.info.run_id]
    assert set(kept) <= {last.info.run_id}
    doubles = runs_in(client, prefix, deleted=True)
    assert {run.data.tags[DUPLICATE_OF] for run in doubles} == {last.info.run_id}
    assert len(doubles) == 2


def test_a_double_from_a_worker_long_gone_is_removed_and_the_kept_run_is_whole(
    handler, client, prefix
):
    report = make_report(1)
    handler.deliver(make_effect(ROUND, report))
    first = the_run(client, f"{prefix}/mail-travel")
    tags = {"monitor.round_key": report.round_key}
    client.create_run(first.info.experiment_id, start_time=0, tags=tags)

    handler.deliver(make_effect(ROUND, report))

    run = the_run(client, f"{prefix}/mail-travel")
    assert run.data.metrics == first.data.metrics
    assert run.data.tags["monitor.digest"] == first.data.tags["monitor.digest"]


def test_a_run_that_somebody_deleted_comes_back_with_the_next_version(handler, client, prefix):
    handler.deliver(make_effect(ROUND, make_report(1)))
    run_id = the_run(client, f"{prefix}/mail-travel").info.run_id
    client.delete_run(run_id)

    handler.deliver(make_effect(ROUND, make_report(1, version=2)))

    run = the_run(client, f"{prefix}/mail-travel")
    assert (run.info.run_id, run.data.tags["monitor.version"]) == (run_id, "2")


def test_a_deleted_experiment_is_named_with_the_way_out(handler, client, prefix):
    handler.deliver(make_effect(FLEET, make_report(1)))
    client.delete_experiment(client.get_experiment_by_name(prefix).experiment_id)

    fresh = handler_for(client.tracking_uri, prefix)
    with pytest.raises(DeliveryFailed, match="experiments restore --experiment-id") as failure:
        fresh.deliver(make_effect(FLEET, make_report(2)))

    assert not failure.value.sink_down


def test_the_fleet_has_one_run_per_monitor_with_a_step_per_round(handler, client, prefix):
    for number in (1, 2):
        handler.deliver(make_effect(FLEET, make_report(number)))
        handler.deliver(make_effect(FLEET, make_report(number, monitor="other")))

    runs = {run.info.run_name: run for run in runs_in(client, prefix)}
    assert set(runs) == {"mail-travel", "other"}
    history = client.get_metric_history(runs["other"].info.run_id, "recall/point")
    assert [point.step for point in history] == [1, 2]
    assert runs["other"].info.status == "RUNNING"
