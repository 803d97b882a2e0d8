from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.report import TimelinePoint
from monitor.presentation.running import ROUNDS, crossed_text, running_lines
from monitor.rounds.reporting.report import TIMELINE


def timeline(first, last, *, without=()):
    """Rounds with a precision of .8 and, but for some, a recall of .6."""
    return [
        TimelinePoint(
            round=number,
            slot=datetime(2026, 1, 5, tzinfo=UTC) + number * timedelta(weeks=1),
            precision_round=(0.8, 0.75, 0.85),
            recall_round=None if number in without else (0.6, 0.5, 0.7),
        )
        for number in range(first, last + 1)
    ]


def test_each_metric_has_its_mean_from_the_second_round_on():
    assert running_lines([]) == running_lines(timeline(1, 1)) == []
    precision, recall = running_lines(timeline(1, 4))

    assert precision == (
        "precision 0.800 [0.759, 0.841] on average over rounds 1 to 4, which holds in all rounds "
        "at once if no answers are missing"
    )
    assert recall.startswith("recall 0.600 [0.519, 0.681] on average")


def test_the_longer_side_of_an_interval_counts():
    short, long = (
        [
            point.model_copy(update={"recall_round": (0.6, 0.6 - d, 0.65)})
            for point in timeline(1, 4)
        ]
        for d in (0.05, 0.15)
    )

    assert running_lines(short)[1].startswith("recall 0.600 [0.559, 0.641]")
    assert running_lines(long)[1].startswith("recall 0.600 [0.478, 0.722]")


def test_rounds_without_a_value_are_not_counted():
    lines = running_lines(timeline(1, 5, without={1, 3, 4, 5}))

    assert len(lines) == 1
    [_, recall] = running_lines(timeline(1, 5, without={1, 3}))
    assert "over 3 of the rounds 2 to 5, which" in recall


def test_a_mean_has_all_of_its_rounds_though_reports_have_only_the_newest():
    assert ROUNDS <= TIMELINE
    newest = timeline(1, 250)[-TIMELINE:]

    assert "over rounds 201 to 250" in running_lines(newest)[0]
    assert running_lines(timeline(98, 201)) == []  # the first of the next hundred
    assert "over rounds 101 to 200" in running_lines(timeline(97, 200))[0]


def test_a_mean_begins_again_with_another_history():
    old = [point.model_copy(update={"history": 1}) for point in timeline(1, 8)]
    new = [point.model_copy(update={"history": 2}) for point in timeline(9, 11)]
    worse = [point.model_copy(update={"precision_round": (0.4, 0.3, 0.5)}) for point in new]

    assert running_lines([*old, new[0]]) == []
    assert running_lines([*old, *worse])[0].startswith(
        "precision 0.400 [0.303, 0.497] on average over rounds 9 to 11 (newest history only), which"
    )
    again = [*old, *worse, old[-1].model_copy(update={"round": 12})]
    assert "0.800" in running_lines(again)[0]
    assert "over 9 of the rounds 1 to 12 (newest history only)" in running_lines(again)[0]


@pytest.mark.parametrize(("metric", "has_text"), [("recall", True), ("f1", False)])
def test_an_alert_says_why_the_number_was_looked_at(metric, has_text):
    text = crossed_text(timeline(1, 4), metric)

    assert (text is not None) == has_text
    if text:
        assert text.startswith("recall is looked at here because its evidence crossed")
        assert text.endswith("in all rounds at once if no answers are missing")
