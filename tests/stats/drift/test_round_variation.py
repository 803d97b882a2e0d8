"""Variation of a metric between rounds, beyond its sampling errors."""

import numpy as np
import pytest

from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.drift.round_variation import (
    LEAST_ROUNDS,
    alarms_of_variation,
    round_variation,
)


def _of(points, error=0.02):
    variation = round_variation(points, [error] * len(points))
    assert variation is not None
    return variation


def test_sampling_alone_is_rarely_called_variation():
    rng = np.random.default_rng(1)

    called = [_of(rng.normal(0.8, 0.02, 12)).is_more for _ in range(1_000)]

    assert 0 < np.mean(called) < 0.04


def test_the_spread_between_rounds_is_measured_without_bias():
    rng = np.random.default_rng(2)

    spreads = [_of(rng.normal(0.8, np.hypot(0.02, 0.05), 40)) for _ in range(400)]

    assert np.mean([each.spread**2 for each in spreads]) == pytest.approx(0.05**2, rel=0.05)
    assert np.mean([each.is_more for each in spreads]) > 0.99


def test_a_lasting_change_is_seldom_taken_for_variation():
    rng = np.random.default_rng(3)
    level = np.repeat([0.85, 0.75], 20)

    called = [_of(level + rng.normal(0, 0.02, 40)).is_more for _ in range(300)]

    assert np.mean(called) < 0.25


@pytest.mark.parametrize("points", [[0.8] * (LEAST_ROUNDS - 1), []])
def test_few_rounds_tell_nothing(points):
    assert round_variation(points, [0.02] * len(points)) is None


def test_points_without_sampling_error_tell_nothing():
    assert round_variation([0.8, 0.9] * 5, [0.0] * 10) is None


def test_a_metric_at_its_limit_without_variation_keeps_the_promise():
    threshold = log_threshold(52, 1)

    alarms = [
        alarms_of_variation(0.0, 0.02, spread, threshold=threshold, rounds=52, seed=4)
        for spread in (0.0, 0.02, 0.05)
    ]

    assert alarms[0] <= 1
    assert alarms[0] < alarms[1] < alarms[2]


def test_one_path_is_that_of_the_detector(monkeypatch):
    monkeypatch.setattr("monitor.stats.drift.round_variation._PATHS", 1)
    threshold, rounds = log_threshold(52, 1), 200
    rng, evidence, alarms = np.random.default_rng(5), Evidence(), 0
    errors = np.array([0.75, 1.5, 3.0])
    for _ in range(rounds):
        below = -0.5 + np.hypot(0.02, 0.05) / 0.02 * -rng.standard_normal(1)[0]
        evidence = evidence.after(below * errors - errors**2 / 2)
        if evidence.fires(threshold):
            alarms, evidence = alarms + 1, Evidence()

    simulated = alarms_of_variation(0.01, 0.02, 0.05, threshold=threshold, rounds=rounds, seed=5)

    assert simulated == alarms > 0
