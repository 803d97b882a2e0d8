"""What earlier windows lead one to expect of a count: an independent fit, and false notices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.stats.drift.volume import SLOPE, SPREAD, SPREAD_WEIGHT, expected_count

WEEKS = [5200, 5050, 5480, 5300]


def placed(now, earlier):
    """Return what is expected, of which there is something here."""
    found = expected_count(now, earlier)
    assert found is not None
    return found


def test_agrees_with_a_regression_of_the_logs_with_the_prior_as_further_observations():
    spread = SPREAD**2 + 1 / (np.mean(WEEKS) + 0.5)
    time, logs = np.arange(4.0), np.log(np.array(WEEKS) + 0.5)
    # The prior of the slope is one more observation: sigma / tau times the slope, seen to be 0.
    design = np.vstack([np.c_[np.ones(4), time], [0, np.sqrt(spread) / SLOPE]])
    seen = np.r_[logs, 0]
    beta, *_ = np.linalg.lstsq(design, seen, rcond=None)
    rest = float(((seen - design @ beta) ** 2).sum())
    freedom = SPREAD_WEIGHT + 3
    ahead = np.array([1, 4.0])
    inner = 1 + ahead @ np.linalg.inv(design.T @ design) @ ahead
    error = np.sqrt((SPREAD_WEIGHT * spread + rest) / freedom * inner)
    wanted = stats.t.cdf((np.log(4400.5) - ahead @ beta) / error, freedom)

    found = placed(4400, WEEKS)

    assert found.count == pytest.approx(np.exp(ahead @ beta) - 0.5)
    assert found.probability == pytest.approx(wanted)


def test_few_windows_and_small_counts_say_nothing():
    assert expected_count(0, [500, 510]) is None
    assert expected_count(0, [20, 22, 18, 25]) is None


def test_a_segment_that_disappears_is_certain_and_a_holiday_does_not_hide_it():
    assert placed(0, [900, 950, 910]).probability < 1e-4
    assert placed(650, [930, 950, 910, 300, 940, 920, 935]).probability < 0.005


@pytest.mark.simulation
@pytest.mark.parametrize("trend", [-0.05, 0, 0.05])
@pytest.mark.parametrize("spread", [0, 0.05, 0.1])
def test_an_ordinary_window_is_noticed_at_most_once_in_a_hundred(trend, spread):
    rng = np.random.default_rng(7)
    logs = np.log(5000) + trend * np.arange(9) + rng.normal(0, spread, (600, 9))
    counts = rng.poisson(np.exp(logs))

    noticed = [placed(row[-1], row[:-1]).probability < 0.005 for row in counts]

    assert np.mean(noticed) <= 0.02
