r"""Limits on a metric, the half-spaces of positive rates that keep them, and projections on these.

With sizes :math:`W_h`, every metric here is a ratio of two affine functions of the strata's rates
:math:`\pi`, so "the metric is at least L" is :math:`c\cdot\pi \ge d`: a convex set, which is what
makes the detector's promise possible (see ``e_detector``). The projection of an alternative on it,
the reverse information projection, is the rates that are hardest to tell from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from monitor.limitable import CLASSIFIER, LIMITABLE, limitable_of, no_limit_text

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats, Ints


Side: TypeAlias = Literal["at_least", "at_most"]

EDGE = 2.0**-30
"""Limits closer than this to 0 or 1 are taken for them; a power of 2, so that 1 - EDGE is exact."""

_F_NUMBER = r"f(\d+(?:\.\d+)?)"

WATCHABLE = limitable_of(CLASSIFIER)
"""Metrics that can have a limit; so can ``f2``, ``f0.5`` and so on."""


class LimitCannotBeTested(ValueError):
    """No labels could ever count against this limit in a window of these sizes."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A value that a metric must not fall below, or must not rise above.

    Parameters
    ----------
    metric
        One of ``WATCHABLE``, or ``f1``, ``f2``, ``f0.5``: names as in ``metrics.METRICS``.
    value
        The limit L, strictly between 0 and 1 by ``EDGE`` or more: at 0 or 1 nothing is reachable
        on one side of it.
    side
        ``"at_least"``: the metric must not fall below; ``"at_most"``: must not rise above.

    Raises
    ------
    ValueError
        If the metric is unknown or has no convex null, or ``value`` or ``side`` is out of range.

    Examples
    --------
    >>> print(Limit("recall", 0.5, "at_least"))
    recall at least 0.5
    """

    metric: str
    value: float
    side: Side

    def __post_init__(self) -> None:
        if self.metric not in WATCHABLE and _beta(self.metric) == 0:
            message = no_limit_text(self.metric, WATCHABLE)
            raise ValueError(message)
        if not EDGE <= self.value <= 1 - EDGE:
            message = (
                f"a limit on {self.metric} lies strictly between 0 and 1 (by {EDGE:.1g} or more), "
                f"got {self.value!r}"
            )
            raise ValueError(message)
        if self.side not in {"at_least", "at_most"}:
            message = f"side must be 'at_least' or 'at_most', got {self.side!r}"
            raise ValueError(message)

    def __str__(self) -> str:
        return f"{self.metric} {self.side.replace('_', ' ')} {self.value:g}"

    def direct(self) -> Limit:
        """Return the same limit on the table's metric: an FPR of at most .1 is specificity .9.

        ``f2`` is F_beta with ``beta=2``.

        Examples
        --------
        >>> print(Limit("fpr", 0.1, "at_most").direct())
        specificity at least 0.9
        """
        quantity = LIMITABLE.get(self.metric)
        if quantity is None or quantity.complement is None:
            return self
        other: Side = "at_most" if self.side == "at_least" else "at_least"
        return replace(self, metric=quantity.complement, value=1 - self.value, side=other)


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    r"""The rates with :math:`c\cdot\pi \ge d`; ``c`` has the shape ``(H,)``."""

    c: Floats
    d: float

    def contains(self, rates: Floats) -> Bools:
        """Whether each row of ``rates``, shape ``(..., H)``, keeps the limit."""
        return np.asarray(rates @ self.c >= self.d)


def half_space(limit: Limit, size: Ints, is_flagged: Bools) -> HalfSpace:
    r"""Rates that keep a limit in a window of these sizes.

    :math:`c_h = W_h C_h` and :math:`d = \sum_h W_h D_h`, by the table of `per_item`. With 0 < L < 1
    and the items asked for there, d is strictly inside what rates in :math:`[0,1]^H` can reach.
    Raises LimitCannotBeTested if the window lacks a predicted class without which the metric is
    undefined or constant.
    """
    if size.shape != is_flagged.shape or size.ndim != 1:
        message = f"size {size.shape} and is_flagged {is_flagged.shape} must both be (H,)"
        raise ValueError(message)
    flagged, passed = int(size[is_flagged].sum()), int(size[~is_flagged].sum())
    needs_flagged, needs_passed = _coefficients(limit.direct()).needs
    if (needs_flagged > flagged) or (needs_passed > passed) or not size.any():
        message = (
            f"{limit} cannot be tested in a window of {flagged} flagged and {passed} passed items: "
            f"there {limit.metric} is undefined or cannot vary"
        )
        raise LimitCannotBeTested(message)
    c, d = per_item(limit, is_flagged)
    return HalfSpace(c=size * c, d=float(size @ d))


class _Coefficients(NamedTuple):
    """C and D in flagged and in passed strata, and which of these must hold items."""

    c: tuple[float, float]
    d: tuple[float, float]
    needs: tuple[bool, bool]


def _coefficients(direct: Limit) -> _Coefficients:
    value, beta = direct.value, _beta(direct.metric)
    of_f_beta = 1 + beta**2 * (1 - value), -(beta**2) * value
    return {
        "precision": _Coefficients((1, 0), (value, 0), (True, False)),
        "recall": _Coefficients((1 - value, -value), (0, 0), (True, True)),
        "specificity": _Coefficients((value, value - 1), (value, value - 1), (True, True)),
        "npv": _Coefficients((0, -1), (0, value - 1), (False, True)),
        "prevalence": _Coefficients((1, 1), (value, value), (False, False)),
        "accuracy": _Coefficients((1, -1), (value, value - 1), (False, False)),
        "f_beta": _Coefficients(of_f_beta, (value, 0), (True, False)),
    }[family(direct.metric)]


def per_item(limit: Limit, is_flagged: Bools) -> tuple[Floats, Floats]:
    r"""C and D of the items of each stratum, ``(H,)``; sizes :math:`W_h` make them a half-space.

    With L the limit:

    ===========  ==========================================  =================  ==============
    metric       C in flagged, in passed strata              D in these         needs items in
    ===========  ==========================================  =================  ==============
    precision    :math:`1,\ 0`                               :math:`L,\ 0`      flagged
    recall       :math:`1-L,\ -L`                            :math:`0,\ 0`      both
    specificity  :math:`L,\ L-1`                             :math:`L,\ L-1`    both
    npv          :math:`0,\ -1`                              :math:`0,\ L-1`    passed
    prevalence   :math:`1,\ 1`                               :math:`L,\ L`      any
    accuracy     :math:`1,\ -1`                              :math:`L,\ L-1`    any
    f_beta       :math:`1+\beta^2(1-L),\ -\beta^2 L`         :math:`L,\ 0`      flagged
    ===========  ==========================================  =================  ==============

    "At most" negates both; ``fpr`` and ``false_omission_rate`` are read as specificity and NPV.

    >>> c, d = per_item(Limit("precision", 0.8, "at_least"), np.array([True, False]))
    >>> c.tolist(), d.tolist()
    ([1.0, 0.0], [0.8, 0.0])
    """
    direct = limit.direct()
    row, sign = _coefficients(direct), 1.0 if direct.side == "at_least" else -1.0
    return sign * np.where(is_flagged, *row.c), sign * np.where(is_flagged, *row.d)


def family(metric: str) -> str:
    """Name the row of the table that a metric is in."""
    return "f_beta" if _beta(metric) > 0 else metric


def _beta(metric: str) -> float:
    """Weight of recall against precision in an F measure; 0 of another metric."""
    f_number = re.fullmatch(_F_NUMBER, metric)
    return 0.0 if f_number is None else float(f_number[1])


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
    x is the alternative itself where that keeps the limit.

    Parameters
    ----------
    space
        Rates that keep the limit; some rates in :math:`[0,1]^H` must lie strictly inside.
    alternative
        Rates of shape ``(..., H)``, strictly between 0 and 1.
    labeled
        Labels really given in each stratum, shape ``(H,)``: the e-value has mean 1 only with these.

    Raises LimitCannotBeTested if no rates lie strictly inside the half-space.

    Examples
    --------
    >>> from monitor.stats.detection.half_space import Limit, half_space
    >>> sizes, is_flagged = np.array([100, 900]), np.array([True, False])
    >>> space = half_space(Limit("recall", 0.7, "at_least"), sizes, is_flagged)
    >>> print(project(space, np.array([0.9, 0.08]), np.array([50, 200])).round(4))
    [0.9132 0.0435]
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
