r"""The rates within a limit that are hardest to tell from an alternative.

The reverse information projection on a half-space: one alternative at a time to the last digit,
or many at once for simulations, by another method; the tests hold one against the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.detection.half_space import HalfSpace, LimitCannotBeTested

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.stats.core.arrays import Floats, Ints


_DOUBLINGS = 200  # of the multiplier; a limit that is reached at all is reached long before
_STEPS = 60  # halvings alone leave no float between the ends of a bracket after 53
_CLOSE = 1e-12  # of the constraint, whose coefficients are scaled to 1


def project(space: HalfSpace, alternative: Floats, labeled: Ints) -> Floats:
    r"""Rates within the limit that the labels tell apart from the alternative least, ``(H,)``.

    .. math:: x = \arg\min_{c\cdot x \ge d} \sum_h n_h\,\mathrm{KL}(\mathrm{alt}_h \| x_h)

    with multiplier :math:`\lambda` solved from :math:`c\cdot x = d`, and :math:`q = \lambda c_h`:

    .. math:: x_h = \frac{2 n_h \mathrm{alt}_h}{n_h - q + s}
        = \frac{q - n_h + s}{2q}, \quad s = \sqrt{(n_h - q)^2 + 4 q n_h \mathrm{alt}_h}.

    A stratum without labels sits at its best value: 1 where c > 0, 0 where c < 0. In labeled strata
    x is the alternative itself where that keeps the limit.

    Parameters
    ----------
    space
        Rates that keep the limit; some rates in :math:`[0,1]^H` must lie strictly inside.
    alternative
        Rates of shape ``(H,)``, strictly between 0 and 1.
    labeled
        Labels really given in each stratum, shape ``(H,)``: the e-value has mean 1 only with these.

    Raises
    ------
    LimitCannotBeTested
        If no rates lie strictly inside the half-space.

    Examples
    --------
    >>> from monitor.stats.detection.half_space import Limit, half_space
    >>> sizes, is_flagged = np.array([100, 900]), np.array([True, False])
    >>> space = half_space(Limit("recall", 0.7, "at_least"), sizes, is_flagged)
    >>> print(project(space, np.array([0.9, 0.08]), np.array([50, 200])).round(4))
    [0.9132 0.0435]
    """
    scale = float(np.abs(space.c).max())
    c, d = space.c / scale, space.d / scale
    x = np.where(c > 0, 1.0, np.where(c < 0, 0.0, alternative))
    seen = labeled > 0
    n, alt, c_seen = labeled[seen].astype(np.float64), alternative[seen], c[seen]
    missing = d - float(c[~seen] @ x[~seen])

    def excess(multiplier: float) -> float:
        return float(c_seen @ tilted(alt, n, multiplier * c_seen)) - missing

    multiplier = _root(excess, start=float(n.max(initial=1.0)))
    x[seen] = tilted(alt, n, multiplier * c_seen)
    return x


def project_many(space: HalfSpace, alternative: Floats, labeled: Ints) -> Floats:
    r"""Project alternatives, shape ``(rows, H)``: :func:`project` for each, by one Newton search.

    With :math:`dx_h/dq = x_h^2(1-x_h)^2 / (n_h((x_h-\mathrm{alt}_h)^2 +
    \mathrm{alt}_h(1-\mathrm{alt}_h)))` and a bracket for each row; on the limit to within 1e-12 of
    the largest coefficient.

    >>> from monitor.stats.detection.half_space import Limit, half_space
    >>> space = half_space(
    ...     Limit("recall", 0.5, "at_least"), np.array([40, 960]), np.array([True, False])
    ... )
    >>> print(project_many(space, np.array([[0.8, 0.05]]), np.array([20, 80])).round(4))
    [[0.8125 0.0339]]
    """
    scale = float(np.abs(space.c).max())  # so that _CLOSE means the same for every limit
    c, d = space.c / scale, space.d / scale
    x = np.where(c > 0, 1.0, np.where(c < 0, 0.0, alternative))
    seen = labeled > 0
    moved = seen & (c != 0)
    x[:, seen] = alternative[:, seen]
    still = ~moved
    missing = d - x[:, still] @ c[still]
    n = labeled[moved].astype(np.float64)
    x[:, moved] = _solved(alternative[:, moved], n, c[moved], missing)
    return x


def tilted(alternative: Floats, n: Floats, q: Floats) -> Floats:
    r"""Stationary x of :math:`n\,\mathrm{KL}(\mathrm{alt} \| x) - qx`; all broadcast, n > 0.

    Written so that nothing cancels for any q.

    >>> print(tilted(np.array([0.5]), np.array([10.0]), np.array([4.0])).round(4))
    [0.5963]
    """
    far = np.where(q >= 0, alternative, 1 - alternative)
    s = np.sqrt((n - np.abs(q)) ** 2 + 4 * np.abs(q) * n * far)
    top = np.where(q > n, (q - n) + s, 2 * n * alternative)
    bottom = np.where(q > n, 2 * q, (n - q) + s)
    return np.asarray(top / bottom)


def inside(rates: Floats) -> Floats:
    """Rates that rounding put on 0 or 1, moved back to the nearest float between."""
    return np.clip(rates, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)


def _root(excess: Callable[[float], float], start: float) -> float:
    """Zero of an increasing function on [0, inf); 0 if it is not negative there."""
    if excess(0.0) >= 0:
        return 0.0
    high = start
    for _ in range(_DOUBLINGS):
        if excess(high) >= 0:
            # A multiplier may be tiny, so only its relative error counts.
            return float(optimize.brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15))
        high *= 2
    message = "no rates lie strictly within the limit, so there is nothing to test against"
    raise LimitCannotBeTested(message)


def _solved(alternative: Floats, n: Floats, c: Floats, missing: Floats) -> Floats:
    """Rows of x with c.x = missing, or the alternative itself where that is reached already."""
    x = alternative.copy()
    rows = np.flatnonzero(alternative @ c < missing)  # those still to be solved
    low, high = np.zeros(rows.size), np.full(rows.size, np.inf)
    multiplier = low
    for _ in range(_STEPS):
        excess = x[rows] @ c - missing[rows]
        unsolved = np.abs(excess) > _CLOSE
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
