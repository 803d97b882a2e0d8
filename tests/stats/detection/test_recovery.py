"""The end of alerts: numbers written out, the bound by enumeration, refusals, endings by chance."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit, half_space
from monitor.stats.detection.recovery import (
    ERRORS,
    LOG_ENDS_AT,
    Recovery,
    ending,
    log_recovery_factor,
    opposite,
)
from monitor.stats.detection.scenario import Scenario
from tests.stats.samples import of_answers, of_strata

PRECISION, RECALL = Limit("precision", 0.76, "at_least"), Limit("recall", 0.62, "at_least")
TWO = np.array([True, False])
ENUMERATED = [
    Limit("precision", 0.7, "at_least"),
    Limit("recall", 0.6, "at_least"),
    Limit("fpr", 0.2, "at_most"),
]
QUICK = settings(max_examples=40, deadline=None, derandomize=True)


def written_out(factors):
    """R of the formula, sum and products written out."""
    return sum(math.prod(factors[k - 1 :]) / (k * (k + 1)) for k in range(1, len(factors) + 1))


def replayed(factors):
    recovery = Recovery()
    for factor in factors:
        recovery = recovery.updated(math.log(factor))
    return recovery


def enumerated_factors(limit, labels, sizes, rates):
    """The factor of every sample of two strata, shape ``(n1 + 1, n0 + 1)``."""
    (n1, n0), (flagged_size, passed_size) = labels, sizes
    return np.exp(
        [
            [
                log_recovery_factor(
                    limit,
                    of_answers(y1, n1, y0, n0, flagged_size=flagged_size, passed_size=passed_size),
                    rates,
                )
                for y0 in range(n0 + 1)
            ]
            for y1 in range(n1 + 1)
        ]
    )


# --- independent numbers -------------------------------------------------------------------------


@QUICK
@given(st.lists(st.floats(0.01, 50), min_size=1, max_size=12))
def test_evidence_is_the_sum_of_products_written_out(factors):
    assert math.exp(replayed(factors).log_r) == pytest.approx(written_out(factors), rel=1e-10)


def test_an_alert_ends_at_twenty_and_not_before():
    under, at = Recovery(3, math.log(19.999)), Recovery(3, LOG_ENDS_AT)

    assert not Recovery().ends
    assert not under.ends
    assert at.ends
    assert math.exp(at.log_r) == pytest.approx(20)


def test_the_factor_of_a_single_stratum_is_the_ratio_of_two_binomials():
    # precision alone: the projection of any alternative within the limit is the limit itself
    counts, rates = of_answers(50, 60, 0, 0), np.array([0.7, 0.02])
    error = math.sqrt(0.76 * 0.24 / 60)
    alternative = 1 - 0.24 / (1 + ERRORS * error / 0.24)

    found = log_recovery_factor(PRECISION, counts, rates)

    ratio = stats.binom.logpmf(50, 60, alternative) - stats.binom.logpmf(50, 60, 0.76)
    assert found == pytest.approx(ratio, rel=1e-9)


@pytest.mark.parametrize("missing", [None, np.array([20, 7])])
def test_the_factor_is_that_of_the_detector_against_the_opposite_limit(missing):
    counts, rates = of_answers(214, 307, 60, 4410), np.array([0.79, 0.02])
    upper = Limit("recall", 0.62, "at_most")

    for limit, other in ((RECALL, upper), (upper, RECALL)):
        found = log_recovery_factor(limit, counts, rates, missing=missing)

        wanted = log_e_factor(other, counts, rates, errors=(ERRORS,), missing=missing)
        assert [found] == wanted.tolist()
    assert log_recovery_factor(PRECISION, counts, None) == 0  # without a guess


# --- properties ----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ENUMERATED, ids=str)
def test_the_mean_over_all_draws_without_replacement_is_at_most_one_in_every_window_beyond(limit):
    labels, sizes = (6, 7), (12, 15)
    e = enumerated_factors(limit, labels, sizes, np.array([0.7, 0.3]))
    space = half_space(opposite(limit), np.array(sizes), TWO)
    windows = np.array(
        [
            (k1, k0)
            for k1 in range(sizes[0] + 1)
            for k0 in range(sizes[1] + 1)
            if space.contains(np.array([k1 / sizes[0], k0 / sizes[1]]))
        ]
    )

    p1 = stats.hypergeom.pmf(np.arange(7), sizes[0], windows[:, :1], labels[0])
    p0 = stats.hypergeom.pmf(np.arange(8), sizes[1], windows[:, 1:], labels[1])
    mean = np.einsum("pi,pj,ij->p", p1, p0, e)

    assert len(windows) > 20
    assert 0.5 < mean.max() <= 1 + 1e-12


@pytest.mark.parametrize("log_e", [-30.0, 0.0, 30.0])
def test_a_thousand_rounds_neither_overflow_nor_lose_the_sum(log_e):
    recovery = Recovery()
    for _ in range(1000):
        recovery = recovery.updated(log_e)

    k = np.arange(1, 1001)
    exact = np.logaddexp.reduce((1001 - k) * log_e - np.log(k) - np.log(k + 1))
    assert recovery.rounds == 1000
    assert recovery.log_r == pytest.approx(exact, rel=1e-10)


# --- refused inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "evidence",
    [
        lambda: Recovery(0, 0.0),
        lambda: Recovery(3, -math.inf),
        lambda: Recovery(3, math.nan),
        lambda: Recovery(-1, 1.0),
        lambda: Recovery(2, 1.0).updated(math.nan),
        lambda: Recovery(2, 1.0).updated(math.inf),
    ],
)
def test_numbers_that_cannot_be_evidence_are_refused(evidence):
    with pytest.raises(ValueError, match=r"^evidence of recovery is a number of rounds"):
        evidence()


# --- how long it takes ---------------------------------------------------------------------------

BACK = Scenario.of([160, 4840], [100, 400], TWO, [0.86, 0.02])
LIMIT, BAD_GUESS = Limit("precision", 0.8, "at_least"), np.array([0.75, 0.02])


@pytest.mark.parametrize("start", [Recovery(), Recovery(6, -0.5)], ids=["fired", "later"])
def test_a_simulated_alert_ends_in_the_round_in_which_its_evidence_does(start):
    rng, recovery = np.random.default_rng(4), start
    ended: list[bool] = []
    for _ in range(40):
        positive = rng.binomial(BACK.labeled, BACK.rates, (1, 2))[0]
        counts = of_strata(BACK.size, BACK.labeled, positive, TWO)
        recovery = recovery.updated(log_recovery_factor(LIMIT, counts, BAD_GUESS))
        ended.append(recovery.ends or any(ended))

    found = ending(BACK, LIMIT, BAD_GUESS, recovery=start, rounds=40, paths=1, seed=4)

    assert ended[0] is False
    assert found.ended_within.tolist() == [float(is_over) for is_over in ended]
    assert found.rounds_for(0.5) == ended.index(True) + 1


def test_the_weights_of_the_rounds_to_come_go_on_where_the_evidence_stands():
    # with e = 1 in every round R grows by the weights alone: 1/6 in the second round, which is
    # enough from 19.9 on, and less than 1/100 in all rounds after the hundredth
    silent = Scenario.of([160, 4840], [0, 400], TWO, [0.75, 0.02])
    early, late = (
        ending(silent, LIMIT, BAD_GUESS, recovery=Recovery(rounds, math.log(19.9)), rounds=50)
        for rounds in (1, 100)
    )

    assert early.ended_within[0] == 1
    assert late.ended_within[-1] == 0


def test_an_alert_whose_evidence_suffices_has_ended_whatever_comes_and_another_may_never():
    worse = BACK.dropped("precision", 0.4)

    ended, going_on = (
        ending(worse, LIMIT, BAD_GUESS, recovery=start, rounds=10, paths=100)
        for start in (Recovery(3, 3.0), None)
    )

    assert (ended.ended_within == 1).all()
    assert going_on.rounds_for(0.5) is None
