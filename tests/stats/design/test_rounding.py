"""Whole numbers of labels: totals, ceilings and who gets the rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.design.rounding import at_most_total, level_total, proportional_above, rounded_up

UP = np.array([True, True, False, False])
plans = st.lists(st.floats(0, 50), min_size=4, max_size=4).map(np.array)


@given(plans)
def test_rounding_up_adds_less_than_one_and_stays_within_the_stratum(plan):
    labels = rounded_up(plan, np.full(4, 20.7))

    assert labels.dtype == np.int64
    assert np.all(labels <= 20)
    assert np.all((labels >= np.minimum(plan, 20) - 1e-8) & (labels < plan + 1))


@given(plans, st.integers(0, 3))
def test_what_is_left_of_the_total_goes_to_the_largest_remainders(plan, more):
    total = int(np.floor(plan).sum()) + more

    labels = at_most_total(plan, UP, total)

    given_one = labels - np.floor(plan + 1e-9)
    assert set(given_one) <= {0, 1}
    assert labels.sum() <= max(total, int(np.floor(plan + 1e-9).sum()))
    rest = np.round(plan - np.floor(plan + 1e-9), 9)
    assert rest[given_one == 1].min(initial=1) >= rest[given_one == 0].max(initial=0) or more == 0


def test_equal_remainders_serve_both_classes_and_the_larger_plan_first():
    labels = at_most_total(np.array([0.5, 1.5, 0.5, 2.5]), UP, 5)

    assert labels.tolist() == [0, 2, 0, 3]


def test_a_plan_a_hair_off_a_whole_number_is_that_number_and_nothing_is_added_to_one():
    assert at_most_total(np.array([2 - 1e-12, 3.0, 1.5, 4.0]), UP, 100).tolist() == [2, 3, 2, 4]
    assert rounded_up(np.array([2 + 1e-12]), np.array([9.0])).tolist() == [2]


def test_one_level_fills_small_strata_and_shares_the_rest():
    labels = level_total(np.array([9.0, 2.0, 9.0, 1.0]), UP, 11)

    assert labels.tolist() == [4, 2, 4, 1]


def test_above_the_floors_labels_follow_what_is_left_of_each_stratum():
    plan = proportional_above(np.array([1.0, 1.0]), np.array([4.0, 7.0]), 5.0)

    assert plan.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("room", [0.25, 0.0])
def test_the_smallest_room_is_still_shared(room):
    plan = proportional_above(np.array([1.0, 1.0]), np.array([1.0 + room, 1.0]), 2 + room / 2)

    assert plan == pytest.approx([1 + room / 2, 1.0])
