"""Point and equal-tailed interval of a quantity from draws of its posterior."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Floats


def credible_interval(
    values: Floats, level: float, *, point: float | None = None, edges: Sequence[Floats] = ()
) -> Interval:
    """Equal-tailed interval of draws, NaN where there is no value, around a point found elsewhere.

    The point is moved into the interval if it lies outside; if not given or NaN, it is the mean of
    the draws. ``edges`` are further draws of the same quantity: the interval reaches to each of
    their intervals, but for those of NaN only.
    """
    ends = [_ends(each, level) for each in (values, *edges) if not np.isnan(each).all()]
    lows, highs = zip(*ends, strict=True)
    low, high = min(lows), max(highs)
    if point is None or math.isnan(point):
        point = float(values[~np.isnan(values)].mean())
    return Interval(min(max(float(point), low), high), low, high)


def _ends(values: Floats, level: float) -> tuple[float, float]:
    """Quantiles by the inverse of the draws' distribution function, as ``np.quantile`` has them."""
    tail = (1 - level) / 2
    unknown = np.isnan(values)
    finite = values[~unknown] if unknown.any() else values.copy()
    low, high = (max(0, math.ceil(len(finite) * share - 1)) for share in (tail, 1 - tail))
    finite.partition((low, high))
    return float(finite[low]), float(finite[high])
