"""Estimates of a round labeled by score cells: points, edges, bounds, cautions, refusals."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.cells import cut
from benchmarks.strata import population
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import round_posterior
from monitor.stats.core.metrics import METRICS
from monitor.stats.core.reasons import EmptyClass, Unlabeled
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.estimation.cell_matrix import cell_posterior, plain_counts
from monitor.stats.estimation.missing import point_range
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.small_counts import small_count_caution
from tests.stats.samples import known, missing_bounds, of_strata

DESIGN = cut(population("Phi1", "good"))
SIZE = np.rint(DESIGN.size / 1e6).astype(np.int64)
UP = DESIGN.is_flagged


def a_round(labels=10, seed=1):
    labeled = np.minimum(labels, SIZE)
    positive = np.random.default_rng(seed).binomial(labeled, DESIGN.rate)
    return of_strata(SIZE, labeled, positive, UP)


def of_cells(counts, metric, **asked):
    [found] = estimates(counts, metrics=(metric,), estimands=("rate",), cells=True, **asked)
    return found


def test_precision_has_the_interval_of_its_class_and_the_point_of_its_cells():
    counts = a_round()

    found = of_cells(counts, "precision")

    assert found.method == "Beta posterior by score cells, 16384 Sobol points"
    law = cell_posterior(counts).flagged
    ends = stats.beta(law.alpha[0, 0], law.beta[0, 0]).ppf([0.025, 0.975])
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-4)
    shares = counts.positive[UP] / counts.labeled[UP]
    assert found.point == pytest.approx(np.average(shares, weights=SIZE[UP]))


def test_missing_answers_widen_by_the_cells_that_they_are_missing_from():
    counts = a_round()
    missing = np.zeros(len(SIZE), dtype=np.int64)
    missing[20] = 2  # the lowest passed cell, which holds most items

    bounds = known(missing_bounds(counts, missing, "recall", cells=True))

    filled = of_strata(SIZE, counts.labeled + missing, counts.positive + missing, UP)
    plain, worst = of_cells(counts, "recall"), of_cells(filled, "recall")
    assert (bounds.point, bounds.high) == (plain.point, plain.high)
    assert bounds.low == worst.low < plain.low


def test_a_caution_counts_what_the_labels_of_a_class_are_worth():
    labeled = np.minimum(np.where(UP, 10, 4), SIZE)
    positive = np.where(UP, labeled // 2, 0)
    positive[-3:] = 1  # three misses, all in cells close under the threshold
    counts = of_strata(SIZE, labeled, positive, UP)

    [few] = known(small_count_caution(counts, "recall", cells=True)).classes

    law = cell_posterior(counts).passed
    assert (few.predicted, few.answer) == ("passed", "positive")
    assert few.worth == pytest.approx(law.alpha[0, 0] - 0.5)
    assert small_count_caution(counts, "precision", cells=True) is None


def test_a_posterior_of_bands_is_refused_for_cells():
    counts = a_round()

    with pytest.raises(ValueError, match="score cells have a posterior of their own"):
        of_cells(counts, "recall", posterior=round_posterior(counts))


@pytest.mark.parametrize("labels", [3, 10, 10**9])
def test_plain_counts_have_the_rates_of_the_cells_and_no_more_labels_than_items(labels):
    counts = a_round(labels)

    plain = plain_counts(counts)

    assert plain.size.tolist() == [SIZE[UP].sum(), SIZE[~UP].sum()]
    assert np.all(plain.labeled <= plain.size)
    columns = plain.size, plain.labeled, plain.positive
    for members, size, n, y in zip((UP, ~UP), *columns, strict=True):
        found = counts.positive[members] / counts.labeled[members]
        assert y / n == pytest.approx(found @ SIZE[members] / size, abs=0.51 / n)


def every_estimate(counts):
    return estimates(counts, metrics=tuple(METRICS), points=2**10, cells=True)


def columns_of(counts):
    return {name: getattr(counts, name) for name in ("size", "labeled", "positive", "is_flagged")}


def changed(counts, **columns):
    return Counts.of_arrays(**(columns_of(counts) | columns))


WHOLE = np.where(UP, SIZE, np.minimum(10, SIZE))
TEN = np.minimum(10, SIZE)
NONE, ALL = np.zeros(len(SIZE), dtype=np.int64), TEN
EDGES = {
    "ordinary": (TEN, a_round().positive),
    "no positive": (TEN, NONE),
    "all positive": (TEN, ALL),
    "all right": (TEN, np.where(UP, TEN, 0)),
    "all wrong": (TEN, np.where(UP, 0, TEN)),
    "flagged labeled whole": (WHOLE, np.where(UP, SIZE // 2, 1)),
    "window labeled whole": (SIZE, SIZE // 2),
    "two labels a cell": (np.minimum(2, SIZE), np.where(UP, 1, 0)),
    "one label a class": (np.isin(np.arange(len(SIZE)), [0, 30]).astype(np.int64), NONE),
}


@pytest.mark.parametrize(("labeled", "positive"), EDGES.values(), ids=EDGES)
def test_every_metric_has_a_point_in_its_interval_or_a_reason(labeled, positive):
    counts = of_strata(SIZE, labeled, positive, UP)

    for row in every_estimate(counts):
        assert (row.point is None) == (row.reason is not None)
        if row.point is not None:
            assert row.low <= row.point <= row.high
            assert np.isfinite([row.low, row.high]).all()


@pytest.mark.parametrize("answer", ["no positive", "all positive"])
def test_an_answer_that_was_never_seen_may_not_exist(answer):
    labeled, positive = EDGES[answer]
    counts = of_strata(SIZE, labeled, positive, UP)

    found = of_cells(counts, "precision")

    none = answer == "no positive"
    assert (found.low if none else found.high) == (0.0 if none else 1.0)
    assert found.caution is not None


def test_a_cell_without_items_changes_nothing():
    counts = a_round()
    emptier = changed(counts, **{of: np.insert(a, 30, 0) for of, a in columns_of(counts).items()})

    for with_it, without in zip(every_estimate(emptier), every_estimate(counts), strict=True):
        assert with_it.reason == without.reason
        for of in ("point", "low", "high"):
            assert getattr(with_it, of) == pytest.approx(getattr(without, of), rel=1e-9)


def test_a_class_without_items_or_labels_is_said_to_be_so():
    counts = a_round()
    empty = changed(
        counts,
        **{of: np.where(UP, 0, getattr(counts, of)) for of in ("size", "labeled", "positive")},
    )
    unlabeled = changed(
        counts, labeled=np.where(UP, TEN, 0), positive=np.where(UP, counts.positive, 0)
    )

    assert of_cells(empty, "recall").reason == EmptyClass("flagged")
    assert of_cells(unlabeled, "recall").reason == Unlabeled("passed", int(SIZE[~UP].sum()))
    assert of_cells(unlabeled, "precision").point is not None


def test_cells_without_the_rarer_answer_that_decide_a_metric_are_named():
    pure, mixed = (
        of_strata([500, 97_000, 3000], [400, 400, 900], [300, found, 135], [True, False, False])
        for found in (0, 20)
    )

    [few] = known(small_count_caution(pure, "recall", cells=True)).classes

    assert (few.predicted, few.answer, few.worth) == ("passed", "positive", 0.0)
    tp, fn = 375, 450  # of recall tp/(tp + fn), by one of 97,000/400 items
    assert few.moves == pytest.approx(tp / (tp + fn) ** 2 * 97_000 / 400, rel=0.05)
    assert small_count_caution(mixed, "recall", cells=True) is None


def test_disputed_answers_move_a_point_between_the_scaled_extremes():
    counts = a_round()
    disputed = np.zeros(len(SIZE), dtype=np.int64)
    disputed[[3, 20]] = 1

    found = point_range(counts, disputed, "recall", cells=True)

    points = [
        scaled_matrix(
            SIZE, counts.labeled + disputed, counts.positive + disputed * np.where(UP, up, down), UP
        )
        for up, down in ((0, 1), (1, 0))
    ]
    assert found == pytest.approx([float(METRICS["recall"](each)) for each in points])
    assert point_range(counts, 0 * disputed, "recall", cells=True) is None
