"""Whether the threshold in use is allowed, by counts alone."""

from dataclasses import replace

import pytest
from scipy import stats

from monitor.domain.model import Verdict
from monitor.domain.settings import ThresholdTarget
from monitor.rounds.estimation.anomalies import threshold_notices
from monitor.rounds.estimation.tally import Tally
from tests.rounds.estimation.tallies import tally, tally_by_class
from tests.rounds.scene import settings

ROUND = tally_by_class(86, 14, 5, 95, flagged=1000, passed=9000)


def notices(*rounds, **target):
    *earlier, now = rounds
    asked = settings(threshold=0.5, threshold_target=ThresholdTarget(**target))
    return threshold_notices(now, earlier, asked)


def test_the_threshold_is_allowed_where_an_exact_binomial_test_is_sure():
    assert stats.binomtest(86, 100, 0.75, alternative="greater").pvalue < 0.01
    assert stats.binomtest(86, 100, 0.84, alternative="greater").pvalue > 0.3

    assert notices(ROUND, precision=0.75) == []
    [row] = notices(ROUND, precision=0.84)
    assert (row.kind, row.subject) == ("threshold", "precision")
    assert row.value > 0.3
    assert "threshold 0.5 is not allowed: the labels of this round" in row.sentence


def test_recall_can_be_the_target():
    assert notices(ROUND, recall=0.3) == []
    assert [row.subject for row in notices(ROUND, recall=0.9)] == ["recall"]


def test_earlier_rounds_are_pooled_up_to_the_number_that_the_target_names():
    """One round leaves .79 open; four of them do not. A bad one before them does not count."""
    bad = tally_by_class(0, 100, 5, 95, flagged=1000, passed=9000)

    assert notices(ROUND, precision=0.79) != []
    assert notices(bad, *[ROUND] * 4, precision=0.79, rounds=4) == []
    [row] = notices(bad, *[ROUND] * 4, precision=0.79, rounds=5)
    assert "the labels of the last 5 rounds" in row.sentence
    assert "--rounds 5" in row.sentence


def test_a_higher_confidence_allows_less():
    assert notices(ROUND, precision=0.78) == []
    assert notices(ROUND, precision=0.78, confidence=0.999) != []


@pytest.mark.parametrize("change", [{"verdict": Verdict.YES}, {"unscored": True}])
def test_strata_without_an_order_by_score_are_reported_and_not_tested(change):
    parts = [
        replace(part, stratum=replace(part.stratum, **change)) if h == 0 else part
        for h, part in enumerate(ROUND.strata)
    ]

    [row] = notices(Tally(tuple(parts)), precision=0.1)

    assert "is not tested for precision 0.1" in row.sentence


def test_a_window_without_flagged_items_is_reported_and_not_tested():
    empty = tally(ROUND.frame, [0, 9000], [0, 100], [0, 5])

    assert "is not tested" in notices(empty, precision=0.1)[0].sentence
