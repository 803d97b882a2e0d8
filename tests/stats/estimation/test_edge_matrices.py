"""The edge of what labels allow: which matrices, and the intervals that reach there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.core.metrics import METRICS, Matrix
from monitor.stats.estimation.posterior import estimate, estimates, matrices_at_the_edge
from tests.stats.samples import of_matrix

DRAWN = Matrix(tp=[30.0, 20.0], fp=[10.0, 20.0], fn=[5.0, 9.0], tn=[95.0, 91.0])


def cells(matrix):
    return [each.tolist() for each in (matrix.tp, matrix.fp, matrix.fn, matrix.tn)]


@pytest.mark.parametrize(
    "counts", [of_matrix(1, 1, 1, 1, 40, 100), of_matrix(0, 0, 3, 9, 40, 100)], ids=["both", "none"]
)
def test_with_both_answers_seen_or_none_at_all_a_class_has_no_edge(counts):
    assert matrices_at_the_edge(counts, DRAWN) == []


def test_two_classes_at_an_edge_give_each_and_both():
    matrices = matrices_at_the_edge(of_matrix(9, 0, 0, 9, 40, 100), DRAWN)

    assert [cells(edge) for edge in matrices] == [
        [[40, 40], [0, 0], [5, 9], [95, 91]],
        [[30, 20], [10, 20], [0, 0], [100, 100]],
        [[40, 40], [0, 0], [0, 0], [100, 100]],
    ]


def test_no_missed_positive_seen_lets_recall_reach_one_and_nothing_else_changes():
    counts = of_matrix(30, 5, 0, 60, flagged_size=4000, passed_size=90_000)
    drawn = METRICS["recall"](draw(round_posterior(counts), seed=0).rate_matrix(counts.size))

    recall = estimate(counts)["recall"]

    assert recall.high == 1.0
    assert recall.low == np.quantile(drawn, 0.025, method="inverted_cdf")
    assert recall.point == 1.0


def test_no_wrong_or_no_right_answer_seen_lets_metrics_reach_one_or_zero():
    none_wrong, none_right = (
        estimate(of_matrix(*counts, flagged_size=4000, passed_size=90_000))
        for counts in ((30, 0, 5, 60), (0, 30, 5, 60))
    )

    assert none_wrong["precision"].high == 1.0
    assert (none_right["precision"].low, none_right["recall"].low) == (0.0, 0.0)
    assert (none_right["precision"].point, none_right["recall"].point) == (0.0, 0.0)


def test_a_pooled_estimate_does_not_reach_to_the_edge_of_one_round():
    counts = of_matrix(30, 5, 0, 60, flagged_size=4000, passed_size=90_000)

    recall = estimate(counts, basis="pooled")["recall"]

    assert recall.high is not None
    assert 0.9 < recall.high < 1.0


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_an_interval_holds_its_draws_own_interval_and_stays_in_range(found):
    tp, fp, fn, tn = found
    counts = of_matrix(tp, fp, fn, tn, 400, 9000)
    drawn = draw(round_posterior(counts), seed=0, points=2**8).rate_matrix(counts.size)

    for row in estimates(counts, metrics=("precision", "recall"), estimands=("rate",), points=2**8):
        if row.low is not None and row.high is not None:
            values = METRICS[row.metric](drawn)
            ends = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
            assert 0 <= row.low <= ends[0] <= ends[1] <= row.high <= 1
