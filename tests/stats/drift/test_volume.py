"""Counts of windows and of rare events beside independent fits, and false notices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from monitor.stats.drift.rare_events import rates_differ
from monitor.stats.drift.volume import SLOPE, expected_count
from tests.stats.samples import known

WEEKS = [5200, 5050, 5480, 5300]


def test_agrees_with_a_regression_of_the_logs_with_the_prior_as_a_further_observation():
    time, logs = np.arange(4.0), np.log(np.array(WEEKS) + 0.5)
    least = float(1 / (np.mean(WEEKS) + 0.5))
    rest = logs - np.polyval(np.polyfit(time, logs, 1), time)
    spread = max(float((rest**2).sum()) / 2, least)
    # The prior of the slope is one more observation: sigma / tau times the slope, seen to be 0.
    design = np.vstack([np.c_[np.ones(4), time], [0, np.sqrt(spread) / SLOPE]])
    seen = np.r_[logs, 0]
    beta, *_ = np.linalg.lstsq(design, seen, rcond=None)
    inverse = np.linalg.inv(design.T @ design)
    used = np.trace(design[:4] @ inverse @ design[:4].T)  # effective number of parameters
    scale = max(float(((seen - design @ beta) ** 2).sum()) / (4 - used), least)
    ahead = np.array([1, 4.0])
    error = np.sqrt(scale * (1 + ahead @ inverse @ ahead))
    wanted = stats.t.cdf((np.log(4400.5) - ahead @ beta) / error, 4 - used)

    found = known(expected_count(4400, WEEKS))

    assert found.count == pytest.approx(np.exp(ahead @ beta) - 0.5)
    assert found.probability == pytest.approx(wanted)


def test_few_windows_and_small_counts_say_nothing():
    assert expected_count(0, [500, 510]) is None
    assert expected_count(0, [20, 22, 18, 25]) is None


def test_a_segment_that_disappears_is_certain_and_a_holiday_does_not_hide_it():
    assert known(expected_count(0, [900, 950, 910, 930])).probability < 1e-4
    assert known(expected_count(650, [930, 950, 910, 300, 940, 920, 935])).probability < 0.005


@given(some.integers(0, 60), some.integers(1, 10**6), some.integers(0, 60), some.integers(1, 10**6))
def test_agrees_with_the_binomial_distribution_of_scipy(events, size, before, size_before):
    share = size / (size + size_before)
    given_sum = stats.binom(events + before, share)
    tail = min(given_sum.cdf(events), given_sum.sf(events - 1))

    assert rates_differ(events, size, before, size_before) == (tail < 0.0005)


def test_no_events_at_all_say_nothing():
    assert not rates_differ(0, 10, 0, 10)


@pytest.mark.parametrize("numbers", [(1, 0, 1, 1), (-1, 1, 1, 1), (1, 1, 1, 0)])
def test_impossible_numbers_are_refused(numbers):
    with pytest.raises(ValueError, match="expected positive sizes"):
        rates_differ(*numbers)
    with pytest.raises(ValueError, match="level"):
        rates_differ(1, 10, 1, 10, level=1)
