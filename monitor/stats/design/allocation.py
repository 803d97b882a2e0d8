"""How many labels a round needs, and in which strata: for margins, for a budget or for both.

The optimum comes from ``neyman``; here it is made whole, fitted to a budget and kept from
trusting too much where little is known.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.core.levels import check_probability
from monitor.stats.design.assurance import FutureWidths, drawn_rates, mean_widths, shares_within
from monitor.stats.design.blended import BLENDS, BlendedDesign, spread_by_class, without_bands
from monitor.stats.design.neyman import (
    AllocationProblem,
    expected_coefficients,
    optimum,
)
from monitor.stats.design.notes import BudgetShort, FloorsLowered, OutOfReach, Remark
from monitor.stats.design.rounding import level_total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.design.notes import PlanNote
    from monitor.stats.design.prior import PriorRates
    from monitor.stats.design.prospect import Prospect


DEFAULT_MARGIN = 0.05  # for both metrics: with a budget alone only their ratio matters


TIGHTEST, LOOSEST = 1e-8, 1e6
"""Factors on the margins between census and floors."""

_MEETS = 1 + 1e-9  # a margin counts as met up to rounding
_STEPS, _CLOSE = 20, 5e-3  # of the search for the margins to aim at
_AIMS = (1e-3, 2.0)  # factors on a margin
_TIGHTER = (0.99, 0.98, 0.96, 0.92, 0.84, 0.68, 0.36)  # factors on its aims where it finds nothing
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """How many items of each stratum to label, and the resulting precision.

    ``labels`` are in the order of the sizes, shape ``(H,)``. ``margins`` are the expected
    half-widths of each metric's interval, 1 at most (no information); empty without any rates.
    ``asked`` are the requested margins, ``needed`` the labels that they need regardless
    of the budget, if known. ``cost`` is of all labels, in the unit in which costs were given, one
    label being 1 otherwise. ``assured`` is the probability, under the prior of the round, that the
    half-width of each asked metric comes out within its margin. ``later`` are the half-widths that
    later rounds expect of the same labels, where scores are all that is known.
    """

    labels: Ints
    margins: Mapping[str, float]
    asked: Mapping[str, float]
    needed: int | None
    notes: tuple[PlanNote, ...]
    cost: float
    assured: Mapping[str, float]
    later: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All labels of the round."""
        return int(self.labels.sum())


def allocate(
    prospect: Prospect,
    *,
    margins: Mapping[str, float] | None = None,
    max_labels: int | None = None,
    level: float = 0.95,
    assurance: float | None = None,
) -> Allocation:
    """Allocate labels to strata: for margins, for a budget, or for margins within a budget.

    Parameters
    ----------
    margins
        Half-width wanted for ``precision``, ``recall`` or both, in (0, 1). The cheapest labels
        that keep all of them are found. With only a budget: equal margins.
    max_labels
        Budget, in labels of any cost, without free strata. If the margins need more, all
        of them grow by one factor until it suffices.
    assurance
        Probability, in (0, 1), with which each half-width is to come out within its margin
        (``assurance``). None plans for the expected half-width, which misses about as often as not.

    A ValueError if neither margins nor a budget is given, nothing is known and there is no budget,
    or a value is out of range.

    Examples
    --------
    >>> from monitor.stats.design.prior import PriorRates
    >>> from monitor.stats.design.prospect import Prospect
    >>> known = PriorRates.of_reference(tp=243, fp=64, fn=79, tn=4331, is_flagged=[True, False])
    >>> window = Prospect.of([46_000, 1_000_000], [True, False], known)
    >>> plan = allocate(window, margins={"precision": 0.05, "recall": 0.05}, max_labels=2000)
    >>> plan.labels, plan.needed, round(plan.margins["recall"], 3)
    (array([ 130, 1870]), 4690, 0.077)
    """
    requested = dict(margins or {})
    _check(requested, max_labels, assurance)
    prior_rates = prospect.prior_rates
    budget = max_labels
    if max_labels is not None:
        max_labels += prospect.free_labels
    problem, notes = AllocationProblem.of(prospect, level)
    if prior_rates.source == "nothing":
        labels, more = _even_split(problem, max_labels)
        cost = float(problem.cost @ labels)
        return Allocation(labels, {}, requested, None, notes + more, cost, {})
    if prior_rates.source in BLENDS:
        believed = replace(prospect, prior_rates=replace(prior_rates, source="rates"))
        later = allocate(
            believed, margins=margins, max_labels=budget, level=level, assurance=assurance
        )
        return _pilot(problem, prospect, later, assurance)
    plannable = {name: requested[name] for name in requested if name in problem.coefficients}
    over_cells = problem.uniform is not None
    future = FutureWidths.of(problem, prior_rates) if plannable or over_cells else None
    least = _least(problem, plannable, future, assurance)
    needed = int(least.labels.sum()) if requested else None
    if max_labels is None or (needed is not None and needed <= max_labels):
        narrowest = _expected(problem, future, problem.most)
        labels, more = least.labels, _out_of_reach(narrowest, plannable)
    else:
        aims = least.aims or dict.fromkeys(problem.coefficients, DEFAULT_MARGIN)
        design = BlendedDesign(_under_doubt(problem, prior_rates))
        labels, more = _within_budget(design, aims, max_labels)
    plan = Allocation(labels, {}, requested, needed, notes + more, float(problem.cost @ labels), {})
    return _foreseen(plan, problem, future, assurance)


def _pilot(
    problem: AllocationProblem, prospect: Prospect, later: Allocation, assurance: float | None
) -> Allocation:
    """Plan a first round, by rates that no label of it has tested, as large as later ones.

    ``later`` takes these rates for right; the pilot trusts them in part.
    """
    requested = {name: later.asked[name] for name in later.asked if name in problem.coefficients}
    aims = requested or dict.fromkeys(problem.coefficients, DEFAULT_MARGIN)
    blend = BLENDS[prospect.prior_rates.source]
    by_band = _under_doubt(problem, prospect.prior_rates)
    design = BlendedDesign(by_band, without_bands(problem, prospect), blend)
    labels, _ = _within_budget(design, aims, later.total)
    notes = tuple(note for note in later.notes if not isinstance(note, BudgetShort))
    cost = float(problem.cost @ labels)
    plan = Allocation(labels, {}, later.asked, later.needed, notes, cost, {}, later.margins)
    future = FutureWidths.of(problem, prospect.prior_rates)
    by_scores = prospect.prior_rates.source == "scores"
    return _foreseen(plan, problem, future, assurance, by_scores=by_scores)


def _foreseen(
    plan: Allocation,
    problem: AllocationProblem,
    future: FutureWidths | None,
    assurance: float | None,
    *,
    by_scores: bool = False,
) -> Allocation:
    """Add what the labels of a plan buy, and the margins that they keep less often than asked."""
    requested = {name: plan.asked[name] for name in plan.asked if name in problem.coefficients}
    drawn = {} if future is None else future.half_widths(plan.labels)
    widths = _expected(problem, future, plan.labels)
    assured = shares_within(drawn, requested)
    short: list[PlanNote] = []
    if assurance is not None and plan.needed is not None and plan.needed > plan.total:
        of_round = (assurance, plan.needed, by_scores)
        short = [
            BudgetShort(name, margin, widths[name], assured[name], *of_round)
            for name, margin in requested.items()
            if assured[name] < assurance
        ]
    return replace(plan, margins=widths, assured=assured, notes=(*plan.notes, *short))


def _expected(
    problem: AllocationProblem, future: FutureWidths | None, labels: Ints | Floats
) -> dict[str, float]:
    """Return the expected half-widths of a plan; with cells, half-widths of the draws.

    The variance at the expected rates is too small where many cells have few labels each.
    """
    if future is None or problem.uniform is None:
        return problem.half_widths(labels)
    return mean_widths(future.half_widths(labels))


def assured_by(
    prospect: Prospect, labels: Ints, margins: Mapping[str, float], level: float = 0.95
) -> dict[str, float]:
    """Return the probability with which given labels keep each margin that can be planned for."""
    problem, _ = AllocationProblem.of(prospect, level)
    plannable = {name: margins[name] for name in margins if name in problem.coefficients}
    future = FutureWidths.of(problem, prospect.prior_rates)
    return shares_within(future.half_widths(labels), plannable)


def _under_doubt(problem: AllocationProblem, prior_rates: PriorRates) -> AllocationProblem:
    """Take expected coefficients where rates vary together; margins have their assurance."""
    if prior_rates.joint is None:
        return problem
    coefficients = expected_coefficients(
        problem.size, problem.is_flagged, drawn_rates(prior_rates), problem.coefficients
    )
    return replace(problem, coefficients=coefficients)


def _within_budget(
    design: BlendedDesign, margins: Mapping[str, float], budget: int
) -> tuple[Ints, tuple[PlanNote, ...]]:
    """Whole numbers of labels that spend the budget on margins grown by one factor."""
    problem = design.problem
    if budget >= problem.most.sum():
        return problem.most.astype(np.int64), (Remark.WHOLE_WINDOW,)
    if budget <= problem.low.sum():
        floors = int(problem.low.sum())
        notes = (FloorsLowered(budget, floors),) if budget < floors else ()
        return _lowered(problem, budget), notes

    @functools.cache
    def plan(log_factor: float) -> Floats:
        return design.plan(margins, math.exp(log_factor))

    # Labels fall nearly as a power of the factor, so the search is short on log scales.
    def surplus(log_factor: float) -> float:
        return math.log(float(plan(log_factor).sum()) / budget)

    tightest, loosest = math.log(TIGHTEST), math.log(LOOSEST)
    least = plan(loosest)
    if budget <= least.sum():  # room for the floors, but not for the whole share by size
        part = (budget - problem.low.sum()) / (least.sum() - problem.low.sum())
        labels = problem.low + part * (least - problem.low)
        return problem.whole_of(labels, budget), ()
    if not margins or surplus(tightest) <= 0:
        return problem.whole(plan(tightest)), (Remark.NO_NARROWER,)
    fitted = plan(optimize.brentq(surplus, tightest, loosest, xtol=1e-13))
    return problem.whole_of(fitted, budget), ()


def _lowered(problem: AllocationProblem, budget: int) -> Ints:
    """Share out a budget below the floors: evenly over bands, over cells each with its chance."""
    if problem.uniform is None:
        return level_total(problem.low, problem.is_flagged, budget)
    return problem.whole_of(problem.low, budget)


def _even_split(
    problem: AllocationProblem, budget: int | None
) -> tuple[Ints, tuple[PlanNote, ...]]:
    """Half of the budget for each predicted class, in proportion to size within it."""
    if budget is None:
        message = (
            "nothing is known of the rates, so margins cannot be turned into labels; give "
            "max_labels, a reference matrix or scores"
        )
        raise ValueError(message)
    notes = (Remark.NO_PRIOR,)
    if not problem.low.sum() < budget < problem.most.sum():
        labels, more = _within_budget(BlendedDesign(problem), {}, budget)
        return labels, notes + more
    spread = spread_by_class(problem, budget / 2, float(budget))
    return problem.whole_of(spread, budget), notes


def _check(margins: Mapping[str, float], max_labels: int | None, assurance: float | None) -> None:
    if not margins and max_labels is None:
        message = "give margins, max_labels or both"
        raise ValueError(message)
    if max_labels is not None and max_labels < 0:
        message = f"max_labels must be 0 or more, got {max_labels}"
        raise ValueError(message)
    for name, margin in margins.items():
        if name not in ("precision", "recall") or not 0 < margin < 1:
            message = f"a margin is precision or recall, between 0 and 1; got {name}={margin!r}"
            raise ValueError(message)
    if assurance is not None:
        check_probability(assurance, "assurance")


@dataclass(frozen=True, slots=True, eq=False)
class _WithinMargins:
    """The labels found, and the margins of the expected half-widths that led to them."""

    labels: Ints
    aims: Mapping[str, float]


def _least(
    problem: AllocationProblem,
    margins: Mapping[str, float],
    future: FutureWidths | None,
    assurance: float | None,
) -> _WithinMargins:
    """Fewest labels that keep the margins with an assurance, or without one as expected."""
    if future is None or (assurance is None and problem.uniform is None):
        return _WithinMargins(problem.whole(optimum(problem, margins)), margins)

    def widths(labels: Ints) -> Mapping[str, float]:
        if assurance is None:
            return _expected(problem, future, labels)
        drawn = future.half_widths(labels)
        return {name: float(np.quantile(half, assurance)) for name, half in drawn.items()}

    return _least_by_draws(problem, margins, widths)


def _least_by_draws(
    problem: AllocationProblem,
    margins: Mapping[str, float],
    widths: Callable[[Ints], Mapping[str, float]],
) -> _WithinMargins:
    """Whole numbers of labels whose drawn widths keep all margins, if a census can.

    ``widths`` are a plan's: the means of the draws, or the quantiles of an assurance. The plan aims
    at narrower margins, each by its own factor: a half-width is about in proportion to what is
    aimed at, so a few steps find it. A step that turns back is halved, since widths of few labels
    drop in jumps. A factor above 1 belongs to a margin that the labels for the other one keep
    anyway.
    """
    targets = np.array(list(margins.values()))
    factors, damping, last = np.ones_like(targets), np.ones_like(targets), np.zeros_like(targets)
    least = None
    for _ in range(_STEPS):
        aims = dict(zip(margins, (factors * targets).tolist(), strict=True))
        labels = problem.whole(optimum(problem, aims))
        reached = widths(labels)
        excess = np.array([reached[name] for name in margins]) / targets
        if np.all(excess <= 1) and (least is None or labels.sum() < least.labels.sum()):
            least = _WithinMargins(labels, aims)
        # Aimed at a hair inside, so that the margin is kept wherever the steps end.
        step = np.log(1 - _CLOSE) - np.log(np.maximum(excess, _TINY))
        damping = np.where(step * last < 0, damping / 2, np.minimum(1.2 * damping, 1.0))
        last, before = step, factors
        factors = np.clip(factors * np.exp(damping * step), *_AIMS)
        if np.all(np.abs(np.log(factors / before)) < _CLOSE * damping):
            break
    return least or _tightened(problem, margins, widths, _WithinMargins(labels, aims))


def _tightened(
    problem: AllocationProblem,
    margins: Mapping[str, float],
    widths: Callable[[Ints], Mapping[str, float]],
    fallback: _WithinMargins,
) -> _WithinMargins:
    """Narrow all aims at once until the margins are kept, by all items at last, if those do."""

    def keeps(labels: Ints) -> bool:
        reached = widths(labels)
        return all(reached[name] <= margin for name, margin in margins.items())

    every = problem.most.astype(np.int64)
    if not keeps(every):
        return fallback
    for factor in _TIGHTER:
        aims = {name: factor * margin for name, margin in fallback.aims.items()}
        labels = problem.whole(optimum(problem, aims))
        if keeps(labels):
            return _WithinMargins(labels, fallback.aims)
    return _WithinMargins(every, fallback.aims)


def _out_of_reach(
    narrowest: Mapping[str, float], margins: Mapping[str, float]
) -> tuple[PlanNote, ...]:
    """Name the margins that not even labels of every item keep."""
    return tuple(
        OutOfReach(name, width, margins[name])
        for name, width in narrowest.items()
        if name in margins and width > margins[name] * _MEETS
    )
