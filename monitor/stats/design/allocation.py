"""How many labels a round needs, and in which strata: for margins, for a budget or for both.

The optimum is that of ``neyman``; here it is made whole, fitted to a budget and kept from
trusting too much where little is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import optimize, special

from monitor.stats.core.beta_mixture import round_priors
from monitor.stats.design.blending import Design, spread_by_class, without_bands
from monitor.stats.design.neyman import AllocationProblem, coefficients_of
from monitor.stats.design.notes import FloorsLowered, OutOfReach, Remark
from monitor.stats.design.rounding import at_most_total, level_total, rounded_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.design.notes import PlanNote
    from monitor.stats.design.prior import PriorRates

    Values = NDArray[np.float64]
    Labels = NDArray[np.int64]

FLOOR = 10
"""Labels each stratum gets at least (or all its items): without them a stratum that was found
pure once is never looked at again, and coverage breaks down."""

SCORE_BLEND = 0.9
"""Weight of the plan without bands while only scores are known. Scores that order each class
the wrong way round then cost at most 3 % more than no bands, without the blend 2.3 times as
much (benchmarks/label_cost.py)."""

PRIOR_PART = 0.3
"""Part of the prior's variance that the interval's width shows. The whole of it would be right
for a variance; but a stratum with few positives has a long tail, which the 95 % interval leaves
out. With 0.3 a plan for the default bands predicts its labels to a few percent."""

DEFAULT_MARGIN = 0.05  # for both metrics: with a budget alone only their ratio matters

_MEETS = 1 + 1e-9  # a margin counts as met up to rounding
_TIGHTEST, _LOOSEST = 1e-8, 1e6  # factors on the margins between census and floors


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
        Labels that the asked margins need, whatever the budget; ``None`` if unknown.
    notes
        What could not be done as asked (``monitor.stats.design.notes``).
    cost
        Of all labels together, in the unit in which costs were given; one label is 1 otherwise.
    """

    labels: Labels
    margins: Mapping[str, float]
    asked: Mapping[str, float]
    needed: int | None
    notes: tuple[PlanNote, ...]
    cost: float

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
) -> Allocation:
    """Allocate labels to strata: for margins, for a budget, or for margins within a budget.

    Parameters
    ----------
    sizes
        Items in each stratum of the window, shape ``(H,)``.
    is_flagged
        Which strata are predicted positive, shape ``(H,)``.
    prior_rates
        What is known of the rates.
    margins
        Half-width wanted for ``precision``, ``recall`` or both, in (0, 1). The cheapest labels
        that keep all of them are found. With only a budget: equal margins.
    max_labels
        Budget, in labels whatever they cost. If the margins need more, all of them grow by one
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
    asked = dict(margins or {})
    _check_asked(asked, max_labels)
    _check_settings(level, blend, floor)
    price = _prices(cost, size)
    coefficients, notes = coefficients_of(size, up, prior_rates)
    problem = AllocationProblem(
        size=size.astype(np.float64),
        is_flagged=up,
        low=np.minimum(floor, size).astype(np.float64),
        coefficients=coefficients,
        doubt=_doubt(size, up, prior_rates),
        cost=price,
        z=float(special.ndtri(0.5 + level / 2)),
        in_window=estimand == "window",
    )
    if prior_rates.source == "nothing":
        labels, more = _even_split(problem, max_labels)
        return Allocation(labels, {}, asked, None, notes + more, float(price @ labels))
    design = _design(problem, prior_rates, blend)
    wanted = {name: asked[name] for name in asked if name in coefficients}
    needed = int(_within_margins(design, wanted).sum()) if asked else None
    labels, more = _affordable(design, wanted, needed, max_labels)
    widths = problem.half_widths(labels)
    return Allocation(labels, widths, asked, needed, notes + more, float(price @ labels))


def random_sampling_labels(
    sizes: ArrayLike,
    is_flagged: ArrayLike,
    prior_rates: PriorRates,
    margins: Mapping[str, float],
    *,
    level: float = 0.95,
) -> int:
    r"""Labels that a plain random sample of the window would need for the same margins.

    Expected numbers, not a guarantee: :math:`n\,N_+/N` labels fall on predicted positives and
    :math:`n\,\eta` on actual ones, with variances :math:`P(1-P)` and :math:`R(1-R)` per label
    (section 2.1 of Shang et al., 2023) and the finite-population term of the window.

    Parameters
    ----------
    sizes, is_flagged, prior_rates, margins, level
        As for :func:`allocate`.

    Examples
    --------
    >>> from monitor.stats.design.prior import PriorRates
    >>> known = PriorRates.of_rates([0.79, 0.0178988])
    >>> random_sampling_labels([46e6, 1000e6], [True, False], known, {"recall": 0.05})
    6552
    """
    size = np.asarray(sizes, dtype=np.float64)
    up = np.asarray(is_flagged, dtype=np.bool_)
    rate, total = prior_rates.rate, float(size.sum())
    z = float(special.ndtri(0.5 + level / 2))
    true_positive, positive = float(size[up] @ rate[up]), float(size @ rate)
    shares = {
        "precision": (true_positive, float(size[up].sum())),
        "recall": (true_positive, positive),
    }
    needed = 0.0
    for name, margin in margins.items():
        found, among = shares[name]
        if among > 0:
            per_label = (found / among) * (1 - found / among) * total / among
            needed = max(needed, per_label / ((margin / z) ** 2 + per_label / total))
    return math.ceil(needed)


def _design(problem: AllocationProblem, prior_rates: PriorRates, blend: float | None) -> Design:
    """Blend in the plan without bands: as much as asked, or as the source of the rates wants."""
    if blend is None:
        blend = SCORE_BLEND if prior_rates.source == "scores" else 0.0
    return Design(problem, without_bands(problem, prior_rates) if blend > 0 else None, blend)


def _affordable(
    design: Design, wanted: Mapping[str, float], needed: int | None, budget: int | None
) -> tuple[Labels, tuple[PlanNote, ...]]:
    """Labels for the margins where the budget has room for them, else labels for the budget."""
    problem = design.problem
    if budget is None or (needed is not None and needed <= budget):
        labels = _within_margins(design, wanted)
        return labels, _out_of_reach(problem, wanted, labels)
    return _within_budget(design, wanted or _equal_margins(problem), budget)


def _within_margins(design: Design, margins: Mapping[str, float]) -> Labels:
    """Whole numbers of labels that keep all margins, as far as a census can."""
    problem = design.problem

    def excess(log_factor: float) -> float:
        labels = design.plan(margins, math.exp(log_factor))
        worst = (problem.half_width(name, labels) / margins[name] for name in margins)
        return max(worst, default=0.0) - _MEETS

    factor = 1.0
    if design.blend > 0 and margins:
        ends = math.log(_TIGHTEST), math.log(_LOOSEST)
        low, high = (excess(end) for end in ends)
        root = optimize.brentq(excess, *ends) if low < 0 < high else ends[int(high <= 0)]
        factor = math.exp(root) * (1 - 1e-9)  # the root may lie a rounding error outside
    return rounded_up(design.plan(margins, factor), problem.size)


def _out_of_reach(
    problem: AllocationProblem, margins: Mapping[str, float], labels: Labels
) -> tuple[PlanNote, ...]:
    """Name the margins that labels cannot buy, since the window has too few items."""
    return tuple(
        OutOfReach(name, width, margins[name])
        for name, width in problem.half_widths(labels).items()
        if name in margins and width > margins[name] * _MEETS
    )


def _within_budget(
    design: Design, margins: Mapping[str, float], budget: int
) -> tuple[Labels, tuple[PlanNote, ...]]:
    """Whole numbers of labels that spend the budget on margins grown by one factor."""
    problem = design.problem
    if budget >= problem.size.sum():
        return problem.size.astype(np.int64), (Remark.WHOLE_WINDOW,)
    if budget <= problem.low.sum():
        floors = int(problem.low.sum())
        notes = (FloorsLowered(budget, floors),) if budget < floors else ()
        return level_total(problem.low, problem.is_flagged, budget), notes

    def surplus(log_factor: float) -> float:
        return float(design.plan(margins, math.exp(log_factor)).sum()) - budget

    tightest, loosest = math.log(_TIGHTEST), math.log(_LOOSEST)
    if not margins or surplus(tightest) <= 0:
        return rounded_up(design.plan(margins, _TIGHTEST), problem.size), (Remark.NO_NARROWER,)
    factor = math.exp(optimize.brentq(surplus, tightest, loosest, xtol=1e-13))
    return at_most_total(design.plan(margins, factor), problem.is_flagged, budget), ()


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
    notes = (Remark.NOTHING_KNOWN,)
    if not problem.low.sum() < budget < problem.size.sum():
        labels, more = _within_budget(Design(problem), {}, budget)
        return labels, notes + more
    spread = spread_by_class(problem, budget / 2, float(budget))
    return at_most_total(spread, problem.is_flagged, budget), notes


def _doubt(
    size: NDArray[np.int64], is_flagged: NDArray[np.bool_], prior_rates: PriorRates
) -> Values:
    """Labels at which a stratum's prior weighs as much in its variance as its labels do."""
    prior = np.empty(len(size))
    for members in (is_flagged, ~is_flagged):
        prior[members] = round_priors(max(1, int((size[members] > 0).sum()))).mean()
    return np.asarray(PRIOR_PART * prior / prior_rates.label_variance)


def _prices(cost: ArrayLike, size: NDArray[np.int64]) -> Values:
    """Cost of a label of each stratum, shape ``(H,)``."""
    given = np.asarray(cost, dtype=np.float64)
    if given.shape not in {(), size.shape} or not np.all((given > 0) & np.isfinite(given)):
        message = f"cost must be one positive number, or one for each stratum; got {cost!r}"
        raise ValueError(message)
    return np.broadcast_to(given, size.shape)


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


def _check_asked(margins: Mapping[str, float], max_labels: int | None) -> None:
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


def _check_settings(level: float, blend: float | None, floor: int) -> None:
    if not 0 < level < 1:
        message = f"level must lie strictly between 0 and 1, got {level!r}"
        raise ValueError(message)
    if blend is not None and not 0 <= blend <= 1:
        message = f"blend must lie in [0, 1], got {blend!r}"
        raise ValueError(message)
    if floor < 1:
        message = f"floor must be 1 or more, got {floor!r}"
        raise ValueError(message)
