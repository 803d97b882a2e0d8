"""Whether a class changed just now: the Bayes factor computed by hand, ends, refusals."""

import math

import numpy as np
import pytest
from scipy import special

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.history.change_point import PoolingStep, pooling_steps
from monitor.stats.history.run_length import RunLength


def step(weights, started):
    ones = np.ones((len(weights), 1))
    return PoolingStep(BetaMixture(np.array(weights, dtype=float), ones, ones), np.array(started))


@pytest.mark.parametrize("hazard", [0.1, 0.5, 0.9])
def test_it_is_the_bayes_factor_of_a_restart_whatever_the_hazard(hazard):
    rounds = [([80], [100]), ([55], [100])]
    a, b = 80.5, 20.5
    worth = 3 / 20.5  # the history keeps three of its rarer answer
    log_factor = (
        special.betaln(worth * a + 55, worth * b + 45) - special.betaln(worth * a, worth * b)
    ) - (special.betaln(a + 55, b + 45) - special.betaln(a, b))
    factor = math.exp(float(log_factor))

    last = pooling_steps(rounds, settings=RunLength(hazard, shifts=((0.0, 1.0),)))[-1]

    assert last.change_probability(2, hazard) == pytest.approx(factor / (1 + factor), rel=1e-9)


def test_all_components_that_began_in_the_round_count():
    found = step([0.2, 0.3, 0.4, 0.1], [0, 1, 2, 2])

    assert found.change_probability(2, 0.5) == pytest.approx(0.5)
    assert found.change_probability(1, 0.5) == pytest.approx(0.3)
    assert found.change_probability(2, 0.2) == pytest.approx(0.8)
    assert found.change_probability(3, 0.5) == 0


def test_a_first_round_and_one_without_labels_cannot_have_changed():
    first = pooling_steps([([5], [10])], settings=RunLength(hazard=0.5))
    silent = pooling_steps([([5], [10]), ([0], [10]), ([0], [0])], settings=RunLength(hazard=0.5))

    assert first[-1].change_probability(1, 0.5) == 0
    assert silent[-1].change_probability(3, 0.5) == 0


@pytest.mark.parametrize("hazard", [0, 1, -0.1, 1.5])
def test_a_hazard_outside_zero_one_is_refused(hazard):
    with pytest.raises(ValueError, match=f"hazard must lie strictly .* got {hazard!r}"):
        step([1.0], [0]).change_probability(1, hazard)
