r"""Has the population moved? No labels needed: stratum sizes are counted in every window.

This window's sizes are compared with the pooled earlier windows of the history, whose strata are
the same. Three distances: the population stability index (PSI), the Kolmogorov-Smirnov distance
of the scores (KS, as far as the strata resolve it) and the move of the flagged rate. None of them
says that the classifier got worse, only that it meets other items than before.

Fixed bars such as "PSI above 0.1" fit no window: a small one passes them by chance, and a large
one doubles its flagged rate below them. Here a bar is the largest of three: what sampling alone
does, what the history's own windows did to each other, and a floor under which nobody would care.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


Kind = Literal["psi", "ks", "flagged_rate"]

LEVEL = 0.995
"""Chance that an ordinary window stays under one bar, by its own history: of weekly windows one
crosses it in four years."""

MEMORY = 26
"""Windows that are looked back at. A move that stays is reported for about a tenth of them, by when
it is part of what is usual."""

FEWEST = 3
"""Earlier windows needed: from fewer their wobble cannot be estimated."""

FLOORS: Mapping[Kind, float] = {"psi": 0.01, "ks": 0.02, "flagged_rate": 0.1}
"""Moves too small to report, however certain: 2 % of the items in another score band, or a
tenth more or less flagged."""


@dataclass(frozen=True, slots=True)
class WindowDistance:
    """How far a window lies from the earlier ones, and the bar that ordinary windows stay under.

    ``flagged_rate`` is the change of its log odds, signed.
    """

    kind: Kind
    value: float
    bar: float

    @property
    def is_unusual(self) -> bool:
        """Whether the window lies beyond the bar."""
        return abs(self.value) > self.bar


def window_distances(
    now: ArrayLike, earlier: ArrayLike, is_flagged: ArrayLike
) -> tuple[WindowDistance, ...]:
    r"""Compare a window's population with the earlier windows of its history.

    With p and q the shares of the strata now and before, and f the share of flagged items,

    .. math:: \mathrm{PSI} = \sum_h (p_h - q_h) \ln (p_h / q_h), \quad
        \mathrm{KS} = \max_h \Big| \sum_{g \le h} (p_g - q_g) \Big|, \quad
        \operatorname{logit} f_p - \operatorname{logit} f_q,

    half an item counting where a stratum or a class is empty on one side only. PSI is the symmetric
    Kullback-Leibler divergence; KS is at most the distance between the scores, which strata see
    at their edges only; for rare flags the last is close to the log of the ratio of the rates.

    With :math:`d_s^2` the squared distances (PSI is one already) of each of T earlier windows to
    the others, the wobble's bar is the root of

    .. math:: F_{1,T-1}^{-1}(.995)\ \frac{T^2-1}{T^2}\ \frac1T \sum_s d_s^2

    which is exact where windows wobble normally along one direction, such as more or fewer
    positives, and safe where they wobble along many. The sampling bar belongs to two
    multinomial samples: :math:`\chi^2_{H-1}`, Kolmogorov's and a normal quantile.

    Parameters
    ----------
    now
        Items in each stratum of this window, in order of score (passed, then flagged; a band
        of items without a score anywhere), shape ``(H,)``.
    earlier
        The same of the earlier windows, oldest first, shape ``(T, H)``; the last ``MEMORY``
        with any item are used. Nothing is returned where this window is empty, or fewer than
        ``FEWEST`` earlier ones are not.

    Examples
    --------
    >>> weeks = [[9000, 500, 300], [9100, 480, 310], [8900, 510, 300], [9050, 490, 290]]
    >>> for one in window_distances([8800, 520, 680], weeks, [False, False, True]):
    ...     print(one.kind, round(one.value, 3), round(one.bar, 3), one.is_unusual)
    psi 0.032 0.01 True
    ks 0.039 0.02 True
    flagged_rate 0.838 0.222 True
    """
    window, before, up = _checked(now, earlier, is_flagged)
    before = before[before.sum(axis=1) > 0][-MEMORY:]
    if window.sum() == 0 or len(before) < FEWEST:
        return ()
    pooled = before.sum(axis=0)
    among_earlier = [_distances(each, pooled - each, up) for each in before]
    distances_now: list[WindowDistance] = []
    for kind, value in _distances(window, pooled, up).items():
        bars = (
            FLOORS[kind],
            _sampling_bar(kind, window, pooled, up),
            _wobble_bar(kind, np.array([distances[kind] for distances in among_earlier])),
        )
        distances_now.append(WindowDistance(kind, value, max(bars)))
    return tuple(distances_now)


def _distances(now: Ints, usual: Ints, is_flagged: Bools) -> dict[Kind, float]:
    """PSI, KS and move of the flagged rate of two windows with items; see `window_distances`."""
    sizes = now.astype(np.float64), usual.astype(np.float64)
    p, q = (side / side.sum() for side in sizes)
    odds = [(side[is_flagged].sum() or 0.5) / (side[~is_flagged].sum() or 0.5) for side in sizes]
    held = (p > 0) | (q > 0)
    # Half an item in a stratum that is empty on one side only.
    full = [np.maximum(side, 0.5)[held] / side.sum() for side in sizes]
    return {
        "psi": float((full[0] - full[1]) @ np.log(full[0] / full[1])),
        "ks": float(np.abs(np.cumsum(p - q)).max()),
        "flagged_rate": math.log(odds[0] / odds[1]),
    }


def _wobble_bar(kind: Kind, among_earlier: Floats) -> float:
    """Bar from the earlier windows' distances to each other."""
    windows = len(among_earlier)
    squared = among_earlier if kind == "psi" else among_earlier**2
    mean = float(squared.mean()) * (windows**2 - 1) / windows**2
    bar = mean * float(special.fdtri(1, windows - 1, LEVEL))
    return bar if kind == "psi" else math.sqrt(bar)


def _sampling_bar(kind: Kind, now: Ints, usual: Ints, is_flagged: Bools) -> float:
    """Bar from what two samples of one population differ by."""
    per_item = 1 / float(now.sum()) + 1 / float(usual.sum())
    if kind == "psi":
        strata = int(((now > 0) | (usual > 0)).sum())
        return per_item * float(special.chdtri(strata - 1, 1 - LEVEL)) if strata > 1 else 0.0
    if kind == "ks":
        return math.sqrt(per_item) * float(special.kolmogi(1 - LEVEL))
    both = now + usual
    flagged, passed = (float(both[up].sum()) or 0.5 for up in (is_flagged, ~is_flagged))
    spread = per_item * float(both.sum()) ** 2 / (flagged * passed)
    return float(special.ndtri(0.5 + LEVEL / 2)) * math.sqrt(spread)


def _checked(now: ArrayLike, earlier: ArrayLike, is_flagged: ArrayLike) -> tuple[Ints, Ints, Bools]:
    window, up = np.asarray(now, dtype=np.int64), np.asarray(is_flagged, dtype=np.bool_)
    before = np.asarray(earlier, dtype=np.int64).reshape(-1, window.size)
    if window.ndim != 1 or up.shape != window.shape:
        message = (
            f"now {window.shape} and is_flagged {up.shape} must have the shape (H,), and earlier "
            "(T, H)"
        )
        raise ValueError(message)
    if np.any(window < 0) or np.any(before < 0):
        message = "sizes must be 0 or more"
        raise ValueError(message)
    return window, before, up
