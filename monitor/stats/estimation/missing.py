"""Bounds on a metric when items that were drawn stayed without an answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import Counts, Interval, completed
from monitor.stats.core.draws import POINTS, Estimand
from monitor.stats.estimation.posterior import estimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Ints
    from monitor.stats.estimation.posterior import MetricEstimate


def missing_bounds(
    counts: Counts,
    missing: Ints,
    name: str,
    *,
    estimand: Estimand = "rate",
    level: float = 0.95,
    seed: int = 0,
    points: int = POINTS,
    cells: bool = False,
) -> Interval | None:
    """Bounds on a metric when drawn items stayed without an answer.

    Declined and unanswered items are not missing at random, so nothing is assumed about them:
    the missing items of each class are all set to negative, and all to positive. Of these
    corners, and of the estimate that leaves the missing items out, the lowest ``low`` and the
    highest ``high`` are returned; ``None`` if the metric has no estimate in one of them. For every
    metric that is monotone in the rates of each class one of the corners is the worst case and one
    the best; precision gain, recall gain and Matthews' coefficient are not everywhere monotone, and
    there the corners are a guide.

    Parameters
    ----------
    missing
        Items drawn but not answered in each stratum, shape ``(H,)``, flagged first.

    Raises
    ------
    ValueError
        If more items of a stratum are missing than have no label.

    Examples
    --------
    >>> counts = Counts.of_matrix(
    ...     tp=80, fp=20, fn=10, tn=290, flagged_size=1000, passed_size=9000
    ... )
    >>> print(missing_bounds(counts, np.array([0, 0]), "recall"))
    0.727 [0.601, 0.837]
    >>> print(missing_bounds(counts, np.array([5, 10]), "recall"))
    0.727 [0.464, 0.843]
    """
    estimated = partial(
        estimates,
        metrics=(name,),
        estimands=(estimand,),
        level=level,
        seed=seed,
        points=points,
        cells=cells,
    )
    corners = [estimated(corner) for corner in completions(counts, missing)]
    return worst_case(estimated(counts), corners)[0]


def worst_case(
    plain: Sequence[MetricEstimate], corners: Sequence[Sequence[MetricEstimate]]
) -> list[Interval | None]:
    """Worst-case bounds of several estimates: their intervals, widened to cover all corners.

    A metric that is monotone in the rates of each class lies, for any answers to the missing items,
    between two corners, and so do the ends of its interval. So the bounds hold the truth at least
    as often as the interval of the complete sample would, regardless of the missing answers
    (Horowitz & Manski 2000, doi:10.1080/01621459.2000.10473902, on the sampling error of bounds).

    One for each estimate of the answered items, given the same estimates of each of the
    ``completions``; None if it has no value in one of the cases.
    """
    bounds: list[Interval | None] = []
    for row, *others in zip(plain, *corners, strict=True):
        intervals = [each.interval for each in (row, *others)]
        estimated = [interval for interval in intervals if interval is not None]
        bounds.append(
            Interval(
                estimated[0].point,
                min(interval.low for interval in estimated),
                max(interval.high for interval in estimated),
            )
            if len(estimated) == len(intervals)
            else None
        )
    return bounds


def point_range(
    counts: Counts,
    undecided: Ints,
    name: str,
    *,
    seed: int = 0,
    points: int = POINTS,
    cells: bool = False,
) -> tuple[float, float] | None:
    """Lowest and highest estimate of a metric over all ways to count undecided answers.

    The undecided items of each class, ``(H,)``, are all set to negative, and all to positive, as in
    `missing_bounds`, which widens an interval; this says how far the estimate itself may move.
    ``None`` if nothing is undecided, or the metric has no estimate in one of the cases.

    Examples
    --------
    >>> counts = Counts.of_matrix(tp=30, fp=3, fn=5, tn=95, flagged_size=100, passed_size=900)
    >>> low, high = point_range(counts, np.array([10, 0]), "precision")
    >>> print(f"{low:.2f} to {high:.2f}")
    0.70 to 0.93
    """
    corner_points = [
        estimates(
            corner,
            metrics=(name,),
            estimands=("rate",),
            seed=seed,
            points=points,
            cells=cells,
        )[0].point
        for corner in completions(counts, undecided)
    ]
    estimated = [point for point in corner_points if point is not None]
    return (
        (min(estimated), max(estimated))
        if estimated and len(estimated) == len(corner_points)
        else None
    )


def completions(counts: Counts, missing: Ints) -> list[Counts]:
    """Answer the missing items of each class by one value, in every way; no way without any."""
    _check_missing(counts, missing)
    if not missing.any():
        return []
    flagged = (False, True) if missing[counts.is_flagged].any() else (False,)
    passed = (False, True) if missing[~counts.is_flagged].any() else (False,)
    return [
        completed(counts, missing, np.where(counts.is_flagged, up, down))
        for up in flagged
        for down in passed
    ]


def _check_missing(counts: Counts, missing: Ints) -> None:
    room = counts.size - counts.labeled
    if missing.shape != room.shape or np.any(missing < 0) or np.any(missing > room):
        message = (
            f"missing must be {len(room)} counts between 0 and the unlabeled items "
            f"{room.tolist()}, got {missing.tolist()}"
        )
        raise ValueError(message)
