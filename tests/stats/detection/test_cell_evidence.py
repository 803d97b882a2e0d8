"""Evidence over score cells: its mean, enumerated over their sizes and all answers."""

import itertools

import numpy as np
import pytest
from scipy import stats

from monitor.stats.design.cell_sizes import systematic_sizes
from monitor.stats.design.recalibration import recalibrated_rates
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit, half_space
from tests.stats.samples import of_strata

TWO = np.array([True, False])
SIZE = np.array([400, 4000])
PRECISION, RECALL = Limit("precision", 0.8, "at_least"), Limit("recall", 0.6, "at_least")


def two_strata(labeled, positive):
    return of_strata(SIZE, labeled, positive, TWO)


def answers(labeled):
    return itertools.product(*(range(int(n) + 1) for n in labeled))


def chances(positive, labeled, rates):
    """Chance of these answers at each of the rates."""
    return np.prod(stats.binom.pmf(positive, labeled, rates), axis=-1)


def on_the_limit(limit):
    """Rates exactly at a limit, and some that keep it with room to spare."""
    if limit is PRECISION:
        return [(p, 0.05) for p in (0.8, 0.85, 0.9, 0.97)]
    at = [(p, SIZE[0] * p * (1 / limit.value - 1) / SIZE[1]) for p in (0.9, 0.7, 0.5)]
    return [*at, *((flagged, passed / 3) for flagged, passed in at)]


UP = np.array([True, True, False, False])
CELLS = np.array([40, 60, 700, 100])
EXPECTED = np.array([1.3, 1.6, 1.2, 2.4])
GUESS = recalibrated_rates(CELLS, UP, [20, 20, 30, 30], [14, 19, 0, 6])


def sizes_and_chances():
    """All whole sizes that some u leads to, with the share of u that does."""
    cuts = np.unique(np.concatenate([[0.0, 1.0], -np.cumsum(EXPECTED) % 1]))
    for low, high in itertools.pairwise(cuts):
        yield systematic_sizes(EXPECTED, (low + high) / 2), high - low


def means_over_sizes(limit, rates):
    """Mean of every alternative's e over u and over all answers; a row for each rates."""
    total = np.zeros((len(rates), 3))
    for labeled, chance in sizes_and_chances():
        for positive in answers(labeled):
            e = np.exp(log_e_factor(limit, of_strata(CELLS, labeled, positive, UP), GUESS))
            total += np.outer(chance * chances(positive, labeled, rates), e)
    return total


@pytest.mark.parametrize(
    ("name", "beyond"), [("precision", [0.1, 0.2, 0.0, 0.1]), ("recall", [0.1, 0.2, 0.05, 0.6])]
)
def test_e_has_a_mean_of_at_most_one_within_the_limit_whatever_u_and_above_it_beyond(name, beyond):
    limit = Limit(name, 0.6, "at_least")
    space = half_space(limit, CELLS, UP)
    any_rates = np.random.default_rng(4).beta(0.7, 0.7, (40, 4)) * [1, 1, 0.03, 0.2]
    inside = any_rates[space.contains(any_rates)]

    *within, beyond_it = means_over_sizes(limit, np.array([*inside, beyond]))

    assert len(within) > 4
    assert np.max(within) <= 1 + 1e-9
    assert beyond_it.max() > 1.1
