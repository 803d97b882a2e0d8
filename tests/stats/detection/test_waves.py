"""Evidence over waves and over score cells: its mean, enumerated, for rates and finite windows."""

import itertools

import numpy as np
import pytest
from scipy import stats

from monitor.stats.design.cell_sizes import systematic_sizes
from monitor.stats.design.recalibration import recalibrated_rates
from monitor.stats.detection.alternatives import WEIGHTS, guess
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit, half_space
from monitor.stats.detection.recovery import opposite
from monitor.stats.detection.waves import log_e_path_of_waves, log_recovery_of_waves
from tests.stats.samples import of_matrix, of_strata

TWO = np.array([True, False])
SIZE = np.array([400, 4000])
BEFORE = of_matrix(18, 2, 1, 19, 400, 4000)
FIRST = np.array([3, 3])
PRECISION, RECALL = Limit("precision", 0.8, "at_least"), Limit("recall", 0.6, "at_least")


def log_e_of_waves(limit, waves, rates, missing=None, earlier=()):
    """Log e of a round whose waves are read as a whole."""
    absent = None if missing is None else [[lost] for lost in missing]
    return log_e_path_of_waves(limit, [[wave] for wave in waves], rates, absent, earlier)[-1]


def two_strata(labeled, positive):
    return of_strata(SIZE, labeled, positive, TWO)


def after(found):
    """Sizes of wave 2 by a rule of the worst kind: each follows its stratum's own answers."""
    return np.array([1, 4] if found[0] < 2 else [3, 2] if found[1] else [5, 0])  # a fixed total


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


def guesses(waves, earlier=()):
    """Guess each wave by what was there before it."""
    return [guess([*earlier, *waves[:i]]) for i in range(len(waves))]


def means_of_e(limit, factor):
    """Mean over both waves of exp(factor(wave 1, wave 2)), enumerated; a row for each rates."""
    rates = np.array(on_the_limit(limit))
    mean = np.zeros((len(rates), 3))
    for found in answers(FIRST):
        more = after(found)
        first = chances(found, FIRST, rates)
        for rest in answers(more):
            chance = first * chances(rest, more, rates)
            mean += np.outer(chance, np.exp(factor((FIRST, found), (more, rest))))
    return mean


@pytest.mark.parametrize("limit", [PRECISION, RECALL], ids=str)
def test_the_product_over_waves_has_a_mean_of_one_at_most_whatever_the_second_sizes_follow(limit):
    def product(one, two):
        waves = [two_strata(*one), two_strata(*two)]
        return log_e_of_waves(limit, waves, guesses(waves, [BEFORE]))

    means = means_of_e(limit, product)

    assert means.max() <= 1 + 1e-9
    assert means.max() > 0.9


def test_evidence_of_recovery_over_waves_has_a_mean_of_one_at_most_beyond_the_limit():
    def product(one, two):
        waves = [two_strata(*one), two_strata(*two)]
        return log_recovery_of_waves(opposite(PRECISION), waves, guesses(waves, [BEFORE]))

    means = means_of_e(PRECISION, product)  # rates that keep a limit are beyond its opposite

    assert means.max() <= 1 + 1e-9
    assert means.max() > 0.9


def test_the_second_wave_of_a_first_round_gathers_evidence_by_the_rates_of_the_first():
    one, two = two_strata([50, 60], [45, 3]), two_strata([40, 20], [20, 1])

    found = log_e_of_waves(PRECISION, [one, two], guesses([one, two]))

    assert log_e_of_waves(PRECISION, [one], [None]).tolist() == [0, 0, 0]
    assert found == pytest.approx(log_e_factor(PRECISION, two, guess([one])), rel=1e-5)
    assert found.max() > 3  # half of 40 where four fifths were to be


@pytest.mark.parametrize(("if_good", "if_bad"), [(20, 0), (0, 20)])
def test_in_a_finite_window_at_its_limit_the_detectors_mixture_stays_under_one(if_good, if_bad):
    # 40 items, 32 of them positive; 10 labeled, then 20 more or none. One alternative alone is
    # over 1 by .004: items that wave 1 left may miss the limit though the window keeps it.
    size, positive, first = 40, 32, 10

    def wave(labeled, found):
        return of_matrix(found, labeled - found, 0, 0, size, 4000)

    mean = np.zeros(3)
    for y in range(2, first + 1):
        more = if_good if y >= 8 else if_bad
        here = stats.hypergeom.pmf(y, size, positive, first)
        for z in range(more + 1):
            chance = here * stats.hypergeom.pmf(z, size - first, positive - y, more)
            if chance > 0:
                waves = [wave(first, y), wave(more, z)]
                mean += chance * np.exp(log_e_of_waves(PRECISION, waves, guesses(waves)))

    assert mean @ WEIGHTS < 1
    assert mean.max() < 1.01


# --- score cells, whose sizes are drawn by one uniform -------------------------------------------

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
