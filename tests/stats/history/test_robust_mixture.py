"""The round's own share: Pratt's interval, what it guarantees, refusals."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.history.robust_mixture import ROBUST_WEIGHT, with_robust_weight


def known(rate, worth=1e9):
    """A history that knows a class of one stratum almost exactly."""
    return BetaMixture.single(np.array([rate * worth]), np.array([(1 - rate) * worth]))


def quantiles(mixture, probability):
    """Quantile of the rate of a class of one stratum."""

    def below(rate):
        return mixture.weight @ special.betainc(mixture.alpha[:, 0], mixture.beta[:, 0], rate)

    return optimize.brentq(lambda rate: below(rate) - probability, 0, 1, xtol=1e-12)


# --- independent numbers -------------------------------------------------------------------------


def test_with_a_quarter_and_an_exact_history_it_is_the_interval_of_pratt():
    # expected width z Phi(z) + phi(z) against 1.96, z = Phi^-1(.9): .678; coverage .9 after a
    # change, by enumeration over what 4,000 labels find
    n, rate = 4000, 0.5
    z = stats.norm.ppf(0.9)
    pratt = (z * 0.9 + stats.norm.pdf(z)) / stats.norm.ppf(0.975)
    error = np.sqrt(rate * (1 - rate) / n)
    y = np.arange(1800, 2301, 5)
    ends = []
    for positive in y:
        both = with_robust_weight(known(rate), [positive], [n], share=0.25)
        ends.append([quantiles(both, 0.025), quantiles(both, 0.975)])
    low, high = np.array(ends).T

    quiet = stats.binom.pmf(y, n, rate)
    assert (quiet / quiet.sum()) @ (high - low) / (2 * 1.96 * error) == pytest.approx(
        pratt, abs=0.003
    )
    for moved in (1.5, 2.0, 3.0):
        truth = rate + moved * error
        chance = stats.binom.pmf(y, n, truth)
        holds = (low <= truth) & (truth <= high)
        assert (chance / chance.sum()) @ holds == pytest.approx(0.9, abs=0.02)


def test_a_stratum_without_labels_keeps_mean_and_variance_of_what_is_pooled():
    mixture = BetaMixture(
        weight=np.array([0.3, 0.7]),
        alpha=np.array([[5.0, 2.0], [9.0, 30.0]]),
        beta=np.array([[5.0, 8.0], [3.0, 50.0]]),
    )

    both = with_robust_weight(mixture, [3, 0], [9, 0], share=0.2)

    parts = [stats.beta(a, b) for a, b in zip(mixture.alpha[:, 1], mixture.beta[:, 1], strict=True)]
    mean = 0.3 * parts[0].mean() + 0.7 * parts[1].mean()
    second = sum(w * (p.var() + p.mean() ** 2) for w, p in zip(mixture.weight, parts, strict=True))
    found = stats.beta(both.alpha[2, 1], both.beta[2, 1])
    assert found.mean() == pytest.approx(mean, rel=1e-12)
    assert found.var() == pytest.approx(second - mean**2, rel=1e-9)
    assert (both.alpha[2, 0], both.beta[2, 0]) == pytest.approx((3.25, 6.25))


# --- properties ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("labeled", "share"), [([9], 0.0), ([0], 0.5)])
def test_without_a_share_or_without_labels_the_mixture_stays_as_it_is(labeled, share):
    mixture = known(0.5)

    assert with_robust_weight(mixture, [0], labeled, share=share) is mixture


def test_the_default_share_is_the_documented_one_and_other_components_keep_their_proportions():
    mixture = BetaMixture(np.array([0.3, 0.7]), np.array([[5.0], [9.0]]), np.array([[5.0], [3.0]]))

    both = with_robust_weight(mixture, [3], [9])

    assert ROBUST_WEIGHT == 0.3
    assert both.weight == pytest.approx([0.21, 0.49, 0.3], abs=1e-15)
    assert both.alpha.ravel() == pytest.approx([5.0, 9.0, 3.5])
    assert both.beta.ravel() == pytest.approx([5.0, 3.0, 6.5])


# --- refused inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [-0.01, 1.01, float("nan")])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(ValueError, match=rf"^share must lie between 0 and 1, got {share!r}$"):
        with_robust_weight(known(0.5), [3], [9], share=share)
