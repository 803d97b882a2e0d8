r"""Neyman's allocation with one multiplier per metric: the fewest labels that keep margins.

By the delta method :math:`\mathrm{Var}(m) = \sum_h c_{mh} (1/n_h - 1/N_h)` for a metric m, with
:math:`c_{mh} = g_{mh}^2 v_h`, gradient :math:`g_{mh} = \partial m/\partial\pi_h` and
:math:`v_h = E[\pi_h(1-\pi_h)]` from what is known before the round. The fewest labels that keep
every half-width :math:`z\sqrt{\mathrm{Var}(m)}` within its margin are

.. math:: n_h = \sqrt{\lambda_P c_{Ph} + \lambda_R c_{Rh}}

clipped to the floor and to N_h. With two strata, the rates known, an infinite window and only
recall binding, this is Theorem 1 of Shang et al., AISTATS 2023.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from monitor.stats.knowledge import Knowledge

    Values = NDArray[np.float64]
    Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Strata, bounds on their labels, and each metric's coefficients c, shape ``(H,)``."""

    size: Values
    is_flagged: NDArray[np.bool_]
    low: Values
    coefficients: dict[str, Values]
    z: float
    in_window: bool
    blend: float

    def allowed(self, name: str, margin: float) -> float:
        """Upper bound on sum c/n that keeps the metric within the margin."""
        c, inside = self.coefficients[name], self.size > 0
        known = float(np.sum(c[inside] / self.size[inside])) if self.in_window else 0.0
        return (margin / self.z) ** 2 + known

    def half_width(self, name: str, labels: Values | Labels) -> float:
        """Half-width of the metric's interval, at most 1."""
        relevant = self.coefficients[name] > 0
        c, n, size = self.coefficients[name][relevant], labels[relevant], self.size[relevant]
        if np.any(n == 0):
            return 1.0
        variance = np.sum(c * (size - n) / (size * n)) if self.in_window else np.sum(c / n)
        return min(1.0, self.z * math.sqrt(float(variance)))

    def half_widths(self, labels: Values | Labels) -> dict[str, float]:
        """Half-width of every metric that can be planned for."""
        return {name: self.half_width(name, labels) for name in self.coefficients}


def coefficients_of(
    size: NDArray[np.int64], is_flagged: NDArray[np.bool_], knowledge: Knowledge
) -> tuple[dict[str, Values], tuple[str, ...]]:
    r"""Coefficients c of each metric that the window can tell, and notes on those it cannot.

    For precision :math:`g_h = W_h/W_+` in the flagged strata. For recall
    :math:`g_h = W_h(1-R)/(TP+FN)` in the flagged and :math:`-W_h R/(TP+FN)` in the passed.
    """
    weight = size.astype(np.float64)
    found = weight * knowledge.rate
    flagged, passed = float(weight[is_flagged].sum()), float(weight[~is_flagged].sum())
    notes: list[str] = []
    coefficients: dict[str, Values] = {}
    if flagged > 0:
        gradient = np.where(is_flagged, weight / flagged, 0.0)
        coefficients["precision"] = gradient**2 * knowledge.label_variance
    else:
        notes.append("nothing was flagged, so precision and recall cannot be planned for")
    if flagged > 0 and passed > 0:
        recall = float(found[is_flagged].sum() / found.sum())
        gradient = weight / found.sum() * np.where(is_flagged, 1 - recall, recall)
        coefficients["recall"] = gradient**2 * knowledge.label_variance
    elif flagged > 0:
        notes.append("everything was flagged, so recall is 1 and needs no labels")
    return coefficients, tuple(notes)


def least_labels(c: Values, allowed: float, low: Values, high: Values) -> Values:
    r"""Fewest labels with :math:`\sum_h c_h/n_h \le` ``allowed``, each within its bounds.

    They are :math:`n_h = \mathrm{clip}(\mu\sqrt{c_h}, l_h, u_h)`. The sum falls piecewise in
    :math:`\mu`, with :math:`\sum c/n = A + B/\mu` between the points where a stratum leaves its
    lower or meets its upper bound, so the right piece gives :math:`\mu` in closed form. All
    strata with c > 0 are taken whole if even that is not enough.
    """
    labels = low.copy()
    used = c > 0
    c, low, high = c[used], low[used], high[used]
    if float(np.sum(c / low)) <= allowed:
        return labels
    labels[used] = high
    if float(np.sum(c / high)) >= allowed:
        return labels
    root = np.sqrt(c)
    breaks = np.unique(np.concatenate([low / root, high / root]))
    sums = np.sum(c / np.clip(breaks[:, np.newaxis] * root, low, high), axis=1)
    piece = int(np.clip(np.count_nonzero(sums > allowed) - 1, 0, len(breaks) - 2))
    left, right = float(breaks[piece]), float(breaks[piece + 1])
    at_middle = (left + right) / 2 * root
    free = (low < at_middle) & (at_middle < high)
    fixed = float(np.sum((c / np.clip(at_middle, low, high))[~free]))
    gap = max(allowed - fixed, sys.float_info.min)  # rounding can leave nothing close to a census
    multiplier = min(max(float(root[free].sum()) / gap, left), right)
    labels[used] = np.clip(multiplier * root, low, high)
    return labels


def optimum(problem: Problem, margins: Mapping[str, float]) -> Values:
    r"""Fewest labels, not yet whole numbers, that keep all margins.

    In the flagged strata the coefficients of recall are those of precision times one constant.
    So if the optimum for recall alone breaks the precision margin, precision alone fixes the
    flagged strata, and the passed ones close what recall still lacks: both multipliers are
    then positive. Otherwise the one of precision is 0.
    """
    low, high = problem.low, problem.size
    labels = low.copy()
    if "recall" in margins:
        recall = problem.coefficients["recall"]
        recall_allowed = problem.allowed("recall", margins["recall"])
        labels = least_labels(recall, recall_allowed, low, high)
    if "precision" not in margins:
        return labels
    precision = problem.coefficients["precision"]
    used = precision > 0
    precision_allowed = problem.allowed("precision", margins["precision"])
    if float(np.sum(precision[used] / labels[used])) <= precision_allowed:
        return labels
    labels = least_labels(precision, precision_allowed, low, high)
    if "recall" in margins:
        up, down = problem.is_flagged & used, ~problem.is_flagged
        left = recall_allowed - float(np.sum(recall[up] / labels[up]))
        labels[down] = least_labels(recall[down], left, low[down], high[down])
    return labels
