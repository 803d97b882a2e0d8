"""The labels that keep margins: as expected, or with a probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.design.notes import OutOfReach

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.stats.core.arrays import Ints
    from monitor.stats.design.assurance import FutureWidths
    from monitor.stats.design.blending import BlendedDesign
    from monitor.stats.design.neyman import AllocationProblem
    from monitor.stats.design.notes import PlanNote


TIGHTEST, LOOSEST = 1e-8, 1e6
"""Factors on the margins between census and floors."""

_MEETS = 1 + 1e-9  # a margin counts as met up to rounding
_STEPS, _CLOSE = 8, 5e-3  # of the search for the margins to aim at
_AIMS = (1e-3, 2.0)  # factors on a margin


@dataclass(frozen=True, slots=True, eq=False)
class WithinMargins:
    """The labels found, and the margins of the expected half-widths that led to them."""

    labels: Ints
    aims: Mapping[str, float]


def within_margins(design: BlendedDesign, margins: Mapping[str, float]) -> WithinMargins:
    """Whole numbers of labels whose expected half-widths keep all margins, if a census can."""
    problem = design.problem

    def excess(log_factor: float) -> float:
        labels = design.plan(margins, math.exp(log_factor))
        worst = (problem.half_width(name, labels) / margins[name] for name in margins)
        return max(worst, default=0.0) - _MEETS

    factor = 1.0
    if design.blend > 0 and margins:
        ends = math.log(TIGHTEST), math.log(LOOSEST)
        low, high = (excess(end) for end in ends)
        root = optimize.brentq(excess, *ends) if low < 0 < high else ends[int(high <= 0)]
        factor = math.exp(root) * (1 - 1e-9)  # the root may lie a rounding error outside
    return WithinMargins(problem.whole(design.plan(margins, factor)), margins)


def assured_margins(
    design: BlendedDesign, margins: Mapping[str, float], future: FutureWidths, assurance: float
) -> WithinMargins:
    """Whole numbers of labels that keep each margin with a probability, if a census can.

    The plan aims at narrower margins, each by its own factor: a half-width is about in
    proportion to what is aimed at, so a few steps find it. A factor above 1 belongs to a margin
    that the labels for the other one keep anyway.
    """
    factors = dict.fromkeys(margins, 1.0)
    for _ in range(_STEPS):
        aims = {name: factors[name] * margin for name, margin in margins.items()}
        plan = design.plan(aims, 1.0)
        reached = future.quantiles(plan, assurance)
        # Aimed at a hair inside, so that the margin is kept wherever the steps end.
        steps = {name: margins[name] * (1 - _CLOSE) / max(reached[name], 1e-12) for name in margins}
        after = {name: float(np.clip(factors[name] * steps[name], *_AIMS)) for name in margins}
        if all(abs(math.log(after[name] / factors[name])) < _CLOSE for name in margins):
            break
        factors = after
    return WithinMargins(design.problem.whole(plan), aims)


def out_of_reach(
    problem: AllocationProblem, margins: Mapping[str, float], labels: Ints
) -> tuple[PlanNote, ...]:
    """Name the margins that labels cannot buy, since the window has too few items."""
    return tuple(
        OutOfReach(name, width, margins[name])
        for name, width in problem.half_widths(labels).items()
        if name in margins and width > margins[name] * _MEETS
    )
