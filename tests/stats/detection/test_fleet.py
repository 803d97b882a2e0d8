"""A promise over a fleet: worked by hand, kept by simulation, refused where it means nothing."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.stats.detection.fleet import expected_alarms, shared_promise
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.simulated_paths import Paths, RoundStrata


def test_a_fleet_of_one_cadence_has_every_monitor_wait_as_many_times_longer():
    assert shared_promise([52, 52, 52, 52], at_most=1) == 4 * 52
    assert shared_promise([52, 52, 52, 52], at_most=8) == 26


def test_shares_are_in_proportion_to_the_rounds_and_add_up_to_the_promise():
    rounds = [52.0, 365.0, 12.0]

    every = shared_promise(rounds, at_most=3)

    assert every == pytest.approx(143)
    assert expected_alarms(rounds, [every] * 3) == pytest.approx(3)


def test_expected_alarms_add_up_over_monitors_with_promises_of_their_own():
    assert expected_alarms([52, 104], every=[52, 26]) == 1 + 4
    assert expected_alarms([], every=[]) == 0


@pytest.mark.parametrize("rounds", [[], [52, 0], [-1.0]])
def test_monitors_without_rounds_are_refused(rounds):
    with pytest.raises(ValueError, match=r"^every monitor needs rounds in the time .* got \["):
        shared_promise(rounds, at_most=1)


@pytest.mark.parametrize("at_most", [0, -1, float("nan")])
def test_a_promise_of_no_alarms_is_refused(at_most):
    with pytest.raises(ValueError, match=r"false alarms cannot be kept; give more than 0$"):
        shared_promise([52], at_most=at_most)


@pytest.mark.simulation
def test_a_fleet_of_ten_monitors_at_their_limits_keeps_its_promise():
    # all ten see the same labels, the worst dependence; two alarms in 26 rounds are promised
    limits, rates = [Limit("precision", 0.76, "at_least")], np.array([0.76, 0.02])
    window = RoundStrata(np.array([900, 9100]), np.array([True, False]), np.array([150, 30]))
    every = shared_promise([26.0] * 10, at_most=2)
    rng, paths, alarms = np.random.default_rng(7), 600, np.zeros(600)
    watched = Paths(limits, every, paths)
    watched.learn(window, rng.binomial(window.labeled, rates, (paths, 2)))
    for _ in range(26):
        alarms += 10 * watched.close(window, rng.binomial(window.labeled, rates, (paths, 2)))[0]

    assert alarms.mean() + 3 * alarms.std() / np.sqrt(paths) <= 2
    assert alarms.mean() > 0
