"""Evidence over the waves of a round: its mean, enumerated, for rates and for finite windows."""

import itertools

import numpy as np
import pytest
from scipy import stats

from monitor.stats.detection.alternatives import WEIGHTS, guess
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit
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
    return np.array([0 if found[0] < 2 else 5, 0 if found[1] == 0 else 4])


def answers(labeled):
    return itertools.product(*(range(int(n) + 1) for n in labeled))


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
        first = np.prod(stats.binom.pmf(found, FIRST, rates), axis=1)
        for rest in answers(more):
            chance = first * np.prod(stats.binom.pmf(rest, more, rates), axis=1)
            mean += np.outer(chance, np.exp(factor((FIRST, found), (more, rest))))
    return mean


@pytest.mark.parametrize("limit", [PRECISION, RECALL], ids=str)
def test_the_product_over_waves_has_a_mean_of_one_at_most_whatever_the_second_sizes_follow(limit):
    def product(one, two):
        waves = [two_strata(*one), two_strata(*two)]
        return log_e_of_waves(limit, waves, guesses(waves, [BEFORE]))

    means = means_of_e(limit, product)

    assert means.max() <= 1 + 1e-9
    assert means.max() > 0.99  # the bound is sharp


def test_evidence_of_recovery_over_waves_has_a_mean_of_one_at_most_beyond_the_limit():
    def product(one, two):
        waves = [two_strata(*one), two_strata(*two)]
        return log_recovery_of_waves(opposite(PRECISION), waves, guesses(waves, [BEFORE]))

    means = means_of_e(PRECISION, product)  # rates that keep a limit are beyond its opposite

    assert means.max() <= 1 + 1e-9
    assert means.max() > 0.99


def test_the_second_wave_of_a_first_round_gathers_evidence_by_the_rates_of_the_first():
    one, two = two_strata([50, 60], [45, 3]), two_strata([40, 20], [20, 1])

    found = log_e_of_waves(PRECISION, [one, two], guesses([one, two]))

    assert log_e_of_waves(PRECISION, [one], [None]).tolist() == [0, 0, 0]
    assert found == pytest.approx(log_e_factor(PRECISION, two, guess([one])))
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
