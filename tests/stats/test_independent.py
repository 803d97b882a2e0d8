"""Independent implementations: statsmodels, samplics, and what the coverage benchmark computes."""

import math
from functools import cache

import numpy as np
import pytest

from monitor.stats.design.neyman import coefficients_of
from monitor.stats.design.prior import PriorRates
from monitor.stats.estimation.posterior import estimate, estimates
from tests.stats.samples import of_matrix, of_strata

SIZE = np.array([4000, 6000, 50_000, 9000, 1000])
LABELED = np.array([200, 150, 800, 400, 300])
POSITIVE = np.array([120, 138, 6, 40, 90])
IS_FLAGGED = np.array([True, True, False, False, False])


def of_arrays(labeled=LABELED, positive=POSITIVE):
    return of_strata(SIZE, labeled, positive, IS_FLAGGED)


@cache
def ratio_of_samplics(of_recall):
    """Stratified ratio estimate, its standard error and 95 % interval, by samplics."""
    estimation = pytest.importorskip("samplics.estimation", reason="needs polars and pandas")
    types = pytest.importorskip("samplics.utils.types")
    stratum = np.repeat(np.arange(5), LABELED)
    truth = np.concatenate(
        [np.arange(n) < y for n, y in zip(LABELED, POSITIVE, strict=True)]
    ).astype(float)
    flagged = IS_FLAGGED[stratum].astype(float)
    taylor = estimation.TaylorEstimator(types.PopParam.ratio)
    taylor.estimate(
        y=truth * flagged,
        x=truth if of_recall else flagged,
        samp_weight=(SIZE / LABELED)[stratum],
        stratum=stratum,
        psu=np.arange(len(stratum)),
    )
    return taylor.point_est, taylor.stderror, taylor.lower_ci, taylor.upper_ci


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["precision", "recall"])
def test_the_variance_that_plans_rest_on_is_that_of_samplics_to_ten_digits(name):
    _, error, *_ = ratio_of_samplics(name == "recall")
    coefficients, _ = coefficients_of(SIZE, IS_FLAGGED, PriorRates.of_rates(POSITIVE / LABELED))
    variance = np.sum(coefficients[name] / (LABELED - 1))  # samplics divides by n - 1
    foretold = math.sqrt(variance)

    assert foretold == pytest.approx(error, rel=1e-10)


@pytest.mark.parametrize("positive", [0, 1, 7, 30])
def test_a_single_stratum_is_the_jeffreys_interval_of_statsmodels(positive):
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="needs pandas")
    low, high = proportion.proportion_confint(positive, 30, method="jeffreys")
    counts = of_matrix(positive, 30 - positive, 3, 90, 10**6, 10**7)

    row = estimate(counts, metrics=("precision",))["precision"]

    ends = [0.0 if positive == 0 else low, 1.0 if positive == 30 else high]
    assert [row.low, row.high] == pytest.approx(ends, abs=2e-4)
    assert row.point == pytest.approx(positive / 30)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["precision", "recall"])
def test_score_cells_have_the_point_and_nearly_the_width_of_the_survey_ratio(name):
    point, error, *_ = ratio_of_samplics(name == "recall")

    [cells] = estimates(of_arrays(), metrics=(name,), estimands=("rate",), cells=True)

    assert cells.point == pytest.approx(point, rel=1e-10)
    # the prior of the low cell's few positives widens recall; a Beta is not symmetrical
    assert cells.interval is not None
    assert (cells.interval.high - cells.interval.low) / 2 == pytest.approx(1.96 * error, rel=0.05)
