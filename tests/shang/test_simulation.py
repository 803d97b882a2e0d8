"""Algorithms 1 and 2 of Shang et al. (2023): exact distributions, refusals."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.shang.intervals import CountIsZero, recall_interval
from benchmarks.shang.predictive import BetaRate, recall_predictive
from benchmarks.shang.simulation import Replicas, bootstrap, monte_carlo
from monitor.stats.core.counts import StratumCounts

FLAGGED = StratumCounts(size=1600, labeled=160, positive=138)
PASSED = StratumCounts(size=48_400, labeled=4840, positive=108)
MANY = 200_000


def rng(seed=2023):
    return np.random.default_rng(seed)


def ends(interval):
    return [interval.low, interval.high]


# --- exact distributions ----------------------------------------------------------------------


def test_the_bootstrap_draws_binomials_with_the_rates_found():
    replicas = bootstrap(FLAGGED, PASSED, rng=rng(), replicas=MANY)
    precision, recall = replicas.intervals(level=0.9)

    exact = stats.binom.ppf([0.05, 0.95], 160, 138 / 160) / 160
    assert ends(precision) == pytest.approx(exact, abs=1e-12)
    assert precision.point == pytest.approx(0.8625, abs=3e-4)
    assert ends(recall) == pytest.approx(
        ends(recall_interval(FLAGGED, PASSED, level=0.9)), abs=3e-3
    )
    assert replicas.undefined_share == 0


def test_monte_carlo_draws_beta_binomials():
    replicas = monte_carlo(
        BetaRate(138, 22), BetaRate(108, 4732), 160 / 4840, (160, 4840), rng=rng(), replicas=MANY
    )
    precision, recall = replicas.intervals(level=0.9)

    exact = stats.betabinom.ppf([0.05, 0.95], 160, 138, 22) / 160
    assert ends(precision) == pytest.approx(exact, abs=1e-12)
    by_formula = recall_predictive(
        BetaRate(138, 22), BetaRate(108, 4732), 160 / 4840, (160, 4840), level=0.9
    )
    assert ends(recall) == pytest.approx(ends(by_formula), abs=5e-3)


def test_a_range_leaves_out_samples_without_recall_only():
    never = bootstrap(StratumCounts(9, 1, 0), StratumCounts(90, 1, 0), rng=rng(), replicas=8)
    half = Replicas(np.array([0.0, 1.0, 0.0, 1.0]), np.array([np.nan, 0.2, np.nan, 0.4]))

    precision, recall = half.intervals(level=0.5)

    assert (half.undefined_share, never.undefined_share) == (0.5, 1)
    assert (precision.point, recall.point) == pytest.approx((0.5, 0.3))
    assert ends(recall) == pytest.approx([0.25, 0.35])
    with pytest.raises(CountIsZero, match="0 of the simulated samples hold an actual positive"):
        never.intervals()


# --- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (
            lambda: bootstrap(StratumCounts(5, 0, 0), PASSED, rng=rng()),
            "flagged: 0 of 5 items are labeled",
        ),
        (
            lambda: monte_carlo(BetaRate(0, 1), BetaRate(1, 1), 1, (1, 1), rng=rng()),
            "flagged: a cell of prior plus labels is 0",
        ),
        (
            lambda: monte_carlo(BetaRate(1, 1), BetaRate(1, 1), 1, (1, 0), rng=rng()),
            "passed: the later sample holds 0 labels of the class",
        ),
    ],
)
def test_a_count_of_zero_is_named_with_the_way_out(call, what):
    with pytest.raises(CountIsZero, match=rf"^{what}, .*use posterior\.estimates"):
        call()


def test_what_is_out_of_range_is_refused():
    with pytest.raises(ValueError, match="replicas must be 1 or more, got 0"):
        bootstrap(FLAGGED, PASSED, rng=rng(), replicas=0)
    with pytest.raises(ValueError, match="replicas must be 1 or more, got -3"):
        monte_carlo(BetaRate(1, 1), BetaRate(1, 1), 1, (1, 1), rng=rng(), replicas=-3)
    with pytest.raises(ValueError, match="must be positive, got 0"):
        monte_carlo(BetaRate(1, 1), BetaRate(1, 1), 0, (1, 1), rng=rng())
    with pytest.raises(ValueError, match="level must lie strictly"):
        Replicas(np.ones(2), np.ones(2)).intervals(level=1)
