"""E-values of worse segments: against enumeration and scipy, their mean, and what e-BH names."""

import numpy as np
import pytest
from scipy.stats import hypergeom, nchypergeom_fisher

from monitor.stats.detection.worse_segments import (
    ODDS,
    _log_parts,
    _products,
    e_bh,
    log_ratios,
    worse_segments,
)

CASES = [(30, 8, 6), (12, 1, 5), (40, 35, 20), (9, 4, 4)]
"""Labels, errors and the segment's labels of a stratum."""


def ratios_of(labels, errors, own, wrong):
    arrays = np.array([labels]), np.array([errors]), np.array([[own]]), np.array([[wrong]])
    return log_ratios(*arrays)[0]


def outcomes(labels, errors, own):
    return range(max(0, own + errors - labels), min(own, errors) + 1)


@pytest.mark.parametrize("case", CASES)
def test_ratios_are_those_of_scipys_noncentral_and_central_distributions(case):
    labels, errors, own = case
    for wrong in outcomes(*case):
        odds = nchypergeom_fisher.pmf(wrong, labels, errors, own, ODDS)
        wanted = odds / hypergeom.pmf(wrong, labels, errors, own)

        assert np.exp(ratios_of(labels, errors, own, wrong)) == pytest.approx(wanted, rel=1e-6)


def test_the_e_value_of_two_rounds_has_mean_1_over_all_their_outcomes():
    (n1, k1, s1), (n2, k2, s2) = CASES[0], CASES[3]
    total = 0.0
    for y1 in outcomes(n1, k1, s1):
        for y2 in outcomes(n2, k2, s2):
            ratios = np.zeros((1, 2, 2, len(ODDS)))
            ratios[0, 0, 0], ratios[0, 1, 1] = ratios_of(n1, k1, s1, y1), ratios_of(n2, k2, s2, y2)
            chance = hypergeom.pmf(y1, n1, k1, s1) * hypergeom.pmf(y2, n2, k2, s2)
            total += chance * np.exp(_log_parts(_products(ratios)[1])).sum()

    assert total == pytest.approx(1)


def test_strata_that_have_one_outcome_only_say_nothing_and_others_add_up():
    labels, errors = np.array([30, 10, 10, 9, 20]), np.array([8, 0, 10, 4, 5])
    own, wrong = np.array([[6, 4, 4, 4, 20]]), np.array([[5, 0, 4, 3, 5]])

    ratios = log_ratios(labels, errors, own, wrong)[0]

    assert ratios == pytest.approx(ratios_of(30, 8, 6, 5) + ratios_of(9, 4, 4, 3))


def test_e_bh_names_as_many_as_reach_their_share_and_a_prior_weighs():
    even = np.full(5, 1 / 5)

    assert e_bh(np.log([60.0, 26.0, 1.0, 16.0, 0.1]), even, level=0.1) == [0, 1]
    assert e_bh(np.log([40.0, 26.0, 17.0, 1.0, 0.1]), even, level=0.1) == [0, 1, 2]
    assert e_bh(np.log([12.0, 12.0]), np.array([0.9, 0.1]), level=0.1) == [0]


def test_a_segment_is_named_with_what_is_worse_since_when_and_an_interval_beyond_1():
    ratios = np.zeros((3, 6, 2, len(ODDS)))
    ratios[1, :4, 1] = ratios_of(200, 20, 20, 2)  # like the rest, then worse for two rounds
    ratios[1, 4:, 1] = ratios_of(200, 20, 20, 9)

    [one] = worse_segments(ratios, np.full(3, 1 / 3))

    assert (one.index, one.kind, one.rounds) == (1, "recall", 2)
    assert 1 < one.low < one.odds
    assert one.odds == pytest.approx(8)
    assert one.high is None


def test_the_ends_are_where_the_likelihood_falls_to_the_share_of_e_by():
    ratios = np.zeros((1, 1, 2, len(ODDS)))
    ratios[0, 0, 0] = ratios_of(4000, 1000, 400, 190)

    [one] = worse_segments(ratios, np.ones(1))

    def likelihood(odds):
        return nchypergeom_fisher.pmf(190, 4000, 1000, 400, odds)

    mean = likelihood(ODDS).mean()
    assert one.high is not None
    for end in (one.low, one.high):
        assert likelihood(end) == pytest.approx(0.1 / 3 * mean, rel=0.1)
    assert likelihood(one.odds) >= likelihood(np.array([one.odds - 0.1, one.odds + 0.1])).max()


def test_without_segments_nothing_is_named():
    assert worse_segments(np.zeros((0, 2, 2, len(ODDS))), np.zeros(0)) == []
