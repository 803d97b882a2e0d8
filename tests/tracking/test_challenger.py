"""What MLflow is told of a challenger: metrics, a sentence and a table."""

import pytest

from monitor.domain.challenger import ChallengerRow, ComparedMetric, ComparisonRow
from monitor.tracking.describe import describe
from monitor.tracking.values import metrics
from tests.tracking.reports import make_report


def compared(metric, champion, challenger, half):
    difference = challenger - champion
    return ComparedMetric(
        metric=metric,
        champion=(champion, champion - 0.05, champion + 0.05),
        challenger=(challenger, challenger - 0.05, challenger + 0.05),
        difference=(difference, difference - half, difference + half),
        higher=0.9,
    )


def comparison(rounds, half=0.04):
    return ComparisonRow(
        rounds=rounds,
        size=10_000 * rounds,
        labeled=500 * rounds,
        positive=120 * rounds,
        flagged=900 * rounds,
        only_champion=(80, 60, 110),
        only_challenger=(40, 30, 60),
        metrics=(compared("precision", 0.8, 0.79, half), compared("recall", 0.6, 0.66, half)),
    )


def challenger(**changes):
    values = {"name": "v8", "rule": "v8 >= 0.7", "undecided": 0, "level": 0.95}
    return ChallengerRow.model_validate({**values, **changes})


def named(report):
    return {name: at for name, at in metrics(report).items() if name.startswith("challenger/")}


def test_a_round_has_both_metrics_of_the_challenger_and_their_differences():
    report = make_report(3, challenger=challenger(alone=comparison(1)))

    assert named(report) == {
        "challenger/precision": 0.79,
        "challenger/recall": 0.66,
        "challenger/precision_difference": -0.01,
        "challenger/precision_difference_low": -0.05,
        "challenger/precision_difference_high": 0.03,
        "challenger/recall_difference": 0.06,
        "challenger/recall_difference_low": 0.02,
        "challenger/recall_difference_high": 0.1,
    }


@pytest.mark.parametrize("row", [None, challenger(reason="its decisions could not be read")])
def test_without_a_comparison_there_is_no_metric(row):
    assert named(make_report(3, challenger=row)) == {}


def test_a_name_cannot_break_out_of_the_description():
    row = challenger(name="[v8](http://x) | **y**", alone=comparison(1))

    text = describe(make_report(3, challenger=row))

    assert "\\[v8\\](http\\://x) \\| \\*\\*y\\*\\*" in text
