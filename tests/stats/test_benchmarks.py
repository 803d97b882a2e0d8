"""The short cuts of the benchmarks: the same intervals as the monitor's, to the digit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from benchmarks.coverage_grid import NAMED, TABLE_3, grid, make_cell
from benchmarks.fast_rounds import Design, FastRounds, beta_quantiles, binomial_quantiles
from benchmarks.rarer import expected_rarer, taken_whole
from benchmarks.recovery import Story, best_power
from benchmarks.two_waves import cell_of, intervals, largest_bias, result
from monitor.stats.core.counts import Counts
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.scenario import Scenario
from monitor.stats.estimation.posterior import Estimand, estimates

POINTS = 2**9
SIZE = np.array([120, 300, 40, 9000, 800, 300])
LABELED = np.array([20, 30, 40, 90, 40, 40])
FINITE = Design(SIZE, LABELED, 3, positive=np.array([80, 270, 39, 3, 40, 90]))
INFINITE = Design(SIZE, LABELED, 3, rate=np.array([0.7, 0.9, 0.99, 0.001, 0.05, 0.3]))
PURE = Design(
    size=np.array([500, 9000]), labeled=np.array([30, 60]), flagged=1, rate=np.array([0.99, 1e-3])
)


@pytest.mark.parametrize("design", [FINITE, INFINITE, PURE], ids=["window", "rates", "pure"])
def test_ends_and_misses_are_those_of_the_monitors_estimate(design):
    positive = design.simulate(12, np.random.default_rng(4))
    rounds = FastRounds(design, positive, points=POINTS)
    ends, missed = rounds.ends(12), rounds.misses()
    estimand: Estimand = "rate" if design.rate is not None else "window"

    for index, found in enumerate(positive):
        counts = Counts.of_arrays(
            size=design.size,
            labeled=design.labeled,
            positive=found,
            is_flagged=np.arange(len(design.size)) < design.flagged,
        )
        expected = estimates(counts, estimands=(estimand,), points=POINTS)
        for metric, (estimate, truth) in enumerate(zip(expected, design.truths, strict=True)):
            assert ends[metric, :, index] == pytest.approx([estimate.low, estimate.high], abs=1e-8)
            told = [truth < estimate.low, truth > estimate.high]
            assert missed[metric, :, index].tolist() == told


def test_splined_beta_quantiles_are_right_to_eight_digits():
    uniforms = np.random.default_rng(1).random(500)
    alpha, beta = np.array([0.05, 0.5, 7.2, 300.0]), np.array([20.0, 0.5, 90.0, 4000.0])

    found = beta_quantiles(alpha, beta, uniforms)

    expected = special.betaincinv(alpha[:, None], beta[:, None], uniforms)
    assert found == pytest.approx(expected, abs=1e-8)


def test_expanded_binomial_quantiles_are_off_by_one_at_most_and_mostly_right():
    uniforms = np.random.default_rng(1).random((3, 2000))
    rates = np.broadcast_to([[0.001], [0.05], [0.6]], uniforms.shape)

    found = binomial_quantiles(uniforms, 5000, rates)

    gap = np.abs(found - stats.binom.ppf(uniforms, 5000, rates))
    assert gap.max() <= 1
    assert np.mean(gap > 0) < 0.002


def test_named_cells_are_forty_and_begin_with_the_published_table():
    assert len(NAMED) == 40
    assert NAMED[:12] == TABLE_3
    first = make_cell(TABLE_3[0]).design  # v = 5000, 1/k = 20, s = 1
    assert first.labeled.tolist() == [238, 4762]
    assert first.rate == pytest.approx([0.9, 0.005], rel=1e-3)


@pytest.mark.parametrize("setting", [NAMED[12], NAMED[18], *grid(6)])
def test_a_cell_has_the_precision_the_recall_and_the_labels_it_is_asked_for(setting):
    design = make_cell(setting).design

    expected = (setting.precision, setting.recall)
    rounding = 1e-3 if setting.times is None else 3 / design.size[: design.flagged].sum() + 0.05
    assert design.truths == pytest.approx(expected, abs=rounding)
    assert design.labeled.sum() <= setting.labels
    assert len(grid(6)) == 6


def test_expected_rarer_answers_of_one_stratum_each_are_its_own():
    precision, recall = expected_rarer(PURE)

    assert precision == pytest.approx(30 * 0.01, rel=1e-9)
    assert recall == pytest.approx(60 * 1e-3, rel=1e-9)


def test_a_window_whose_items_are_all_labeled_expects_no_doubt():
    whole = Design(
        size=np.array([30, 60]),
        labeled=np.array([30, 60]),
        flagged=1,
        positive=np.array([20, 4]),
    )

    assert expected_rarer(whole) == (math.inf, math.inf)
    assert taken_whole(whole)
    assert taken_whole(FINITE)  # one of its strata is
    assert not taken_whole(INFINITE)


def test_the_power_of_any_test_is_that_of_the_best_one_worked_by_hand():
    # precision .9 of 10 labels, limit .7: wrong answers are Bin(10, .1), at the limit Bin(10, .3).
    # None of them: .0282 at the limit; one: .1211, so it rejects with (.05 - .0282) / .1211 there
    scenario = Scenario.of([100, 900], [5, 10], [True, False], [0.9, 0.02])
    limit = Limit("precision", 0.7, "at_least")
    story = Story("", limit, [scenario], [scenario] * 2, ends=(2,))
    none, one = 0.7**10, 10 * 0.3 * 0.7**9

    found = best_power(story, rounds=2)

    assert found == pytest.approx(0.9**10 + (0.05 - none) / one * 10 * 0.1 * 0.9**9, rel=1e-9)


def test_intervals_over_two_waves_are_those_of_the_monitors_estimate():
    cell = cell_of("Phi1", "good", 600)
    labels, positive = cell.two_waves(3, np.random.default_rng(2))

    ends = intervals(cell.design, labels, positive, np.random.default_rng(3))

    for n, y, found in zip(labels, positive, ends, strict=True):
        counts = Counts.of_arrays(
            size=cell.design.size, labeled=n, positive=y, is_flagged=cell.design.is_flagged
        )
        expected = [[each.low, each.high] for each in estimates(counts, estimands=("rate",))]
        assert found == pytest.approx(np.array(expected), abs=0.012)  # 2,000 random points


def test_two_waves_of_a_good_score_are_narrower_and_their_bands_less_biased_than_naive_ones():
    cell = cell_of("Phi1", "good", 1800)

    one, two = (result(cell, waves, 40)[0] for waves in (1, 2))
    ours, naive = (abs(largest_bias(cell, 4000, naive=each)) for each in (False, True))

    assert (two < 0.8 * one).all()
    assert ours < naive / 2
