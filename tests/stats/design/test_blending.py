"""Labels spread by class and size, and plans that are a mean of two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from monitor.stats.design.allocation import allocate
from monitor.stats.design.blending import (
    LEAST_PASSED,
    BlendedDesign,
    spread_by_class,
    without_bands,
)
from monitor.stats.design.neyman import AllocationProblem, coefficients_of, optimum
from monitor.stats.design.prior import JointLogits, PriorRates

UP = np.array([True, True, False, False])
SIZES = np.array([100, 300, 5000, 1000])
KNOWN = PriorRates.of_rates([0.9, 0.6, 0.001, 0.1])
BOTH = {"precision": 0.05, "recall": 0.05}


def problem(sizes=SIZES, low=10.0):
    coefficients, _ = coefficients_of(sizes, UP, KNOWN)
    return AllocationProblem(
        size=sizes.astype(float),
        is_flagged=UP,
        low=np.minimum(low, sizes).astype(float),
        coefficients=coefficients,
        doubt=np.full(4, 0.3),
        cost=np.array([1.0, 1.0, 2.0, 4.0]),
        z=1.96,
        in_window=False,
    )


def test_labels_above_the_floors_go_by_the_items_left():
    labels = spread_by_class(problem(), flagged=60, total=400)

    assert labels[:2] == pytest.approx([10 + 40 * 90 / 380, 10 + 40 * 290 / 380])
    assert labels[2:] == pytest.approx([10 + 320 * 4990 / 5980, 10 + 320 * 990 / 5980])


@given(st.floats(0, 7000), st.floats(40, 6400))
def test_every_stratum_keeps_its_floor_and_size_whatever_is_wanted(flagged, total):
    ours = problem()

    labels = spread_by_class(ours, flagged, total)

    assert labels.sum() == pytest.approx(total)
    assert np.all(labels >= ours.low - 1e-9)
    assert np.all(labels <= ours.size + 1e-9)
    most = min(400, total - 20)
    assert labels[:2].sum() == pytest.approx(np.clip(flagged, max(20, total - 6000), most))


def test_without_bands_a_class_is_one_stratum_with_its_mean_rate_and_cost():
    pooled = without_bands(problem(), KNOWN)

    assert pooled.size.tolist() == [400, 6000]
    assert pooled.is_flagged.tolist() == [True, False]
    assert pooled.low.tolist() == [20, 20]
    assert pooled.cost == pytest.approx([1, (2 * 5000 + 4 * 1000) / 6000])
    assert pooled.doubt.tolist() == [0, 0]
    rates = np.array([0.675, 105 / 6000])
    expected, _ = coefficients_of(np.array([400, 6000]), UP[1:3], PriorRates.of_rates(rates))
    assert pooled.coefficients["recall"] == pytest.approx(expected["recall"], rel=1e-9)


@pytest.mark.parametrize("blend", [0.0, 0.25, 1.0])
def test_a_plan_is_the_mean_of_both_plans(blend):
    ours = problem()
    pooled = without_bands(ours, KNOWN)
    margins = {name: 2 * margin for name, margin in BOTH.items()}
    by_class = optimum(pooled, margins)

    plan = BlendedDesign(ours, pooled, blend).plan(BOTH, 2.0)

    spread = spread_by_class(ours, by_class[0], by_class.sum())
    assert plan == pytest.approx((1 - blend) * optimum(ours, margins) + blend * spread)


def test_scores_that_claim_a_low_recall_leave_the_passed_a_quarter_of_the_labels():
    claimed = PriorRates.of_scores(np.array([0.6, 0.7, 0.01, 0.5]), UP)
    sizes = np.array([100, 100, 5000, 4000])

    plan = allocate(sizes, UP, claimed, max_labels=500)

    assert plan.total == 500
    assert plan.labels[~UP].sum() >= LEAST_PASSED * 500 - 2


def test_a_budget_follows_what_the_passed_class_may_hold_and_not_its_mean():
    size, up = np.array([300, 300, 8000, 8000]), UP
    mean = special.logit(np.array([0.3, 0.3, 0.05, 0.05]))
    loadings = np.zeros((4, 1))
    plans = []
    for doubt in (0.01, 1.5):
        loadings[2:, 0] = doubt  # of the passed class's rate
        known = PriorRates(
            np.full(4, 3.0), np.full(4, 50.0), "cells", JointLogits(mean, loadings.copy())
        )
        plans.append(allocate(size, up, known, max_labels=400, uniform=0.5).labels)

    assert plans[1][~up].sum() > 1.1 * plans[0][~up].sum()
