r"""Limits on a metric, and the half-space of positive rates in which each is kept.

With sizes :math:`W_h`, every metric here is a ratio of two affine functions of the strata's rates
:math:`\pi`, so "the metric is at least L" is :math:`c\cdot\pi \ge d`: a convex set, which is what
makes the detector's promise possible (see ``e_detector``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.stats.core.arrays import Bools, Floats, Ints


Side: TypeAlias = Literal["at_least", "at_most"]

EDGE = 2.0**-30
"""Limits closer than this to 0 or 1 are taken for them; a power of 2, so that 1 - EDGE is exact."""

_MIRRORED = {"fpr": "specificity", "false_omission_rate": "npv"}
_F_NUMBER = r"f(\d+(?:\.\d+)?)"
_REFUSED = {
    "balanced_accuracy": "recall and specificity",
    "mcc": "precision and recall",
    "precision_gain": "precision",
    "recall_gain": "recall",
}


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
    beta
        Weight of recall against precision; only read for ``f_beta``.

    Raises
    ------
    ValueError
        If the metric is unknown or has no convex null, or ``value``, ``side`` or ``beta`` is out
        of range.
    """

    metric: str
    value: float
    side: Side
    beta: float = 1.0

    def __post_init__(self) -> None:
        _check_metric(self.metric)
        if not EDGE <= self.value <= 1 - EDGE:
            message = (
                f"a limit on {self.metric} lies strictly between 0 and 1 (by {EDGE:.1g} or more), "
                f"got {self.value!r}"
            )
            raise ValueError(message)
        if self.side not in {"at_least", "at_most"}:
            message = f"side must be 'at_least' or 'at_most', got {self.side!r}"
            raise ValueError(message)
        if not 0 < self.beta < float("inf"):
            message = f"beta must be positive and finite, got {self.beta!r}"
            raise ValueError(message)

    def __str__(self) -> str:
        return f"{self.metric} {self.side.replace('_', ' ')} {self.value:g}"

    def direct(self) -> Limit:
        """Return the same limit on the table's metric: an FPR of at most .1 is specificity .9.

        ``f2`` is F_beta with ``beta=2``.
        """
        if (f_number := re.fullmatch(_F_NUMBER, self.metric)) is not None:
            return replace(self, metric="f_beta", beta=float(f_number[1]))
        if self.metric not in _MIRRORED:
            return self
        other: Side = "at_most" if self.side == "at_least" else "at_least"
        return replace(self, metric=_MIRRORED[self.metric], value=1 - self.value, side=other)


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    r"""The rates with :math:`c\cdot\pi \ge d`; ``c`` has the shape ``(H,)``."""

    c: Floats
    d: float

    def contains(self, rates: Floats) -> Bools:
        """Whether each row of ``rates``, shape ``(..., H)``, keeps the limit."""
        return np.asarray(rates @ self.c >= self.d)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes ``(H,)``, which strata are flagged, their totals, and the limit on them."""

    size: Floats
    is_flagged: Bools
    flagged: float
    passed: float
    value: float
    beta: float

    @property
    def total(self) -> float:
        return self.flagged + self.passed

    def by_class(self, flagged: float, passed: float) -> Floats:
        return np.where(self.is_flagged, flagged, passed) * self.size


def half_space(limit: Limit, size: Ints, is_flagged: Bools) -> HalfSpace:
    r"""Rates that keep a limit in a window of these sizes.

    With L the limit, :math:`W, W_+, W_-` the total, flagged and passed sizes:

    ===========  =====================================================  =======================
    metric       c in flagged, in passed strata                         d
    ===========  =====================================================  =======================
    precision    :math:`W_h/W_+,\ 0`                                    :math:`L`
    recall       :math:`W_h(1-L),\ -W_h L`                              :math:`0`
    specificity  :math:`L W_h,\ -(1-L)W_h`                              :math:`L W_+-(1-L)W_-`
    npv          :math:`0,\ -W_h/W_-`                                   :math:`L-1`
    prevalence   :math:`W_h/W,\ W_h/W`                                  :math:`L`
    accuracy     :math:`W_h/W,\ -W_h/W`                                 :math:`L-W_-/W`
    f_beta       :math:`W_h(1+\beta^2(1-L)),\ -\beta^2 L W_h`           :math:`L W_+`
    ===========  =====================================================  =======================

    "At most" negates both; ``fpr`` and ``false_omission_rate`` are read as specificity and NPV.
    With 0 < L < 1 and the items asked for below, L is strictly inside what rates in :math:`[0,1]^H`
    can reach. Raises LimitCannotBeTested if the window lacks a predicted class without which the
    metric is undefined or constant.
    """
    if size.shape != is_flagged.shape or size.ndim != 1:
        message = f"size {size.shape} and is_flagged {is_flagged.shape} must both be (H,)"
        raise ValueError(message)
    direct = limit.direct()
    row, needs_flagged, needs_passed = _FORMULAS[direct.metric]
    flagged, passed = int(size[is_flagged].sum()), int(size[~is_flagged].sum())
    if (needs_flagged > flagged) or (needs_passed > passed) or not size.any():
        message = (
            f"{limit} says nothing in a window of {flagged} flagged and {passed} passed items: "
            f"there {limit.metric} is undefined or cannot vary"
        )
        raise LimitCannotBeTested(message)
    window = _Sizes(
        size=size.astype(np.float64),
        is_flagged=is_flagged,
        flagged=float(flagged),
        passed=float(passed),
        value=direct.value,
        beta=direct.beta,
    )
    c, d = row(window)
    sign = 1.0 if direct.side == "at_least" else -1.0
    return HalfSpace(c=sign * c, d=sign * d)


_Row: TypeAlias = "Callable[[_Sizes], tuple[Floats, float]]"

_FORMULAS: dict[str, tuple[_Row, bool, bool]] = {
    "precision": (lambda w: (w.by_class(1, 0) / w.flagged, w.value), True, False),
    "recall": (lambda w: (w.by_class(1 - w.value, -w.value), 0.0), True, True),
    "specificity": (
        lambda w: (
            w.by_class(w.value, w.value - 1),
            w.value * w.flagged - (1 - w.value) * w.passed,
        ),
        True,
        True,
    ),
    "npv": (lambda w: (w.by_class(0, -1) / w.passed, w.value - 1), False, True),
    "prevalence": (lambda w: (w.size / w.total, w.value), False, False),
    "accuracy": (
        lambda w: (w.by_class(1, -1) / w.total, w.value - w.passed / w.total),
        False,
        False,
    ),
    "f_beta": (
        lambda w: (
            w.by_class(1 + w.beta**2 * (1 - w.value), -(w.beta**2) * w.value),
            w.value * w.flagged,
        ),
        True,
        False,
    ),
}
"""Rows of the table, and whether the window must hold flagged, and passed items."""

WATCHABLE: tuple[str, ...] = (*_FORMULAS, *_MIRRORED)
"""Metrics that can carry a limit."""


def _check_metric(metric: str) -> None:
    if metric in _REFUSED:
        message = (
            f"{metric} cannot carry a limit: the rates that keep it are not a convex set, so no "
            f"false-alarm rate can be promised; set limits on {_REFUSED[metric]} instead"
        )
        raise ValueError(message)
    if metric not in WATCHABLE and not re.fullmatch(_F_NUMBER, metric):
        message = f"{metric!r} cannot carry a limit; choose one of {', '.join(WATCHABLE)}"
        raise ValueError(message)
