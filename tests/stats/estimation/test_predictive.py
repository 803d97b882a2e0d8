"""The next round's estimate: exact beta-binomials, Algorithm 2, what has no range, refusals."""

import numpy as np
import pytest
from scipy import stats

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.counts import Interval
from monitor.stats.core.draws import JointPosterior, round_posterior
from monitor.stats.estimation.predictive import NextEstimate, next_estimates
from tests.stats.samples import known, of_matrix, of_strata

TABLE_1 = of_matrix(138, 22, 108, 4732, 1600, 48_400)
FEW = 2**10


def ends(interval):
    return [known(interval).low, known(interval).high]


def single(alpha, beta):
    return BetaMixture.single(np.array(alpha, dtype=float), np.array(beta, dtype=float))


# --- independent values ---------------------------------------------------------------------


def test_the_next_precision_of_one_stratum_is_a_beta_binomial_share():
    estimates = next_estimates(round_posterior(TABLE_1), TABLE_1.size, np.array([50, 300]))

    exact = stats.betabinom(50, 138.5, 22.5)
    precision = estimates["precision"].interval(level=0.9)
    assert ends(precision) == pytest.approx(exact.ppf([0.05, 0.95]) / 50, abs=1e-12)
    assert known(precision).point == pytest.approx(exact.mean() / 50, abs=1e-4)


def test_two_strata_agree_with_a_simulation_of_the_next_sample():  # Algorithm 2 of Shang et al.
    rng, replicas = np.random.default_rng(5), 400_000
    flagged = rng.binomial(160, rng.beta(138.5, 22.5, replicas)) / 160
    passed = rng.binomial(4840, rng.beta(108.5, 4732.5, replicas)) / 4840
    drawn = {"precision": flagged, "recall": flagged * 160 / (flagged * 160 + passed * 4840)}

    estimates = next_estimates(round_posterior(TABLE_1), TABLE_1.size, TABLE_1.labeled, seed=3)

    assert list(estimates) == ["precision", "recall"]
    for level in (0.5, 0.95):
        for metric, values in drawn.items():
            wanted = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
            assert ends(estimates[metric].interval(level=level)) == pytest.approx(wanted, abs=2e-3)


def test_a_band_counts_by_its_size_not_by_its_labels():
    sure = JointPosterior(single([1e12, 1], [1, 1e12]), single([1e12], [1]))
    size, labeled = np.array([300, 100, 400]), np.array([1, 50, 2])

    estimates = next_estimates(
        sure, size, labeled, metrics=("precision", "recall", "prevalence"), points=4
    )

    assert {name: estimate.values.tolist() for name, estimate in estimates.items()} == {
        "precision": [0.75] * 4,
        "recall": [300 / 700] * 4,
        "prevalence": [700 / 800] * 4,
    }


def test_a_stratum_without_labels_follows_its_class_in_both():
    blank = of_strata([100, 50, 900], [10, 0, 30], [9, 0, 3], [True, True, False])  # fmt: skip
    seen = of_strata([150, 0, 900], [10, 0, 30], [9, 0, 3], [True, True, False])  # fmt: skip
    posterior = JointPosterior(single([9, 1], [1, 1]), single([3], [27]))

    for name, estimate in next_estimates(posterior, blank.size, blank.labeled, points=FEW).items():
        same = next_estimates(posterior, seen.size, seen.labeled, points=FEW)[name]
        assert np.array_equal(estimate.values, same.values)
    sure = JointPosterior(single([1e12, 1], [1, 1e12]), single([1e12], [1]))
    estimates = next_estimates(sure, blank.size, blank.labeled, points=4)
    assert estimates["precision"].values.tolist() == [1] * 4


def test_a_class_without_labels_has_no_prediction():
    counts = of_matrix(9, 1, 0, 0, 100, 900)

    found = next_estimates(round_posterior(counts), counts.size, counts.labeled, points=4)

    assert found["recall"].interval() is None
    assert known(found["precision"].interval()).high <= 1


# --- what must always hold ------------------------------------------------------------------


def test_samples_without_a_value_are_counted_and_too_many_leave_no_range():
    never = next_estimates(
        JointPosterior(single([1e-9], [1e9]), single([1e-9], [1e9])),
        np.array([10, 90]), np.array([5, 5]), metrics=("recall", "precision"), points=4,
    )  # fmt: skip

    assert never["recall"].undefined_share == 1
    assert never["recall"].interval() is None
    assert ends(never["precision"].interval()) == [0, 0]
    at_limit = NextEstimate("recall", np.array([np.nan] + [0.5] * 19))
    over = NextEstimate("recall", np.array([np.nan] * 2 + [0.5] * 19))
    assert at_limit.undefined_share == 0.05
    assert known(at_limit.interval()) == Interval(0.5, 0.5, 0.5)
    assert over.interval() is None


# --- refused --------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused():
    posterior = round_posterior(TABLE_1)
    two, three = np.array([5, 5]), np.array([5, 5, 5])

    with pytest.raises(ValueError, match=r"2 strata, but size has the shape \(3,\) and labeled"):
        next_estimates(posterior, three, two)
    with pytest.raises(ValueError, match=r"shape \(2,\) and labeled \(3,\)"):
        next_estimates(posterior, two, three)
    with pytest.raises(ValueError, match=r"labeled=\[6, 0\] of size=\[5, 5\]"):
        next_estimates(posterior, two, np.array([6, 0]))
    with pytest.raises(ValueError, match=r"labeled=\[0, -1\] of size=\[5, 5\]"):
        next_estimates(posterior, two, np.array([0, -1]))
    for level in (0, 1):
        with pytest.raises(ValueError, match=f"strictly between 0 and 1, got {level}"):
            NextEstimate("recall", np.ones(2)).interval(level=level)
