"""Estimates of a round labeled by score cells: points, edges, bounds, cautions, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.cells import cut, scored
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.estimation.cell_matrix import cell_posterior, plain_counts
from monitor.stats.estimation.missing import missing_bounds
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.small_counts import small_count_caution

DESIGN = cut(scored("Phi1", "good"))
SIZE = np.rint(DESIGN.size / 1e6).astype(np.int64)
UP = DESIGN.is_flagged


def a_round(labels=10, seed=1):
    labeled = np.minimum(labels, SIZE)
    positive = np.random.default_rng(seed).binomial(labeled, DESIGN.rate)
    return Counts.of_arrays(size=SIZE, labeled=labeled, positive=positive, is_flagged=UP)


def of_cells(counts, metric, **asked):
    [found] = estimates(counts, metrics=(metric,), estimands=("rate",), cells=True, **asked)
    return found


def test_precision_has_the_interval_of_its_class_and_the_point_of_its_cells():
    counts = a_round()

    found = of_cells(counts, "precision")

    law = cell_posterior(counts).flagged
    ends = stats.beta(law.alpha[0, 0], law.beta[0, 0]).ppf([0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-4)
    shares = counts.positive[UP] / counts.labeled[UP]
    assert found.point == pytest.approx(np.average(shares, weights=SIZE[UP]))


def test_one_cell_a_class_has_the_interval_that_one_band_has():
    counts = Counts.of_matrix(tp=80, fp=20, fn=7, tn=300, flagged_size=900, passed_size=20_000)

    for metric in ("precision", "recall"):
        [band] = estimates(counts, metrics=(metric,), estimands=("rate",))
        cell = of_cells(counts, metric)
        assert cell.point == band.point
        assert (cell.low, cell.high) == pytest.approx((band.low, band.high), abs=2e-3)


def test_where_no_positive_was_missed_recall_may_be_1():
    labeled = np.minimum(10, SIZE)
    counts = Counts.of_arrays(
        size=SIZE, labeled=labeled, positive=np.where(UP, labeled - 1, 0), is_flagged=UP
    )

    found = of_cells(counts, "recall")

    assert (found.point, found.high) == (1.0, 1.0)


def test_missing_answers_widen_by_the_cells_that_they_are_missing_from():
    counts = a_round()
    missing = np.zeros(len(SIZE), dtype=np.int64)
    missing[20] = 2  # the lowest passed cell, which holds most items

    bounds = missing_bounds(counts, missing, "recall", cells=True)

    filled = Counts.of_arrays(
        size=SIZE,
        labeled=counts.labeled + missing,
        positive=counts.positive + missing,
        is_flagged=UP,
    )
    plain, worst = of_cells(counts, "recall"), of_cells(filled, "recall")
    assert bounds is not None
    assert (bounds.point, bounds.high) == (plain.point, plain.high)
    assert bounds.low == worst.low < plain.low


def test_a_caution_counts_what_the_labels_of_a_class_are_worth():
    labeled = np.minimum(np.where(UP, 10, 4), SIZE)
    positive = np.where(UP, labeled // 2, 0)
    positive[-3:] = 1  # three misses, all in cells close under the threshold
    counts = Counts.of_arrays(size=SIZE, labeled=labeled, positive=positive, is_flagged=UP)

    found = small_count_caution(counts, "recall", cells=True)

    assert found is not None
    [few] = found.classes
    law = cell_posterior(counts).passed
    assert (few.predicted, few.answer) == ("passed", "positive")
    assert few.worth == pytest.approx(law.alpha[0, 0] - 0.5)
    assert small_count_caution(counts, "precision", cells=True) is None


def test_a_posterior_of_bands_is_refused_for_cells():
    counts = a_round()
    posterior = round_posterior(counts)

    for given in ({"posterior": posterior}, {"draws": draw(posterior, seed=1, points=16)}):
        with pytest.raises(ValueError, match="score cells have a posterior of their own"):
            of_cells(counts, "recall", **given)


@pytest.mark.parametrize("labels", [3, 10, 10**9])
def test_plain_counts_have_the_rates_of_the_cells_and_no_more_labels_than_items(labels):
    counts = a_round(labels)

    plain = plain_counts(counts)

    assert plain.size.tolist() == [SIZE[UP].sum(), SIZE[~UP].sum()]
    assert np.all(plain.labeled <= plain.size)
    for members, size, n, y in zip((UP, ~UP), *plain_columns(plain), strict=True):
        found = counts.positive[members] / counts.labeled[members]
        assert y / n == pytest.approx(found @ SIZE[members] / size, abs=0.51 / n)


def plain_columns(plain):
    return plain.size, plain.labeled, plain.positive
