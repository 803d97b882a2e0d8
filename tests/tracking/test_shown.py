"""What a real MLflow shows of a store's rounds, whatever became of their runs."""

from datetime import timedelta

import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.tracking.mlflow import MlflowSettings
from monitor.tracking.shown import RESTORED, MlflowRuns
from tests.servers import free_port
from tests.tracking.conftest import Stub, the_run
from tests.tracking.reports import ROUND, make_effect, make_report, slot_of

pytestmark = pytest.mark.server

STORE = make_report().store_id
MAIL = "mail-travel"


def runs_for(url, prefix):
    patience = timedelta(seconds=60)
    return MlflowRuns(MlflowSettings(tracking_uri=url, experiment_prefix=prefix, timeout=patience))


@pytest.fixture
def shown(mlflow_url, prefix):
    return runs_for(mlflow_url, prefix)


def of_history(report, history):
    key = report.round_key.split("/")
    return report.model_copy(update={"round_key": "/".join([*key[:2], str(history), key[3]])})


def test_runs_are_found_by_store_and_monitor_whatever_their_history(handler, shown, prefix):
    handler.deliver(make_effect(ROUND, make_report(1, version=3)))
    handler.deliver(make_effect(ROUND, of_history(make_report(2), history=77)))
    theirs = make_report(3)
    other = theirs.model_copy(update={"round_key": f"other-{theirs.round_key}"})
    handler.deliver(make_effect(ROUND, other))

    found = shown.find(STORE, MAIL)

    assert [(run.slot, run.version, run.state, run.live) for run in found] == [
        (slot_of(1), 3, "closed", True),
        (slot_of(2), 1, "closed", True),
    ]
    assert shown.newest_slot(STORE, MAIL) == slot_of(2)
    assert shown.newest_slot(f"other-{STORE}", MAIL) == slot_of(3)
    assert shown.find(STORE, "mail") == []


def test_the_report_of_a_run_comes_back_as_it_was_told_and_a_run_without_one_has_none(
    handler, shown, client
):
    report = make_report(11)
    handler.deliver(make_effect(ROUND, report))
    [whole] = shown.find(STORE, MAIL)
    experiment = client.get_run(whole.run_id).info.experiment_id
    key = make_report(2).round_key
    client.create_run(experiment, start_time=0, tags={"monitor.round_key": key})

    [half] = [run for run in shown.find(STORE, MAIL) if run.slot == slot_of(2)]

    assert shown.report(whole) == report.model_dump(mode="json")
    assert (half.version, half.state, shown.report(half)) == (0, "", None)


def test_a_run_is_found_by_its_number_and_page_and_tells_that_its_store_was_restored(
    handler, shown, client, prefix
):
    handler.deliver(make_effect(ROUND, make_report(4)))

    [found] = shown.find(STORE, MAIL)
    shown.tag(found, "lost")

    run = the_run(client, f"{prefix}/{MAIL}")
    assert run.data.tags[RESTORED] == "lost"
    assert found.number == 4
    assert found.page.endswith(f"/#/experiments/{run.info.experiment_id}/runs/{found.run_id}")


def test_an_mlflow_that_is_down_or_new_is_told_from_one_that_shows_nothing(tmp_path, prefix):
    nobody = runs_for(f"http://127.0.0.1:{free_port()}", prefix)
    new = runs_for(f"sqlite:///{tmp_path}/mlflow.db", prefix)

    with pytest.raises(DeliveryFailed, match="does not answer"):
        nobody.find(STORE, MAIL)
    assert (new.find(STORE, MAIL), new.newest_slot(STORE, MAIL)) == ([], None)
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.parametrize("status", [200, 404, 503])
def test_a_server_that_does_not_tell_its_newest_run_is_left_alone_for_a_while(status):
    with Stub(status, b"<html>") as stub:
        shown = runs_for(stub.url, "monitor")
        for _ in range(2):
            with pytest.raises(DeliveryFailed, match=stub.url):
                shown.newest_slot(STORE, MAIL)

    assert len(stub.asked) == 2  # of which one is whether it is there
