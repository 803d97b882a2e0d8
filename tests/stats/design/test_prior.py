"""What is known before a round: moments against scipy, each origin of knowledge, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.draws import JointPosterior
from monitor.stats.design.prior import SCORE_WEIGHT, PriorRates

UP = np.array([True, False])
FLAGGED_OF_8 = np.arange(8) < 3


@settings(deadline=None)
@given(st.floats(0.01, 1000), st.floats(0.01, 1000))
def test_the_variance_of_a_label_is_the_mean_of_pi_times_one_minus_pi(a, b):
    prior_rates = PriorRates(np.array([a]), np.array([b]), "rounds")
    law = stats.beta(a, b)

    assert prior_rates.label_variance[0] == pytest.approx(
        law.mean() - law.mean() ** 2 - law.var(), rel=1e-9
    )


def test_a_band_claimed_to_be_pure_keeps_a_rate_above_zero_and_one_without_scores_is_unknown():
    pure, unknown = (PriorRates.of_scores([0.9, claim], UP) for claim in (0.0, math.nan))

    assert pure.rate[1] == pytest.approx(0.5 / (SCORE_WEIGHT + 1))
    assert (unknown.alpha[1], unknown.beta[1]) == (0.5, 0.5)


def test_with_nothing_known_the_bands_of_a_class_share_one_count():
    prior_rates = PriorRates.nothing(FLAGGED_OF_8)

    assert prior_rates.alpha == pytest.approx([1 / 6] * 3 + [1 / 10] * 5)
    assert prior_rates.beta.tolist() == prior_rates.alpha.tolist()


def test_a_mixture_is_taken_over_by_its_rate_and_label_variance():
    mixture = BetaMixture(
        np.array([0.25, 0.75]), np.array([[8.0], [30.0]]), np.array([[2.0], [70.0]])
    )
    variance = 0.25 * 16 / 110 + 0.75 * 2100 / 10_100

    prior_rates = PriorRates.of_posterior(JointPosterior(mixture, mixture))

    assert prior_rates.rate == pytest.approx([0.25 * 0.8 + 0.75 * 0.3] * 2)
    assert prior_rates.label_variance == pytest.approx([variance] * 2)


def test_impossible_knowledge_is_refused():
    with pytest.raises(ValueError, match="must be a positive finite number"):
        PriorRates.of_rates([0.0, 0.5])
    with pytest.raises(ValueError, match="must have shape"):
        PriorRates(np.ones(2), np.ones(3), "rounds")
    with pytest.raises(ValueError, match=r"mean scores must lie in \[0, 1\]"):
        PriorRates.of_scores([1.2, 0.1], UP)
    with pytest.raises(ValueError, match="reference cells must be 0 or more"):
        PriorRates.of_reference(tp=-1, fp=1, fn=1, tn=1, is_flagged=UP)
