"""What MLflow shows of a restated round: the new numbers, why, and the old ones beside them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.domain.report import RestatedRow
from monitor.report.figures import timeline_svg
from monitor.tracking.describe import describe
from monitor.tracking.values import run_name
from tests.drawing import looking
from tests.tracking.conftest import handler_for, the_run
from tests.tracking.reports import FLEET, ROUND, center, make_effect, make_report, timeline


def restated(number, *, version=2, own=True, shift=-0.1, **changes):
    row = RestatedRow(
        version=version,
        replaces=version - 1,
        at=datetime(2025, 6, 2, 9, tzinfo=UTC),
        by="ana",
        reason=changes.pop("reason", "a label file was wrong."),
        rounds=[4],
        own=own,
        before=make_report(number).estimates,
    )
    points = [p.model_copy(update={"restated": p.round == 4}) for p in timeline(number)]
    values = {"version": version, "shift": shift, "restated": [row], "timeline": points}
    return make_report(number, **(values | changes))


def test_the_name_of_a_run_says_that_its_round_was_restated_and_not_that_it_pools_one():
    name = run_name(make_report(4, shift=-0.1))

    assert run_name(restated(4)) == name.replace("4 unclear", "4 unclear restated", 1) != name
    assert run_name(restated(5, own=False)) == run_name(make_report(5, shift=-0.1))


def test_the_description_says_who_restated_what_when_and_why_and_what_stood_there():
    own, pooling = describe(restated(4)), describe(restated(5, own=False))

    assert (
        "Version 2: restated 2025-06-02 by ana: a label file was wrong; before: precision "
        "0.87 (0.84 to 0.90), recall 0.60 (0.57 to 0.63)."
    ) in own
    assert "pools round 4, restated 2025-06-02 by ana" in pooling
    assert "version 2: restated, earlier ones are in report-v\\*.json" in own


def test_a_reason_cannot_break_out_of_the_description_and_many_restatements_fit_into_a_tag():
    row = restated(4, reason="[click](http://x) **now** " + "w" * 170).restated[0]

    text = describe(make_report(4, version=40, restated=[row] * 39))

    assert r"\[click\]" in text
    assert len(text) < 8_000
    assert "36 earlier restatements" in text


def test_the_figure_marks_a_restated_round_in_both_panels_and_names_the_mark():
    picture = looking.at(timeline_svg(restated(6)))
    plain = looking.at(timeline_svg(make_report(6)))

    assert (len(picture.diamonds()), len(plain.diamonds())) == (3, 0)
    assert ("restated" in picture.texts, "restated" in plain.texts) == (True, False)


@pytest.mark.server
def test_both_versions_stay_readable_and_the_metrics_are_the_newest(
    handler, client, prefix, tmp_path
):
    for report in (make_report(4), restated(4)):
        for kind in (ROUND, ROUND, FLEET, FLEET):
            handler.deliver(make_effect(kind, report))

    run = the_run(client, f"{prefix}/mail-travel")
    for shown in (run, the_run(client, prefix)):
        assert shown.data.metrics["precision/round"] == pytest.approx(center("precision", 4) - 0.1)
        assert shown.data.tags["monitor.version"] == "2"
    assert run.data.tags["monitor.restated"].startswith("restated 2025-06-02 by ana")
    first, newest = (
        json.loads(Path(client.download_artifacts(run.info.run_id, name, tmp_path)).read_text())
        for name in ("report-v1.json", "report.json")
    )
    assert (first["version"], newest["version"]) == (1, 2)
    assert first == make_report(4).model_dump(mode="json")


@pytest.mark.server
def test_an_older_round_restated_moves_its_point_and_leaves_picture_and_words_of_the_newest(
    proxy, client, prefix
):
    handler = handler_for(proxy.url, prefix)
    for number in (4, 5):
        for kind in (ROUND, FLEET):
            handler.deliver(make_effect(kind, make_report(number)))
    own = client.get_experiment_by_name(f"{prefix}/mail-travel")
    for kind in (ROUND, FLEET):
        before = len(proxy.seen)
        handler.deliver(make_effect(kind, restated(4)))

    assert not any("timeline.svg" in call for call in proxy.seen[before:])
    run = the_run(client, prefix)
    points = client.get_metric_history(run.info.run_id, "precision/round")
    newest = {one.step: one.value for one in sorted(points, key=lambda one: one.timestamp)}
    assert newest == {
        4: pytest.approx(center("precision", 4) - 0.1),
        5: pytest.approx(center("precision", 5)),
    }
    assert run.data.metrics["precision/round"] == center("precision", 5)
    assert run.data.tags["monitor.round"] == "5"
    assert f"precision is {center('precision', 5):.2f} (" in run.data.tags["mlflow.note.content"]
    note = "mlflow.note.content"
    assert client.get_experiment(own.experiment_id).tags[note] == own.tags[note]


@pytest.mark.server
def test_a_version_that_was_cut_off_keeps_the_report_of_the_one_before(
    handler, client, prefix, monkeypatch
):
    handler.deliver(make_effect(ROUND, make_report(4)))
    with monkeypatch.context() as broken:
        broken.setattr("monitor.tracking.writing.DIGEST", "monitor.elsewhere")
        handler.deliver(make_effect(ROUND, restated(4)))

    handler.deliver(make_effect(ROUND, restated(4)))

    run = the_run(client, f"{prefix}/mail-travel")
    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    reports = {name for name in kept if name.startswith("report")}
    assert reports == {"report-v1.json", "report.json", "report.html"}


@pytest.mark.server
def test_an_outage_while_the_earlier_report_is_fetched_loses_neither(proxy, client, prefix):
    handler = handler_for(proxy.url, prefix)
    handler.deliver(make_effect(ROUND, make_report(4)))
    proxy.fault("unavailable", "artifacts", times=9)

    with pytest.raises(DeliveryFailed):
        handler.deliver(make_effect(ROUND, restated(4)))
    run = the_run(client, f"{prefix}/mail-travel")
    assert run.data.tags["monitor.version"] == "1"
    proxy.mend()
    handler.deliver(make_effect(ROUND, restated(4)))

    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert {"report-v1.json", "report.json"} <= kept
