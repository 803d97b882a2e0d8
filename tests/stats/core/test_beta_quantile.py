"""Quantiles of a Beta by a spline: those of betaincinv, over all shapes that occur."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.draws import JointPosterior, draw
from monitor.stats.core.quantiles import LEAST_SHAPE, MANY, beta_quantiles

SHAPES = (LEAST_SHAPE, 0.5, 0.7, 1.0, 1.5, 4.5, 30.5, 300.5, 1e4, 1e6, 1e9)
EDGE = 2.0**-31
UNIFORMS = np.concatenate(
    [[EDGE, 1 - EDGE], np.linspace(1e-4, 1 - 1e-4, 1000), np.geomspace(EDGE, 1e-3, 300)]
)


def deviation(alpha, beta):
    return np.sqrt(alpha * beta / (alpha + beta) ** 2 / (alpha + beta + 1))


@pytest.mark.parametrize("alpha", SHAPES)
def test_quantiles_are_right_to_a_millionth_of_a_standard_deviation(alpha):
    for beta in SHAPES:
        found = beta_quantiles(alpha, beta, UNIFORMS)

        error = np.abs(found - special.betaincinv(alpha, beta, UNIFORMS)) / deviation(alpha, beta)
        assert error.max() < 1e-6, beta


@pytest.mark.parametrize("count", [0.5, 1, 3.5, 200, 1e5, 1e9])
def test_quantiles_of_a_power_are_its_roots(count):
    low = beta_quantiles(1.0, count, UNIFORMS)
    high = beta_quantiles(count, 1.0, UNIFORMS)

    # Beta(1, b) has the distribution function 1 - (1 - x)^b, and Beta(a, 1) has x^a.
    roots = -np.expm1(np.log1p(-UNIFORMS) / count), np.exp(np.log(UNIFORMS) / count)
    for found, root in zip((low, high), roots, strict=True):
        assert np.abs(found - root).max() < 1e-6 * deviation(1.0, count)


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
