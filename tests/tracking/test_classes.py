"""The averages over classes in MLflow: one run of a block, whatever is repeated or comes late."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.class_report import AverageRow, ClassReport, ClassRow
from monitor.domain.model import Effect, EffectKind

pytestmark = pytest.mark.server
FIRST = datetime(2025, 3, 3, 6, tzinfo=UTC)
WEEK = timedelta(days=7)


def report(number=1, *, version=3, shift=0.0, missing=None):
    classes = [
        ClassRow(value="travel", monitor="mail-travel", round=number, flagged=300, labeled=200),
        ClassRow(value="a|b *c*", monitor="mail-ab", round=number, missing=missing),
    ]
    averages = [
        AverageRow(
            average=average,
            metric=metric,
            point=0.8 + shift,
            low=0.7 + shift,
            high=0.9 + shift,
            classes=2,
            few_labels=("travel",) if metric == "recall" else (),
        )
        for average in ("macro", "micro")
        for metric in ("precision", "recall")
    ]
    slot = FIRST + (number - 1) * WEEK
    return ClassReport(
        store_id="store",
        block="mail",
        slot=slot,
        window_start=slot - WEEK,
        window_end=slot,
        round=number,
        version=version,
        state=f"{number}{version}",
        level=0.95,
        classes=tuple(classes),
        averages=() if missing else tuple(averages),
        labels=0 if missing else 400,
        items=0 if missing else 250,
    )


def deliver(handler, of):
    effect = Effect(
        id=1,
        key=f"{of.block}/{of.round}/{of.version}",
        kind=EffectKind.CLASS_AVERAGES,
        sink="mlflow",
        monitor="mail-travel",
        payload=of.model_dump(mode="json"),
        attempt=1,
    )
    return handler.deliver(effect)


def run_of(client, receipt):
    return client.get_run(receipt.rpartition("/")[2])


def test_averages_are_metrics_of_the_blocks_run_in_the_experiment_of_all(handler, client, prefix):
    run = run_of(client, deliver(handler, report()))

    assert client.get_experiment(run.info.experiment_id).name == prefix
    assert run.info.run_name == "mail (all classes)"
    assert run.data.metrics == {
        **{
            f"{average}/{metric}{end}": value
            for average in ("macro", "micro")
            for metric in ("precision", "recall")
            for end, value in (("", 0.8), ("_low", 0.7), ("_high", 0.9))
        },
        "round/labels": 400,
        "round/items": 250,
        "round/classes": 2,
    }
    assert run.data.tags["P"] == "80 % 70-90"
    note = run.data.tags["mlflow.note.content"]
    assert r"a\|b \*c\*" in note
    assert "few labels decide travel" in note
    assert "400 labels of 250 items" in note


def test_a_step_is_a_window_of_which_the_newest_version_shows_and_delivering_again_adds_nothing(
    handler, client
):
    told = [
        report(1),
        report(2, shift=-0.1),
        report(2, version=5, shift=-0.2),
        report(1, version=9, shift=-0.3),
    ]
    receipts = {deliver(handler, each) for each in (*told, told[-1])}

    [run] = [run_of(client, receipt) for receipt in receipts]
    history = client.get_metric_history(run.info.run_id, "macro/recall")
    values = [(1, 0.8), (2, 0.7), (2, 0.6), (1, 0.5)]
    assert sorted((point.step, point.value) for point in history) == sorted(values)
    assert run.data.tags["monitor.round"] == "2"
    assert run.data.metrics["macro/recall"] == 0.6


def test_a_missing_class_is_named_and_leaves_a_gap(handler, client):
    deliver(handler, report(1))
    receipt = deliver(handler, report(2, missing="round 2 was abandoned: no label came"))

    run = run_of(client, receipt)
    note = run.data.tags["mlflow.note.content"]
    assert "has no estimate: round 2 was abandoned: no label came" in note
    assert run.data.tags["P"] == "not estimable"
    history = client.get_metric_history(run.info.run_id, "macro/recall")
    assert [point.step for point in history] == [1]
