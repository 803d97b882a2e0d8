"""Precision bands from separate intervals, their widest place, and sizes of test sets."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from monitor.stats.core.counts import Interval
from monitor.stats.curves.precision_band import (
    around,
    exact_size,
    hoeffding_size,
    joint_level,
    precision_bounds,
    remaining_variation,
    widest,
    width_of_variations,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "prevalence.json").read_text())
variations = st.floats(0.001, 0.95)


@pytest.mark.parametrize("row", REFERENCE["precision_band"])
def test_the_widest_place_is_the_papers(row):
    """Brabec et al., section 5: Delta = .1 and about .31 near 1.45e-3."""
    tpr, fpr = around(row["tpr"], row["tpr_hw"]), around(row["fpr"], row["fpr_hw"])

    place = widest(tpr, fpr)

    assert place.width == pytest.approx(row["delta"], rel=1e-12)
    assert place.prevalence == pytest.approx(row["eta_at_delta"], rel=1e-12)
    assert place.width <= row["bound"] + 1e-12
    assert width_of_variations(
        row["tpr_hw"] / row["tpr"], row["fpr_hw"] / row["fpr"]
    ) == pytest.approx(row["delta"], rel=1e-12)


def test_nci_band():
    row = REFERENCE["nci_example"]

    point, low, high = precision_bounds(
        around(row["tpr"], row["tpr_hw"]), around(row["fpr"], row["fpr_hw"]), row["eta"]
    )

    assert float(point) == pytest.approx(row["precision"], abs=5e-4)
    assert float(low) == pytest.approx(row["low"], abs=5e-4)
    assert float(high) == pytest.approx(row["high"], abs=5e-4)


@given(st.floats(0.05, 0.9), variations, st.floats(1e-5, 0.4), variations)
def test_the_width_found_is_the_largest_by_search(tpr, cv_t, fpr, cv_f):
    rates = around(tpr, tpr * cv_t), around(fpr, fpr * cv_f)

    def minus_width(log_odds):
        _, low, high = precision_bounds(*rates, 1 / (1 + math.exp(-log_odds)))
        return -float(high - low)

    place = widest(*rates)
    optimum = optimize.minimize_scalar(
        minus_width, bounds=(-25, 25), method="bounded", options={"xatol": 1e-9}
    )

    at = math.log(place.prevalence / (1 - place.prevalence))
    assert place.width == pytest.approx(-minus_width(at), rel=1e-9)
    assert place.width >= -optimum.fun - 1e-9
    assert place.width <= max(cv_t, cv_f) + 1e-12  # theorem 5.1


@given(variations, variations)
def test_the_second_variation_is_that_of_appendix_b(first, second):
    width = width_of_variations(first, second)

    k = ((1 - width) / (1 + width)) ** 2
    by_the_paper = ((first + 1) * (1 + k) - 2) / ((first + 1) * (1 - k) - 2)
    assert by_the_paper == pytest.approx(second, rel=1e-5, abs=1e-9)
    assert remaining_variation(first, width) == pytest.approx(second, rel=1e-9)
    assert width == pytest.approx(width_of_variations(second, first))
    assert width_of_variations(first, first) == pytest.approx(first)


def test_the_joint_level_of_two_intervals():
    joint = joint_level(0.95)

    assert joint.independent == pytest.approx(0.9025)
    assert joint.at_least == pytest.approx(0.90)
    assert joint_level(0.4).at_least == 0
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 1"):
        joint_level(1)


# Sizes of test sets


def test_hoeffdings_size_is_the_formula():
    assert hoeffding_size(0.6, 0.1) == math.ceil(math.log(40) / (2 * 0.06**2)) == 513
    assert hoeffding_size(0.6, 0.1, level=0.9) == math.ceil(math.log(20) / (2 * 0.06**2))


def by_looking_at_every_size(rate, variation, level, most):
    size = np.arange(1, most)
    low = np.ceil(size * rate * (1 - variation) - 1e-9)
    high = np.floor(size * rate * (1 + variation) + 1e-9)
    inside = stats.binom.cdf(high, size, rate) - stats.binom.cdf(low - 1, size, rate)
    return int(size[inside < level].max()) + 1


@pytest.mark.parametrize(("rate", "variation"), [(0.6, 0.1), (0.9, 0.2), (0.3, 0.3), (0.05, 0.5)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_exact_size_is_that_of_a_search_through_all_sizes(rate, variation, level):
    size = exact_size(rate, variation, level)

    assert size == by_looking_at_every_size(rate, variation, level, most=6000)
    assert size <= hoeffding_size(rate, variation, level)


def test_a_rare_rate_needs_far_fewer_than_hoeffding_asks_for():
    assert exact_size(1e-3, 0.1) == 389_091
    assert hoeffding_size(1e-3, 0.1) == 184_443_973
    assert exact_size(1e-3, 0.1) == pytest.approx((1.96 / 0.1) ** 2 * 999, rel=0.02)


def test_a_rate_close_to_one_may_need_a_single_item():
    assert exact_size(0.99, 0.5) == 1
    assert exact_size(0.99, 0.6, level=0.995) == 2  # 1 is right with probability .99
    assert exact_size(0.99, 0.05) == 17  # 15 of 16 would be too few


HALF, TENTH = Interval(0.5, 0.4, 0.6), Interval(0.1, 0.05, 0.2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: around(0.6, 0), "wanted 0 < half-width < rate, got half-width 0 and rate 0.6"),
        (lambda: around(0.6, 0.6), "wanted 0 < half-width < rate, got half-width 0.6 and rate 0.6"),
        (lambda: widest(Interval(0.5, 0.0, 0.6), TENTH), "TPR must have 0 < low <= high, got"),
        (lambda: widest(HALF, Interval(0.1, 0.0, 0.2)), "FPR must have 0 < low <= high, got"),
        (lambda: widest(Interval(0.5, 0.6, 0.4), TENTH), "TPR must have 0 < low <= high, got"),
        (
            lambda: remaining_variation(0.2, width=0.1),
            "a CV of 0.2 leaves nothing .* it must be under 0.198",
        ),
        (lambda: width_of_variations(-0.1, 0.1), r"a CV or width lies in \[0, 1\), got -0.1"),
        (lambda: width_of_variations(1, 0.1), r"a CV or width lies in \[0, 1\), got 1"),
    ],
)
def test_what_makes_no_band_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("size", [hoeffding_size, exact_size])
@pytest.mark.parametrize(
    ("given_", "name"),
    [
        ((0, 0.1), "rate"),
        ((1, 0.1), "rate"),
        ((0.5, 0), "variation"),
        ((0.5, 1), "variation"),
        ((0.5, 0.1, 0), "level"),
    ],
)
def test_designs_outside_of_zero_one_are_refused(size, given_, name):
    with pytest.raises(ValueError, match=f"{name} must lie strictly between 0 and 1"):
        size(*given_)
