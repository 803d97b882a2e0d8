"""The matrix of a set whose predicted classes have no known size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.stats.core.metrics import METRICS
from monitor.stats.estimation.four_cells import FourCells

FLAGGED = np.repeat([True, True, False, False], [30, 6, 10, 200])
POSITIVE = np.repeat([True, False, True, False], [30, 6, 10, 200])


def test_without_weights_the_labels_are_counted():
    cells = FourCells.of_items(FLAGGED, POSITIVE)

    assert cells.labeled.tolist() == [30, 6, 10, 200]
    assert cells.weight.tolist() == [1, 1, 1, 1]


def test_precision_and_recall_of_a_plain_sample_have_their_jeffreys_posteriors():
    matrix = FourCells.of_items(FLAGGED, POSITIVE).draws().of("rate")

    for metric, other in (("precision", 6), ("recall", 10)):
        expected = stats.beta(30.5, other + 0.5)
        found = np.quantile(METRICS[metric](matrix), [0.01, 0.5, 0.99])
        assert found == pytest.approx(expected.ppf([0.01, 0.5, 0.99]), abs=2e-3)


def test_the_four_cells_together_are_a_dirichlet_with_half_a_count_in_each():
    matrix = FourCells.of_items(FLAGGED, POSITIVE).draws().of("rate")

    drawn = np.array([matrix.tp, matrix.fp, matrix.fn, matrix.tn])
    expected = stats.dirichlet([30.5, 6.5, 10.5, 200.5])
    assert drawn.mean(axis=1) == pytest.approx(expected.mean(), rel=1e-3)
    assert np.cov(drawn) == pytest.approx(expected.cov(), rel=0.05, abs=1e-7)


def test_a_weighted_total_varies_as_that_of_items_drawn_one_by_one():
    weight = 1 + np.arange(len(FLAGGED)) % 7.0
    cells = FourCells.of_items(FLAGGED, POSITIVE, weight)

    variance = cells.labeled * cells.weight**2

    place = 2 * ~FLAGGED + ~POSITIVE
    assert cells.labeled * cells.weight == pytest.approx(np.bincount(place, weight))
    assert variance == pytest.approx(np.bincount(place, weight**2))


def test_at_a_prevalence_both_actual_classes_have_their_share_in_every_draw():
    matrix = FourCells.of_items(FLAGGED, POSITIVE).draws(prevalence=0.01).of("rate")

    assert matrix.tp + matrix.fn == pytest.approx(np.full(2**14, 0.01))
    assert matrix.fp + matrix.tn == pytest.approx(np.full(2**14, 0.99))


def test_a_window_and_a_single_predicted_class_are_refused():
    with pytest.raises(ValueError, match="says nothing of a window; wanted rate, got 'window'"):
        FourCells.of_items(FLAGGED, POSITIVE).draws().of("window")
    with pytest.raises(ValueError, match="all items are of one predicted class"):
        FourCells.of_items([True, True], [True, False])


def test_a_plain_sample_is_limited_by_the_cell_that_is_known_least():
    weight = np.where(FLAGGED, 1.0, 20.0)

    plain = FourCells.of_items(FLAGGED, POSITIVE, weight).plain_sample()

    # 210 passed labels stand for 4,200 of 4,236 items: the 36 flagged ones shrink by 20
    assert plain == {"tp": 2, "fp": 0, "fn": 10, "tn": 200}
