"""Labels spread by class and size, and plans that are a mean of two."""

from __future__ import annotations

import numpy as np
from scipy import special

from monitor.stats.design.allocation import allocate
from monitor.stats.design.blending import LEAST_PASSED
from monitor.stats.design.prior import JointLogits, PriorRates

UP = np.array([True, True, False, False])


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
