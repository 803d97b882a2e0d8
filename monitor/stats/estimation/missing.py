"""Bounds on a metric when items that were drawn stayed without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import Counts, Interval
from monitor.stats.core.draws import POINTS, Estimand
from monitor.stats.estimation.posterior import estimates

if TYPE_CHECKING:
    from numpy.typing import NDArray


def missing_bounds(
    counts: Counts,
    missing: NDArray[np.int64],
    name: str,
    *,
    estimand: Estimand = "rate",
    level: float = 0.95,
    seed: int = 0,
    points: int = POINTS,
) -> Interval | None:
    """Bounds on a metric when drawn items stayed without an answer.

    Declined and unanswered items are not missing at random, so nothing is assumed about them:
    the missing items of each class are all set to negative, and all to positive. Of these
    corners, and of the estimate that leaves the missing items out, the lowest ``low`` and the
    highest ``high`` are returned. For every metric that is monotone in the rates of each class
    one of the corners is the worst case and one the best; precision gain, recall gain and
    Matthews' coefficient are not everywhere monotone, and there the corners are a guide.

    Parameters
    ----------
    counts
        The answered items.
    missing
        Items drawn but not answered in each stratum, shape ``(H,)``, flagged first.
    name
        The metric.
    estimand, level, seed, points
        As in ``estimates``.

    Returns
    -------
    Interval or None
        ``point`` is the estimate without the missing items; ``None`` if the metric has no
        estimate in one of the cases.

    Raises
    ------
    ValueError
        If ``missing`` has another shape, is negative, or exceeds the unlabeled items.

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
    _check_missing(counts, missing)
    plain = estimates(
        counts, metrics=(name,), estimands=(estimand,), level=level, seed=seed, points=points
    )
    corners = [
        estimates(
            _filled(counts, missing, flagged_value, passed_value),
            metrics=(name,),
            estimands=(estimand,),
            level=level,
            seed=seed,
            points=points,
        )[0]
        for flagged_value, passed_value in _corners(counts, missing)
    ]
    lows = [estimate.low for estimate in (*plain, *corners) if estimate.low is not None]
    highs = [estimate.high for estimate in (*plain, *corners) if estimate.high is not None]
    if plain[0].point is None or len(lows) < 1 + len(corners):
        return None
    return Interval(plain[0].point, min(lows), max(highs))


def point_range(
    counts: Counts, undecided: NDArray[np.int64], name: str, *, seed: int = 0, points: int = POINTS
) -> tuple[float, float] | None:
    """Lowest and highest estimate of a metric, whichever way undecided answers are counted.

    The undecided items of each class are all set to negative, and all to positive, as in
    `missing_bounds`, which widens an interval; this says how far the estimate itself may move.

    Parameters
    ----------
    counts
        The items with an answer.
    undecided
        Items of each stratum whose answer is open, shape ``(H,)``, flagged first.
    name
        The metric.
    seed, points
        As in ``estimates``.

    Returns
    -------
    tuple of float or None
        ``None`` if nothing is undecided, or the metric has no estimate in one of the cases.

    Raises
    ------
    ValueError
        If ``undecided`` has another shape, is negative, or exceeds the unlabeled items.

    Examples
    --------
    >>> counts = Counts.of_matrix(tp=30, fp=3, fn=5, tn=95, flagged_size=100, passed_size=900)
    >>> low, high = point_range(counts, np.array([10, 0]), "precision")
    >>> print(f"{low:.2f} to {high:.2f}")
    0.70 to 0.93
    """
    _check_missing(counts, undecided)
    found = [
        estimates(
            _filled(counts, undecided, flagged_value, passed_value),
            metrics=(name,),
            estimands=("rate",),
            seed=seed,
            points=points,
        )[0].point
        for flagged_value, passed_value in _corners(counts, undecided)
    ]
    known = [point for point in found if point is not None]
    return (min(known), max(known)) if known and len(known) == len(found) else None


def _corners(counts: Counts, missing: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Values for the missing flagged and passed items; a class without any needs only one."""
    flagged = (0, 1) if missing[counts.is_flagged].any() else (0,)
    passed = (0, 1) if missing[~counts.is_flagged].any() else (0,)
    return [(up, down) for up in flagged for down in passed] if missing.any() else []


def _filled(
    counts: Counts, missing: NDArray[np.int64], flagged_value: int, passed_value: int
) -> Counts:
    """Answer the missing items of each class by one value."""
    value = np.where(counts.is_flagged, flagged_value, passed_value).astype(np.int64)
    return Counts.of_arrays(
        size=counts.size,
        labeled=counts.labeled + missing,
        positive=counts.positive + value * missing,
        is_flagged=counts.is_flagged,
    )


def _check_missing(counts: Counts, missing: NDArray[np.int64]) -> None:
    room = counts.size - counts.labeled
    if missing.shape != room.shape or np.any(missing < 0) or np.any(missing > room):
        message = (
            f"missing must be {len(room)} counts between 0 and the unlabeled items "
            f"{room.tolist()}, got {missing.tolist()}"
        )
        raise ValueError(message)
