"""The density of a share from its draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid

from monitor.stats.estimation.density import share_density


def draws_of(a, b):
    return np.random.default_rng(11).beta(float(a), float(b), size=2**12)


def density_of(draws):
    """A density that must be there."""
    found = share_density(draws)
    assert found is not None
    return found


@pytest.mark.parametrize("shape", [(80, 20), (8, 40), (600, 30)])
def test_agrees_with_the_kernel_estimate_of_scipy_at_the_same_bandwidth(shape):
    draws = draws_of(*shape)
    spread = min(draws.std(), stats.iqr(draws) / 1.34)
    factor = 0.9 * spread * draws.size**-0.2 / draws.std(ddof=1)
    expected = stats.gaussian_kde(draws, bw_method=factor)

    found = density_of(draws)

    assert found.density == pytest.approx(
        expected(found.x), rel=0.01, abs=1e-3 * found.density.max()
    )


@pytest.mark.parametrize("shape", [(80, 20), (0.7, 30), (60, 0.6), (0.5, 0.5)])
def test_holds_all_probability_also_at_the_edges(shape):
    found = density_of(draws_of(*shape))

    assert trapezoid(found.density, found.x) == pytest.approx(1, abs=0.03)
    assert found.x[0] >= 0
    assert found.x[-1] <= 1


@pytest.mark.parametrize("draws", [[], [0.5] * 1000, [np.nan] * 1000, [0.1, 0.2, 0.3]])
def test_what_is_known_or_drawn_too_seldom_has_no_density(draws):
    assert share_density(draws) is None


def test_draws_without_a_value_are_left_out():
    draws = draws_of(80, 20)

    found = density_of(np.concatenate([draws, [np.nan] * 100]))

    assert found.density == pytest.approx(density_of(draws).density)
