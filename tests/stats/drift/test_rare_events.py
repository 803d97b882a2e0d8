"""Two counts of rare events, and whether chance explains their difference."""

import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats

from monitor.stats.drift.rare_events import rates_differ


@given(some.integers(0, 60), some.integers(1, 10**6), some.integers(0, 60), some.integers(1, 10**6))
def test_agrees_with_the_binomial_distribution_of_scipy(events, size, before, size_before):
    share = size / (size + size_before)
    given_sum = stats.binom(events + before, share)
    tail = min(given_sum.cdf(events), given_sum.sf(events - 1))

    assert rates_differ(events, size, before, size_before) == (tail < 0.0005)


def test_equal_rates_are_called_different_less_often_than_promised():
    counts = stats.poisson(20).rvs((4000, 2), random_state=1)

    called = [rates_differ(now, 1000, before, 1000, level=0.99) for now, before in counts]

    assert 0 < sum(called) <= 0.01 * 4000


def test_no_events_at_all_say_nothing():
    assert not rates_differ(0, 10, 0, 10)


@pytest.mark.parametrize("numbers", [(1, 0, 1, 1), (-1, 1, 1, 1), (1, 1, 1, 0)])
def test_impossible_numbers_are_refused(numbers):
    with pytest.raises(ValueError, match="wanted positive sizes"):
        rates_differ(*numbers)
    with pytest.raises(ValueError, match="level"):
        rates_differ(1, 10, 1, 10, level=1)
