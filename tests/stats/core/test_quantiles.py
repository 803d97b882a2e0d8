"""Quantiles of Betas, binomials and draws: those that scipy and numpy would find."""

from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.draws import JointPosterior, credible_interval, draw
from monitor.stats.core.quantiles import LEAST_SHAPE, MANY, beta_quantiles, binomial_quantiles

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


RATES = (1e-6, 1e-4, 0.001, 0.01, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 0.99, 0.9999)
VARIANCES = (0.01, 1, 8, 24.9, 25, 30, 50, 100, 1_000, 1e5)


@pytest.mark.parametrize("variance", VARIANCES)
def test_quantiles_are_those_of_scipy_to_the_last_one(variance):
    rng = np.random.default_rng(7)
    for rate in RATES:
        items = int(np.ceil(variance / (rate * (1 - rate))))
        rates = np.clip(rate * np.exp(rng.normal(0, 0.3, 1500)), 0, 1)
        uniforms = np.concatenate([rng.random(1000), 10.0 ** -rng.uniform(0, 9.3, 500)])

        found = binomial_quantiles(uniforms, items, rates)

        np.testing.assert_array_equal(found, stats.binom.ppf(uniforms, items, rates))


def test_a_uniform_that_is_the_distribution_function_itself_gets_its_own_count():
    count = np.arange(60.0, 140.0)
    rates = np.full(80, 0.1)
    reached = stats.binom.cdf(count, 1000, 0.1)

    found = binomial_quantiles(reached, 1000, rates)

    np.testing.assert_array_equal(found, stats.binom.ppf(reached, 1000, rates))


@pytest.mark.parametrize("items", [0, 5, 10_000])
@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_rate_of_none_or_all_finds_none_or_all(items, rate):
    found = binomial_quantiles(np.array([0.001, 0.5, 0.999]), items, np.full(3, rate))

    assert np.all(found == items * rate)


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
