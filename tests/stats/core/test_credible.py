"""Ends of an interval: the quantiles of its draws that numpy would find."""

import numpy as np
import pytest

from monitor.stats.core.draws import credible_interval


@pytest.mark.parametrize("draws", [1, 2, 19, 20, 2**12])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("unknown", [0, 3])
def test_ends_are_quantiles_by_the_inverse_distribution_function(draws, level, unknown):
    values = np.random.default_rng(draws).normal(size=draws).round(2)
    given = np.insert(values, 0, np.full(unknown, np.nan))

    found = credible_interval(given, level)

    tail = (1 - level) / 2
    expected = np.quantile(values, [tail, 1 - tail], method="inverted_cdf")
    np.testing.assert_array_equal([found.low, found.high], expected)


def test_draws_stay_in_their_order():
    values = np.array([3.0, 1.0, 2.0, 5.0, 4.0])

    credible_interval(values, 0.5)

    np.testing.assert_array_equal(values, [3.0, 1.0, 2.0, 5.0, 4.0])
