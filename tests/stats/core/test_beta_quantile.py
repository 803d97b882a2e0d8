"""Quantiles of a Beta by a spline: those of betaincinv, over all shapes that occur."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import special

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.beta_quantile import LEAST_SHAPE, MANY, beta_quantiles
from monitor.stats.core.draws import JointPosterior, draw

SHAPES = (LEAST_SHAPE, 0.5, 0.7, 1.0, 1.5, 4.5, 30.5, 300.5, 1e4, 1e6, 1e9)
EDGE = 2.0**-31
UNIFORMS = np.concatenate(
    [[EDGE, 1 - EDGE], np.linspace(1e-4, 1 - 1e-4, 3000), np.geomspace(EDGE, 1e-3, 500)]
)


def deviation(alpha, beta):
    return np.sqrt(alpha * beta / (alpha + beta) ** 2 / (alpha + beta + 1))


@pytest.mark.parametrize(("alpha", "beta"), [*product(SHAPES, SHAPES)])
def test_quantiles_are_right_to_a_millionth_of_a_standard_deviation(alpha, beta):
    found = beta_quantiles(alpha, beta, UNIFORMS)

    error = np.abs(found - special.betaincinv(alpha, beta, UNIFORMS)) / deviation(alpha, beta)
    assert error.max() < 1e-6


@pytest.mark.parametrize(("alpha", "beta"), [*product(SHAPES, SHAPES)])
def test_the_share_below_a_quantile_is_its_uniform(alpha, beta):
    inside = UNIFORMS[np.abs(UNIFORMS - 0.5) < 0.4999]

    found = beta_quantiles(alpha, beta, inside)

    # Close to 1 a float has no digits left for how close, so the distance there is no measure.
    seen = found < 1 - 1e-6
    shares = special.betainc(alpha, beta, found[seen])
    np.testing.assert_allclose(shares, inside[seen], atol=1e-6)


@pytest.mark.parametrize("count", [0.5, 1, 3.5, 200, 1e5, 1e9])
def test_quantiles_of_a_power_are_its_roots(count):
    low = beta_quantiles(1.0, count, UNIFORMS)
    high = beta_quantiles(count, 1.0, UNIFORMS)

    # Beta(1, b) has the distribution function 1 - (1 - x)^b, and Beta(a, 1) has x^a.
    roots = -np.expm1(np.log1p(-UNIFORMS) / count), np.exp(np.log(UNIFORMS) / count)
    for found, root in zip((low, high), roots, strict=True):
        assert np.abs(found - root).max() < 1e-6 * deviation(1.0, count)


def test_quantiles_of_an_arcsine_are_squares_of_a_sine():
    found = beta_quantiles(0.5, 0.5, UNIFORMS)

    np.testing.assert_allclose(found, np.sin(np.pi / 2 * UNIFORMS) ** 2, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 9), (3, 3), (7, 60), (40, 2)])
def test_the_share_below_a_quantile_of_whole_counts_is_a_sum_of_binomials(alpha, beta):
    found = beta_quantiles(alpha, beta, UNIFORMS)

    # As many of n uniforms lie under the quantile: alpha or more in the share u of all cases.
    n = alpha + beta - 1
    reached = np.zeros(len(found))
    for k in range(alpha, n + 1):
        reached += comb(n, k) * found**k * (1 - found) ** (n - k)
    np.testing.assert_allclose(reached, UNIFORMS, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.02, 0.02), (0.01, 40.0), (12.0, 0.3), (0.02, 1e9), (1e9, 0.1)]
)
def test_shapes_with_nearly_all_at_an_end_are_those_of_betaincinv(alpha, beta):
    found = beta_quantiles(alpha, beta, UNIFORMS)

    np.testing.assert_array_equal(found, special.betaincinv(alpha, beta, UNIFORMS))


def test_a_mixture_draws_each_rate_from_the_component_that_was_picked():
    rng = np.random.default_rng(11)
    weight = np.array([0.6, 0.25, 0.1, 0.03, 0.02])
    flagged = BetaMixture(weight, rng.gamma(3, 20, (5, 3)), rng.gamma(3, 5, (5, 3)))
    passed = BetaMixture(weight[::-1], rng.gamma(3, 0.1, (5, 2)), rng.gamma(3, 50, (5, 2)))

    drawn = draw(JointPosterior(flagged, passed), seed=4, points=2**12).rates

    assert 2**12 * weight.min() < MANY < 2**12 * weight.max()
    for mixture, rates in ((flagged, drawn[:, :3]), (passed, drawn[:, 3:])):
        for h, quantile in product(range(rates.shape[1]), (0.1, 0.5, 0.9)):
            at = np.quantile(rates[:, h], quantile)
            share = mixture.weight @ special.betainc(mixture.alpha[:, h], mixture.beta[:, h], at)
            assert share == pytest.approx(quantile, abs=0.01)
