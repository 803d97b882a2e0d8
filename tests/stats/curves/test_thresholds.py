"""Thresholds with a guarantee: p-values beside exact ones, and how often the guarantee breaks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.stats.curves.thresholds import (
    LabeledScores,
    ScoreStrata,
    allowed_p,
    cheaper_p,
    cheapest,
    last_allowed,
    precision_p,
    recall_p,
    threshold_tests,
)

SIZE = np.array([300, 500, 800, 1200, 3000, 9000, 30000])
RATE = np.array([0.99, 0.95, 0.8, 0.6, 0.2, 0.04, 0.003])
PLAN = np.array([30, 40, 60, 80, 80, 60, 60])
FLAGGED = 4


def rounds(count, seed, plan=PLAN, flagged=FLAGGED):
    """Label many rounds of one classifier."""
    positive = np.random.default_rng(seed).binomial(plan, RATE, size=(count, len(plan)))
    return ScoreStrata(SIZE, np.broadcast_to(plan, positive.shape), positive, flagged=flagged)


@pytest.mark.parametrize("positive", [10, 40, 45, 48, 50])
def test_of_one_stratum_the_p_value_is_close_to_that_of_clopper_and_pearson(positive):
    strata = ScoreStrata([5000, 5000], [50, 50], [positive, 1], flagged=1)
    exact = stats.binomtest(positive, 50, 0.8, alternative="greater").pvalue

    [p] = precision_p(strata, 0.8)

    assert p == pytest.approx(exact, abs=0.04)
    assert p >= exact - 0.005


def test_of_many_labels_the_p_values_are_those_of_the_normal_law():
    labeled, positive = np.array([40_000, 30_000, 50_000]), np.array([36_000, 15_000, 2_500])
    size, over = np.array([400_000, 300_000, 500_000]), np.array([1, 1, 0])
    rate = positive / labeled
    strata = ScoreStrata(size, labeled, positive, flagged=2)
    for p_values, slope, shift in ((precision_p, over, 0.726), (recall_p, over - 0.953, 0.0)):
        mean = slope @ (size * rate) - shift * (size @ over)
        sd = np.sqrt(slope**2 @ (size**2 * rate * (1 - rate) / labeled))
        target = 0.726 if p_values is precision_p else 0.953

        assert p_values(strata, target)[1] == pytest.approx(stats.norm.sf(mean / sd), abs=0.02)


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5), st.integers(0, 4), st.integers(0, 4))
def test_the_fallback_procedure_is_wiens_as_he_writes_it(p, first, second):
    last, carried = -1, 0.0
    for k in range(5):
        level = carried + 0.025 * ((k == first) + (k == second))
        carried = level if p[k] <= level and level > 0 else 0.0
        last = k if carried else last

    allowed = allowed_p(np.array(p), np.arange(5), np.array([first, second]), 0.05)
    assert last_allowed(np.array(p), allowed, np.arange(5)) == last


def test_a_stratum_without_a_label_counts_as_the_worst_that_it_may_be():
    seen = ScoreStrata([1000, 1000, 8000], [100, 100, 100], [99, 97, 1], flagged=2)
    unseen = ScoreStrata([1000, 1000, 8000], [100, 0, 100], [99, 0, 1], flagged=2)
    passed = ScoreStrata([1000, 1000, 8000], [100, 100, 0], [99, 97, 0], flagged=2)

    assert precision_p(seen, 0.8)[1] < 0.01
    assert precision_p(unseen, 0.8)[1] > 0.99
    assert recall_p(seen, 0.5)[1] < 0.01
    assert recall_p(passed, 0.5)[1] > 0.99


@pytest.mark.parametrize("nudge", [0.0005, 0.03])
@pytest.mark.parametrize("metric", ["precision", "recall"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_threshold_breaks_its_guarantee_in_at_most_a_twentieth_of_the_rounds(
    metric, nudge, times
):
    found = np.cumsum(SIZE * RATE)
    precision, recall = found[:-1] / np.cumsum(SIZE)[:-1], found[:-1] / found[-1]
    truth, at = {"precision": (precision, FLAGGED), "recall": (recall, FLAGGED - 2)}[metric]
    target = truth[at] + nudge

    chosen = threshold_tests(rounds(4000, seed=5, plan=PLAN * times), metric, target).last

    allowed = chosen >= 0
    assert np.mean(allowed & (truth[chosen] < target)) <= 0.05
    assert allowed.mean() > 0.5


@pytest.mark.parametrize(("flagged", "is_cheapest"), [(4, True), (2, False)])
def test_a_threshold_is_rarely_called_cheaper_unless_it_is(flagged, is_cheapest):
    found = np.cumsum(SIZE * RATE)
    cost = (np.cumsum(SIZE)[:-1] - found[:-1]) + 4.0 * (found[-1] - found[:-1])
    strata = rounds(4000, seed=6, flagged=flagged)
    best = strata.cost(1, 4).argmin(axis=1)
    sure = cheaper_p(strata, 1, 4)[np.arange(4000), best] <= 0.05 / 5

    assert np.mean(sure & (cost[best] >= cost[flagged - 1])) <= 0.05
    assert (sure.mean() < 0.05) if is_cheapest else (sure.mean() > 0.9)


def test_equal_costs_flag_what_is_more_likely_positive_than_not():
    strata = ScoreStrata(SIZE, PLAN, np.rint(PLAN * RATE), flagged=2)

    assert cheapest(strata, 1, 1) == (3, True)
    assert cheaper_p(strata, 1, 1)[1] == 1


@pytest.mark.parametrize(
    ("size", "labeled", "positive", "flagged", "problem"),
    [
        ([10, 10], [5, 5], [1, 1], 2, "some of each are needed"),
        ([10, 10], [5, 5], [6, 1], 1, "more positive"),
        ([4, 10], [5, 5], [1, 1], 1, "more labeled"),
    ],
)
def test_impossible_counts_are_refused(size, labeled, positive, flagged, problem):
    with pytest.raises(ValueError, match=problem):
        ScoreStrata(size, labeled, positive, flagged=flagged)


@pytest.mark.parametrize("positive", [70, 80, 85, 90, 99])
def test_of_a_plain_sample_the_p_values_are_close_to_the_exact_ones(positive):
    """Given how many items a threshold flags, those of them that are positive are binomial."""
    classes = [1] * positive + [0] * (100 - positive) + [1] * 20 + [0] * 180
    labeled = LabeledScores([0] * 100 + [1] * 200, classes, flagged=1)
    recall = positive / (positive + 20) - 0.1

    by_precision = stats.binomtest(positive, 100, 0.8, alternative="greater").pvalue
    by_recall = stats.binomtest(positive, positive + 20, recall, alternative="greater").pvalue

    assert precision_p(labeled, 0.8)[0] == pytest.approx(by_precision, abs=0.03)
    assert recall_p(labeled, recall)[0] == pytest.approx(by_recall, abs=0.02)


@pytest.mark.simulation
def test_labels_drawn_by_predicted_class_break_a_target_in_one_set_of_twenty_at_most():
    """Items of even scores that are their chances; precision over t is (1 + t) / 2."""
    rng = np.random.default_rng(5)
    edges, broken, sets = np.arange(0.95, 0.0, -0.05), 0, 1000
    for _ in range(sets):
        score = np.concatenate([rng.uniform(0.5, 1, 200), rng.uniform(0, 0.5, 200)])
        labeled = LabeledScores(
            (score[:, np.newaxis] < edges).sum(axis=1),
            rng.random(400) < score,
            flagged=10,
            group=np.repeat([0, 1], 200),
        )
        chosen = threshold_tests(labeled, "precision", 0.751).last
        broken += bool(chosen >= 0 and (1 + edges[chosen]) / 2 < 0.751)

    assert broken / sets <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sets)


def test_what_stands_for_more_items_counts_for_more():
    even = LabeledScores([0] * 60 + [1] * 60, [1, 0] * 60, flagged=1)
    heavy = LabeledScores([0] * 60 + [1] * 60, [1, 0] * 60, flagged=1, weight=[3, 1] * 60)

    assert (even.precision()[0], heavy.precision()[0]) == (0.5, 0.75)
    assert precision_p(heavy, 0.6)[0] < 0.05 < precision_p(even, 0.6)[0]
