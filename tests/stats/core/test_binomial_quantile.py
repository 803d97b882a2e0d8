"""Quantiles of the binomial: those of scipy, whatever they are made of."""

import numpy as np
import pytest
from scipy import stats

from monitor.stats.core.quantiles import binomial_quantiles

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


@pytest.mark.parametrize(
    ("items", "positive", "negative"), [(9_000, 40, 400), (9_000, 3, 4_000), (20, 30, 70)]
)
def test_common_quantiles_are_not_left_to_scipy(items, positive, negative, monkeypatch):
    asked = []
    ours = stats.binom.ppf

    def counted(quantile, items, rate):
        asked.append(len(quantile))
        return ours(quantile, items, rate)

    monkeypatch.setattr(stats.binom, "ppf", counted)
    rng = np.random.default_rng(3)

    binomial_quantiles(rng.random(10_000), items, rng.beta(positive, negative, 10_000))

    assert sum(asked) < 500


@pytest.mark.parametrize("items", [0, 5, 10_000])
@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_rate_of_none_or_all_finds_none_or_all(items, rate):
    found = binomial_quantiles(np.array([0.001, 0.5, 0.999]), items, np.full(3, rate))

    assert np.all(found == items * rate)
