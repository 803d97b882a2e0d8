"""Score cells summed to bands foretell what the cells would find."""

import numpy as np
import pytest
from scipy import special

from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.detection.scenario import Scenario

UP = np.arange(30) < 10
RATE = special.expit(np.concatenate([np.linspace(0, 3, 10), np.linspace(-8, -0.5, 20)]))
SIZE = np.concatenate([np.full(10, 300), np.geomspace(40_000, 300, 20).astype(int)])
PLAN = systematic_sizes(expected_sizes(SIZE, UP, RATE, labels=800, share=0.25), 0.5)
CELLS = Scenario.of(SIZE, PLAN, UP, RATE)
BANDS = CELLS.summed(np.arange(30) // 5)


@pytest.mark.parametrize("name", ["precision", "recall", "accuracy"])
def test_bands_have_the_metrics_the_items_and_the_labels_of_their_cells(name):
    assert BANDS.value(name) == pytest.approx(CELLS.value(name), rel=1e-12)
    assert BANDS.is_flagged.tolist() == [True, True, False, False, False, False]
    assert BANDS.size.tolist() == [int(SIZE[i : i + 5].sum()) for i in range(0, 30, 5)]
    assert BANDS.labels == CELLS.labels


def test_bands_keep_the_order_in_which_their_cells_come_whatever_their_names():
    named = CELLS.summed([f"{9 - i // 10}" for i in range(30)])

    assert named.size.tolist() == [int(SIZE[i : i + 10].sum()) for i in range(0, 30, 10)]


def test_an_empty_band_stays_and_is_in_no_metric():
    empty = Scenario.of([10, 0, 500], [5, 0, 50], [True, False, False], [0.8, 0.5, 0.01])

    assert empty.summed(["a", "b", "c"]).size.tolist() == [10, 0, 500]
