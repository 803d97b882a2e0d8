"""Bounds on a metric when items that were drawn stayed without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import Counts, Interval, completed
from monitor.stats.estimation.posterior import MetricEstimate, estimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Ints


def worst_case(
    plain: Sequence[MetricEstimate], corners: Sequence[Sequence[MetricEstimate]]
) -> list[Interval | None]:
    """Worst-case bounds of several estimates: their intervals, widened to cover all corners.

    A metric that is monotone in the rates of each class lies, for any answers to the missing items,
    between two corners, and so do the ends of its interval. So the bounds hold the truth at least
    as often as the interval of the complete sample would, regardless of the missing answers
    (Horowitz & Manski 2000, doi:10.1080/01621459.2000.10473902, on the sampling error of bounds).
    Precision gain, recall gain and Matthews' coefficient are not everywhere monotone, and there the
    corners are a guide. The corners are estimates of the ``completions``; None if a metric has no
    value in one of the cases.
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
    counts: Counts, undecided: Ints, name: str, *, seed: int = 0, cells: bool = False
) -> tuple[float, float] | None:
    """Lowest and highest estimate of a metric over all ways to count undecided answers.

    The undecided items of each class, ``(H,)``, are all set to negative, and all to positive, as in
    `worst_case`, which widens an interval; this says how far the estimate itself may move.
    ``None`` if nothing is undecided, or the metric has no estimate in one of the cases.
    """
    corner_points = [
        estimates(corner, metrics=(name,), estimands=("rate",), seed=seed, cells=cells)[0].point
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
