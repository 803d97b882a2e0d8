"""How many labels a round needs, and in which strata: for margins, for a budget or for both.

The optimum comes from ``neyman``; here it is made whole, fitted to a budget and kept from
trusting too much where little is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import optimize, special

from monitor.stats.design.assurance import FutureWidths
from monitor.stats.design.blending import BlendedDesign, spread_by_class, without_bands
from monitor.stats.design.cell_sizes import CELL_FLOOR
from monitor.stats.design.double_sampling import share_variances
from monitor.stats.design.margin_search import (
    LOOSEST,
    TIGHTEST,
    assured_margins,
    out_of_reach,
    within_margins,
)
from monitor.stats.design.neyman import (
    AllocationProblem,
    coefficients_of,
    expected_coefficients,
    prior_counts,
)
from monitor.stats.design.notes import BudgetShort, FloorsLowered, Remark
from monitor.stats.design.rate_draws import drawn_rates
from monitor.stats.design.rounding import level_total
from monitor.stats.design.share_by_size import MOST_BY_SIZE, SHARE_BY_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.core.counts import FirstPhase
    from monitor.stats.design.notes import PlanNote
    from monitor.stats.design.prior import PriorRates

    Values = NDArray[np.float64]
    Labels = NDArray[np.int64]

FLOOR = 10
"""Labels each stratum gets at least (or all its items): without them a stratum that was found
pure once is never looked at again, and coverage breaks down."""

SCORE_BLEND = 0.9
"""Weight of the plan without bands while only scores are known. Scores that order each class
the wrong way round then cost at most 3 % more than no bands, without the blend 1.8 times as
much (benchmarks/label_cost.py)."""

PRIOR_PART = 0.3
"""Part of the prior's variance that the interval's width shows. The whole of it would be right
for a variance; but a stratum with few positives has a long tail, which the 95 % interval leaves
out. With 0.3 a plan for the default bands predicts its labels to a few percent."""

DEFAULT_MARGIN = 0.05  # for both metrics: with a budget alone only their ratio matters


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """How many items of each stratum to label, and what that buys.

    Parameters
    ----------
    labels
        Items to draw from each stratum, shape ``(H,)``, in the order of the sizes.
    margins
        Half-width expected of each metric's interval; empty if nothing is known of the rates.
        Capped at 1, where it says nothing.
    asked
        The margins wanted; empty if only a budget was given.
    needed
        Labels that the asked margins need, regardless of the budget; ``None`` if unknown.
    notes
        What could not be done as asked (``monitor.stats.design.notes``).
    cost
        Of all labels together, in the unit in which costs were given; one label is 1 otherwise.
    assured
        Probability, under the prior of the round, that the half-width of each asked
        metric comes out within its margin.
    """

    labels: Labels
    margins: Mapping[str, float]
    asked: Mapping[str, float]
    needed: int | None
    notes: tuple[PlanNote, ...]
    cost: float
    assured: Mapping[str, float]

    @property
    def total(self) -> int:
        """All labels of the round."""
        return int(self.labels.sum())


def allocate(
    sizes: ArrayLike,
    is_flagged: ArrayLike,
    prior_rates: PriorRates,
    *,
    margins: Mapping[str, float] | None = None,
    max_labels: int | None = None,
    level: float = 0.95,
    estimand: Literal["rate", "window"] = "window",
    blend: float | None = None,
    floor: int = FLOOR,
    cost: ArrayLike = 1.0,
    share_by_size: float = SHARE_BY_SIZE,
    assurance: float | None = None,
    uniform: float | None = None,
    first_phase: FirstPhase | None = None,
) -> Allocation:
    """Allocate labels to strata: for margins, for a budget, or for margins within a budget.

    Parameters
    ----------
    sizes
        Items in each stratum of the window, shape ``(H,)``.
    is_flagged
        Which strata are predicted positive, shape ``(H,)``.
    prior_rates
        Distribution of the rates.
    margins
        Half-width wanted for ``precision``, ``recall`` or both, in (0, 1). The cheapest labels
        that keep all of them are found. With only a budget: equal margins.
    max_labels
        Budget, in labels of any cost. If the margins need more, all of them grow by one
        factor until it suffices.
    level
        Level of the intervals, in (0, 1).
    estimand
        ``window`` counts labeled items as known, so that small strata become a census.
        ``rate`` does not.
    blend
        Weight, in [0, 1], of the plan in which each predicted class is one stratum, its labels
        spread over the bands in proportion to size. Default: ``SCORE_BLEND`` if scores are all
        that is known, else 0.
    floor
        Labels per stratum at least, 1 or more; strata with fewer items are taken whole.
    cost
        Of one label, the same for all or one for each stratum, shape ``(H,)``, in any unit.
    share_by_size
        Share of the passed labels, in [0, .5], that is spread over the passed strata in proportion
        to size (``share_by_size``). 0 leaves it all to the optimum.
    assurance
        Probability, in (0, 1), with which each half-width is to come out within its margin
        (``assurance``). None plans by the expected variance, which misses about as often as not.
    uniform
        u of the round, in [0, 1), where strata are score cells (``cell_sizes``), the cells of a
        class in order of score. Labels are then made whole by it, their widths belong to cells,
        and the floor is a cell's. None: strata are bands.
    first_phase
        What the sizes were estimated from; None where they were counted. Only its items can be
        labeled, and margins count the noise of its shares (``double_sampling``).

    Raises
    ------
    ValueError
        If neither margins nor a budget is given, nothing is known and there is no budget, a
        value is out of range, or shapes disagree.

    Examples
    --------
    >>> from monitor.stats.design.prior import PriorRates
    >>> known = PriorRates.of_reference(tp=243, fp=64, fn=79, tn=4331, is_flagged=[True, False])
    >>> plan = allocate(
    ...     [46_000, 1_000_000], [True, False], known,
    ...     margins={"precision": 0.05, "recall": 0.05}, max_labels=2000,
    ... )
    >>> plan.labels, plan.needed, round(plan.margins["recall"], 3)
    (array([ 130, 1870]), 4690, 0.077)
    """
    size = np.asarray(sizes, dtype=np.int64)
    up = np.asarray(is_flagged, dtype=np.bool_)
    _check_shapes(size, up, prior_rates)
    requested = dict(margins or {})
    _check_requested(requested, max_labels)
    _check_settings(level, blend, floor, share_by_size, assurance)
    _check_uniform(uniform)
    price = _prices(cost, size)
    coefficients, notes = coefficients_of(size, up, prior_rates)
    items = size.astype(np.float64)
    most = items if first_phase is None else first_phase.judged
    problem = AllocationProblem(
        size=items,
        is_flagged=up,
        low=np.minimum(floor if uniform is None else CELL_FLOOR, most).astype(np.float64),
        coefficients=coefficients,
        doubt=_doubt(size, up, prior_rates, uniform),
        cost=price,
        z=float(special.ndtri(0.5 + level / 2)),
        in_window=estimand == "window",
        share_by_size=share_by_size,
        uniform=uniform,
        first_phase=first_phase,
        of_shares={}
        if first_phase is None
        else share_variances(
            first_phase, items, up, prior_rates.rate, in_window=estimand == "window"
        ),
    )
    if prior_rates.source == "nothing":
        labels, more = _even_split(problem, max_labels)
        return Allocation(labels, {}, requested, None, notes + more, float(price @ labels), {})
    design = _design(problem, prior_rates, blend)
    plannable = {name: requested[name] for name in requested if name in coefficients}
    future = FutureWidths.of(problem, prior_rates) if plannable else None
    if future is None or assurance is None:
        least = within_margins(design, plannable)
    else:
        least = assured_margins(design, plannable, future, assurance)
    needed = int(least.labels.sum()) if requested else None
    if max_labels is None or (needed is not None and needed <= max_labels):
        labels, more = least.labels, out_of_reach(problem, plannable, least.labels)
    else:
        cautious = _under_doubt(design, prior_rates)
        labels, more = _within_budget(cautious, least.aims or _equal_margins(problem), max_labels)
    widths = problem.half_widths(labels)
    assured = {} if future is None else future.is_within(labels, plannable)
    if assurance is not None and needed is not None and needed > labels.sum():
        more += tuple(
            BudgetShort(
                name,
                margin,
                widths[name],
                assured[name],
                assurance,
                needed,
                by_scores=prior_rates.source == "scores",
            )
            for name, margin in plannable.items()
            if assured[name] < assurance
        )
    cost_of_all = float(price @ labels)
    return Allocation(labels, widths, requested, needed, notes + more, cost_of_all, assured)


def assured_by(
    sizes: ArrayLike,
    is_flagged: ArrayLike,
    prior_rates: PriorRates,
    labels: ArrayLike,
    *,
    margins: Mapping[str, float],
    level: float = 0.95,
    estimand: Literal["rate", "window"] = "window",
    uniform: float | None = None,
) -> dict[str, float]:
    """Return the probability with which given labels keep each margin that can be planned for.

    Parameters
    ----------
    labels
        Items labeled of each stratum, shape ``(H,)``.
    sizes, is_flagged, prior_rates, margins, level, estimand, uniform
        As for `allocate`.

    Examples
    --------
    >>> from monitor.stats.design.prior import PriorRates
    >>> known = PriorRates.of_reference(tp=243, fp=64, fn=79, tn=4331, is_flagged=[True, False])
    >>> sizes, is_flagged = [46_000, 1_000_000], [True, False]
    >>> assured_by(sizes, is_flagged, known, [200, 3000], margins={"recall": 0.06})
    {'recall': 0.421875}
    """
    size, up = np.asarray(sizes, dtype=np.int64), np.asarray(is_flagged, dtype=np.bool_)
    none = np.zeros(len(size))
    problem = AllocationProblem(
        size=size.astype(np.float64),
        is_flagged=up,
        low=none,
        coefficients=coefficients_of(size, up, prior_rates)[0],
        doubt=none,
        cost=none + 1,
        z=float(special.ndtri(0.5 + level / 2)),
        in_window=estimand == "window",
        uniform=uniform,
    )
    plannable = {name: margins[name] for name in margins if name in problem.coefficients}
    drawn = FutureWidths.of(problem, prior_rates)
    return drawn.is_within(np.asarray(labels, dtype=np.int64), plannable)


def _doubt(
    size: NDArray[np.int64],
    is_flagged: NDArray[np.bool_],
    prior_rates: PriorRates,
    uniform: float | None,
) -> Values:
    """Labels by which a stratum's own prior widens the interval; a cell has no prior."""
    if uniform is not None:
        return np.zeros(len(size))
    return np.asarray(PRIOR_PART * prior_counts(size, is_flagged) / prior_rates.label_variance)


def _design(
    problem: AllocationProblem, prior_rates: PriorRates, blend: float | None
) -> BlendedDesign:
    """Blend in the plan without bands: as much as asked, or as the source of the rates wants."""
    if blend is None:
        blend = SCORE_BLEND if prior_rates.source == "scores" else 0.0
    return BlendedDesign(problem, without_bands(problem, prior_rates) if blend > 0 else None, blend)


def _under_doubt(design: BlendedDesign, prior_rates: PriorRates) -> BlendedDesign:
    """Take expected coefficients where rates vary together; margins have their assurance."""
    if prior_rates.joint is None:
        return design
    problem = design.problem
    coefficients = expected_coefficients(
        problem.size, problem.is_flagged, drawn_rates(prior_rates), problem.coefficients
    )
    return replace(design, problem=replace(problem, coefficients=coefficients))


def _within_budget(
    design: BlendedDesign, margins: Mapping[str, float], budget: int
) -> tuple[Labels, tuple[PlanNote, ...]]:
    """Whole numbers of labels that spend the budget on margins grown by one factor."""
    problem = design.problem
    if budget >= problem.most.sum():
        return problem.most.astype(np.int64), (Remark.WHOLE_WINDOW,)
    if budget <= problem.low.sum():
        floors = int(problem.low.sum())
        notes = (FloorsLowered(budget, floors),) if budget < floors else ()
        return _lowered(problem, budget), notes

    def surplus(log_factor: float) -> float:
        return float(design.plan(margins, math.exp(log_factor)).sum()) - budget

    least = design.plan(margins, LOOSEST)
    if budget <= least.sum():  # room for the floors, but not for the whole share by size
        part = (budget - problem.low.sum()) / (least.sum() - problem.low.sum())
        labels = problem.low + part * (least - problem.low)
        return problem.whole_of(labels, budget), ()
    tightest, loosest = math.log(TIGHTEST), math.log(LOOSEST)
    if not margins or surplus(tightest) <= 0:
        return problem.whole(design.plan(margins, TIGHTEST)), (Remark.NO_NARROWER,)
    factor = math.exp(optimize.brentq(surplus, tightest, loosest, xtol=1e-13))
    return problem.whole_of(design.plan(margins, factor), budget), ()


def _lowered(problem: AllocationProblem, budget: int) -> Labels:
    """Share out a budget below the floors: evenly over bands, over cells each with its chance."""
    if problem.uniform is None:
        return level_total(problem.low, problem.is_flagged, budget)
    return problem.whole_of(problem.low, budget)


def _equal_margins(problem: AllocationProblem) -> dict[str, float]:
    return dict.fromkeys(problem.coefficients, DEFAULT_MARGIN)


def _even_split(
    problem: AllocationProblem, budget: int | None
) -> tuple[Labels, tuple[PlanNote, ...]]:
    """Half of the budget for each predicted class, in proportion to size within it."""
    if budget is None:
        message = (
            "nothing is known of the rates, so margins cannot be turned into labels; give "
            "max_labels, a reference matrix or scores"
        )
        raise ValueError(message)
    notes = (Remark.NO_PRIOR,)
    if not problem.low.sum() < budget < problem.size.sum():
        labels, more = _within_budget(BlendedDesign(problem), {}, budget)
        return labels, notes + more
    spread = spread_by_class(problem, budget / 2, float(budget))
    return problem.whole_of(spread, budget), notes


def _prices(cost: ArrayLike, size: NDArray[np.int64]) -> Values:
    """Cost of a label of each stratum, shape ``(H,)``."""
    price = np.asarray(cost, dtype=np.float64)
    if price.shape not in {(), size.shape} or not np.all((price > 0) & np.isfinite(price)):
        message = f"cost must be one positive number, or one for each stratum; got {cost!r}"
        raise ValueError(message)
    return np.broadcast_to(price, size.shape)


def _check_shapes(
    size: NDArray[np.int64], is_flagged: NDArray[np.bool_], prior_rates: PriorRates
) -> None:
    if size.ndim != 1 or not size.shape == is_flagged.shape == prior_rates.alpha.shape:
        message = (
            f"sizes {size.shape}, is_flagged {is_flagged.shape} and prior_rates "
            f"{prior_rates.alpha.shape} must all have the shape (H,)"
        )
        raise ValueError(message)
    if np.any(size < 0):
        message = f"sizes must be 0 or more, got {size.tolist()}"
        raise ValueError(message)


def _check_requested(margins: Mapping[str, float], max_labels: int | None) -> None:
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


def _check_settings(
    level: float, blend: float | None, floor: int, share_by_size: float, assurance: float | None
) -> None:
    if not 0 < level < 1:
        message = f"level must lie strictly between 0 and 1, got {level!r}"
        raise ValueError(message)
    if blend is not None and not 0 <= blend <= 1:
        message = f"blend must lie in [0, 1], got {blend!r}"
        raise ValueError(message)
    if floor < 1:
        message = f"floor must be 1 or more, got {floor!r}"
        raise ValueError(message)
    if not 0 <= share_by_size <= MOST_BY_SIZE:
        message = f"share_by_size must lie in [0, {MOST_BY_SIZE}], got {share_by_size!r}"
        raise ValueError(message)
    if assurance is not None and not 0 < assurance < 1:
        message = f"assurance must lie strictly between 0 and 1, got {assurance!r}"
        raise ValueError(message)


def _check_uniform(uniform: float | None) -> None:
    if uniform is not None and not 0 <= uniform < 1:
        message = f"uniform must lie in [0, 1), got {uniform!r}"
        raise ValueError(message)
