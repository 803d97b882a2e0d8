"""Misses that all appear in the passed band with the lowest scores."""

import numpy as np
import pytest
from scipy import special

from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.power import alert_power
from monitor.stats.detection.scenario import Scenario

BANDED = Scenario.of(
    size=[4_400, 70_000, 20_000, 5_600],
    labeled=[200, 300, 350, 400],
    is_flagged=[True, False, False, False],
    rates=[0.79, 0.0005, 0.02, 0.2],
)
LIMITS = [Limit("recall", 0.64, "at_least")]


def test_recall_falls_as_far_as_asked_and_only_the_lowest_band_changes():
    after = BANDED.dropped("recall", 0.10, "in_lowest_band")

    before = BANDED.value("recall")
    assert after.value("recall") == pytest.approx((before or 0) - 0.10, abs=1e-12)
    assert after.rates[[0, 2, 3]].tolist() == BANDED.rates[[0, 2, 3]].tolist()
    missed = 4_400 * 0.79 * (1 / ((before or 0) - 0.10) - 1)  # FN at the new recall
    others = 20_000 * 0.02 + 5_600 * 0.2
    assert after.rates[1] == pytest.approx((missed - others) / 70_000, rel=1e-9)


def test_the_lowest_band_is_the_first_passed_one_that_holds_items():
    empty_first = Scenario.of(
        [50, 0, 500, 100], [9] * 1 + [0, 9, 9], [True] + [False] * 3, [0.5] * 4
    )

    assert BANDED.lowest_band == 1
    assert empty_first.lowest_band == 2
    assert Scenario.of([50, 500], [9, 9], [True, False], [0.5, 0.1]).lowest_band is None


def test_a_precision_falls_the_same_way_wherever_misses_appear():
    here, there = (
        BANDED.dropped("precision", 0.1, misses) for misses in ("in_proportion", "in_lowest_band")
    )

    assert here.rates.tolist() == there.rates.tolist()


def test_a_plan_foretells_drops_of_recall_by_misses_in_both_places_where_there_are_bands():
    known = PriorRates.of_rates(BANDED.rates)
    prospect = Prospect.of(BANDED.size, BANDED.is_flagged, known)

    limits = [*LIMITS, Limit("precision", 0.75, "at_least")]

    recall, precision = alert_power(prospect, BANDED.labeled, limits, paths=40)

    assert list(recall.smallest_drops) == ["in_proportion", "in_lowest_band"]
    assert recall.smallest_drop == recall.smallest_drops["in_proportion"]
    assert (recall.smallest_drops["in_lowest_band"] or 1) > (recall.smallest_drop or 1)
    assert list(precision.smallest_drops) == ["in_proportion"]


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
