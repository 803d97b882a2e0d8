"""Labels in strata they were not drawn by: exact cases, bounds, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.design.restratify import EffectiveCounts, restratify

# --- independent numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("positive", "weight", "labeled", "rate"),
    [
        ([0] * 3, [1.0, 1.0, 4.0], 2, 0),  # alike answers: Kish, 6^2 / 18
        # p = 4/13; Kish 169/25 = 6.76; sum w^2 (y-p)^2 = 16 (9/13)^2 + 9 (4/13)^2 = 1440/169,
        # so p(1-p) 169 / (1440/169) = 36 * 169 / 1440 = 4.225
        ([1] + [0] * 9, [4.0] + [1.0] * 9, 4.225, 4 / 13),
        ([1] + [0] * 9, [1.0] * 2 + [4.0] * 8, 34**2 / (2 + 8 * 16), 1 / 34),  # Kish again
    ],
)
def test_items_are_worth_the_less_of_kishs_size_and_of_their_estimated_variance(
    positive, weight, labeled, rate
):
    counts = restratify([0] * len(positive), positive, weight, strata=1)

    assert (counts.labeled[0], counts.positive[0]) == pytest.approx((labeled, labeled * rate))


def test_rounds_count_by_their_labels_not_by_their_windows():
    # ten labels that stand for 100 each, and forty that stand for 5 each
    positive = [1] * 5 + [0] * 5 + [1] * 4 + [0] * 36
    weight = [100.0] * 10 + [5.0] * 40
    rounds = [0] * 10 + [3] * 40

    apart = restratify([0] * 50, positive, weight, strata=1, round_of=rounds)
    as_one = restratify([0] * 50, positive, weight, strata=1)

    assert (apart.labeled[0], apart.positive[0]) == pytest.approx((50, 9))
    assert as_one.labeled[0] < 15


def test_a_rounds_items_in_one_stratum_leave_its_items_in_another_alone():
    # round 0: weights 1 and 3 in stratum 0 (16/10 labels), 9 in stratum 1; round 1: one label each
    counts = restratify(
        [0, 0, 1, 0, 1],
        [0, 0, 1, 0, 1],
        [1.0, 3.0, 9.0, 2.0, 2.0],
        strata=2,
        round_of=[0, 0, 0, 1, 1],
    )

    assert counts.labeled == pytest.approx([1.6 + 1, 2])
    assert counts.positive == pytest.approx([0, 2])


def test_items_that_no_stratum_takes_are_left_out():
    counts = restratify([-1, 0, 2, 2], [1, 1, 1, 0], [1.0] * 4, strata=2)

    assert counts.labeled.tolist() == [1.0, 0.0]
    assert counts.positive.tolist() == [1.0, 0.0]
    assert restratify([], [], [], strata=2).labeled.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("positive", "labeled", "whole"),
    [
        (3.3, 10.9, (3, 10)),
        (3.6, 11.0, (4, 11)),
        (0.5, 1.0, (1, 1)),
        (0.4, 0.9, (0, 0)),
        (0.0, 0.0, (0, 0)),
        (2.0, 2.9999999999999996, (2, 3)),
    ],
)
def test_whole_counts_round_labels_down_and_positives_to_the_nearest(positive, labeled, whole):
    y, n = EffectiveCounts(np.array([positive]), np.array([labeled])).whole()

    assert (y.tolist(), n.tolist()) == ([whole[0]], [whole[1]])
    assert y.dtype == n.dtype == np.int64


# --- properties ----------------------------------------------------------------------------------


@st.composite
def samples(draw):
    size = draw(st.integers(1, 30))
    return (
        draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)),
        draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)),
        draw(st.lists(st.floats(0.5, 100), min_size=size, max_size=size)),
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(samples(), st.floats(0.1, 50))
def test_labels_are_never_worth_more_than_they_are_whatever_the_scale_of_weights(sample, scale):
    stratum, positive, weight = sample
    counts = restratify(stratum, positive, weight, strata=3)
    other = restratify(stratum, positive, [scale * w for w in weight], strata=3)
    y, n = counts.whole()

    assert np.all(counts.labeled <= np.bincount(stratum, minlength=3) + 1e-9)
    assert np.all((counts.positive >= 0) & (counts.positive <= counts.labeled + 1e-12))
    assert np.all((y >= 0) & (y <= n) & (n <= counts.labeled + 1e-6))
    assert other.labeled == pytest.approx(counts.labeled)
    assert other.positive == pytest.approx(counts.positive)


# --- refused inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strata": 0}, "there must be at least 1 stratum, got 0"),
        ({"positive": [1]}, r"stratum \(2,\), positive \(1,\) and weight \(2,\) must all have"),
        ({"weight": [1.0]}, r"stratum \(2,\), positive \(2,\) and weight \(1,\) must all have"),
        ({"stratum": [[0], [0]]}, r"stratum \(2, 1\), positive"),
        ({"positive": [1, 2]}, "a label is 0 or 1"),
        ({"round_of": [0]}, r"round_of \(1,\) must have the shape of stratum \(2,\)"),
        ({"weight": [1.0, 0.0]}, "every weight must be a positive finite number"),
        ({"weight": [1.0, float("inf")]}, "every weight must be a positive finite number"),
    ],
)
def test_impossible_items_are_refused(change, message):
    asked = {"stratum": [0, 0], "positive": [1, 0], "weight": [1.0, 1.0], "strata": 1} | change

    with pytest.raises(ValueError, match=f"^{message}"):
        restratify(**asked)
