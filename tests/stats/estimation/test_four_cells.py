"""The matrix of a set whose predicted classes have no known size."""

import numpy as np
import pytest
from scipy import stats

from monitor.stats.estimation.four_cells import FourCells

FLAGGED = np.repeat([True, True, False, False], [30, 6, 10, 200])
POSITIVE = np.repeat([True, False, True, False], [30, 6, 10, 200])


def test_without_weights_the_labels_are_counted():
    cells = FourCells.of_items(FLAGGED, POSITIVE)

    assert cells.labeled.tolist() == [30, 6, 10, 200]
    assert cells.weight.tolist() == [1, 1, 1, 1]


def test_the_four_cells_together_are_a_dirichlet_with_half_a_count_in_each():
    matrix = FourCells.of_items(FLAGGED, POSITIVE).draws().of("rate")

    drawn = np.array([matrix.tp, matrix.fp, matrix.fn, matrix.tn])
    expected = stats.dirichlet([30.5, 6.5, 10.5, 200.5])
    assert drawn.mean(axis=1) == pytest.approx(expected.mean(), rel=1e-3)
    assert np.cov(drawn) == pytest.approx(expected.cov(), rel=0.05, abs=1e-7)


def test_a_weighted_total_varies_as_that_of_items_drawn_one_by_one_by_students_law():
    weight = 1 + np.arange(len(FLAGGED)) % 7.0
    cells = FourCells.of_items(FLAGGED, POSITIVE, weight)

    variance = cells.labeled * cells.weight**2

    place = 2 * ~FLAGGED + ~POSITIVE
    assert cells.labeled * cells.weight == pytest.approx(np.bincount(place, weight))
    squares, fourths = (np.bincount(place, weight**power) for power in (2, 4))
    freedom = 2 / (fourths / squares**2 - 1 / np.bincount(place))
    wider = stats.t.ppf(0.975, freedom) / stats.norm.ppf(0.975)
    assert variance == pytest.approx(squares * wider**2)


def test_one_heavy_item_of_a_cell_leaves_its_total_nearly_unknown():
    weight = np.ones(len(FLAGGED))
    weight[0] = 1000

    [labels, *others] = FourCells.of_items(FLAGGED, POSITIVE, weight).labeled

    assert labels < 0.5
    assert others == [6, 10, 200]


def test_a_window_and_a_single_predicted_class_are_refused():
    with pytest.raises(ValueError, match="does not describe a window; expected rate, got 'window'"):
        FourCells.of_items(FLAGGED, POSITIVE).draws().of("window")
    with pytest.raises(ValueError, match="all items are of one predicted class"):
        FourCells.of_items([True, True], [True, False])
