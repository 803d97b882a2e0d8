r"""The rates within a limit that are hardest to tell from an alternative.

The reverse information projection on a half-space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.detection.half_space import HalfSpace, LimitCannotBeTested

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats, Ints


_STEPS = 60  # halvings alone leave no float between the ends of a bracket after 53
_CLOSE = 2e-16  # of the terms of the constraint


def project(space: HalfSpace, alternative: Floats, labeled: Ints) -> Floats:
    r"""Rates within the limit that the labels tell apart from the alternative least, ``(..., H)``.

    .. math:: x = \arg\min_{c\cdot x \ge d} \sum_h n_h\,\mathrm{KL}(\mathrm{alt}_h \| x_h)

    with multiplier :math:`\lambda` solved from :math:`c\cdot x = d`, and :math:`q = \lambda c_h`:

    .. math:: x_h = \frac{2 n_h \mathrm{alt}_h}{n_h - q + s}
        = \frac{q - n_h + s}{2q}, \quad s = \sqrt{(n_h - q)^2 + 4 q n_h \mathrm{alt}_h}.

    By one Newton search for all, with :math:`dx_h/dq = x_h^2(1-x_h)^2 /
    (n_h((x_h-\mathrm{alt}_h)^2 + \mathrm{alt}_h(1-\mathrm{alt}_h)))` and a bracket for each.

    A stratum without labels sits at its best value: 1 where c > 0, 0 where c < 0. In labeled strata
    x is the alternative itself, strictly between 0 and 1, where that keeps the limit. ``labeled``
    are the labels really given, ``(H,)``: the e-value has mean 1 only with these. Raises
    LimitCannotBeTested if no rates in :math:`[0,1]^H` lie strictly inside the half-space.
    """
    scale = float(np.abs(space.c).max())  # so that _CLOSE means the same for every limit
    c, d = space.c / scale, space.d / scale
    rows = alternative.reshape(-1, c.size)
    seen = labeled > 0
    moved = seen & (c != 0)
    x = np.where(seen | (c == 0), rows, np.where(c > 0, 1.0, 0.0))
    n = labeled[moved].astype(np.float64)
    x[:, moved] = _solved(rows[:, moved], n, c[moved], d - x[:, ~moved] @ c[~moved])
    return x.reshape(alternative.shape)


def tilted(alternative: Floats, n: Floats, q: Floats) -> Floats:
    r"""Stationary x of :math:`n\,\mathrm{KL}(\mathrm{alt} \| x) - qx`; all broadcast, n > 0.

    Written so that nothing cancels for any q.
    """
    far = np.where(q >= 0, alternative, 1 - alternative)
    s = np.sqrt((n - np.abs(q)) ** 2 + 4 * np.abs(q) * n * far)
    top = np.where(q > n, (q - n) + s, 2 * n * alternative)
    bottom = np.where(q > n, 2 * q, (n - q) + s)
    return np.asarray(top / bottom)


def inside(rates: Floats) -> Floats:
    """Rates that rounding put on 0 or 1, moved back to the nearest float between."""
    return np.clip(rates, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)


def _solved(alternative: Floats, n: Floats, c: Floats, missing: Floats) -> Floats:
    """Rows of x with c.x = missing, or the alternative itself where that is reached already."""
    x = alternative.copy()
    rows = np.flatnonzero(alternative @ c < missing)  # those still to be solved
    low, high = np.zeros(rows.size), np.full(rows.size, np.inf)
    multiplier = low
    for _ in range(_STEPS):
        excess = x[rows] @ c - missing[rows]
        unsolved = np.abs(excess) > _CLOSE * (x[rows] @ np.abs(c) + np.abs(missing[rows]))
        if not unsolved.any():
            return x
        rows, excess, multiplier = rows[unsolved], excess[unsolved], multiplier[unsolved]
        low = np.where(excess < 0, multiplier, low[unsolved])
        high = np.where(excess > 0, multiplier, high[unsolved])
        step = multiplier - excess / (_slope(x[rows], alternative[rows], n) @ (c * c))
        far = np.minimum(high, 4 * low + n.max(initial=1.0))  # a flat start would throw it away
        middle = np.where(np.isfinite(high), (low + high) / 2, far)
        multiplier = np.where((step > low) & (step < far), step, middle)
        x[rows] = tilted(alternative[rows], n, multiplier[:, np.newaxis] * c)
    if np.isfinite(high).all():
        return x  # bracketed as closely as floats allow
    message = "no rates lie strictly within the limit, so there is nothing to test against"
    raise LimitCannotBeTested(message)


def _slope(x: Floats, alternative: Floats, n: Floats) -> Floats:
    """Compute dx/dq."""
    spread = (x - alternative) ** 2 + alternative * (1 - alternative)
    return np.asarray((x * (1 - x)) ** 2 / (n * spread))
