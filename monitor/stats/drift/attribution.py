r"""Why precision changed: positives became rarer, or the classifier became worse, or both.

Precision is a function of the prevalence and of the classifier (TPR, FPR); from one time to another
both may move. The change is shared out by Shapley's value: each part is the mean of what it does
before and after the other has moved,

.. math:: \Delta_\eta = \tfrac12\big[f(c_0,\eta_1) - f(c_0,\eta_0)\big]
    + \tfrac12\big[f(c_1,\eta_1) - f(c_1,\eta_0)\big]

with :math:`f` the precision of classifier :math:`c = (\mathrm{TPR}, \mathrm{FPR})` at prevalence
:math:`\eta`, and likewise for the classifier. The parts add up to the change exactly, neither is
"first", and a part is 0 if its cause did not move (Shapley, "A Value for n-Person Games", 1953).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.draws import credible_interval
from monitor.stats.core.levels import check_probability
from monitor.stats.core.metrics import METRICS
from monitor.stats.estimation.prevalence import precision_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.counts import Interval
    from monitor.stats.core.metrics import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Working:
    """How a classifier works in a population: rates in [0, 1], or arrays of draws of them."""

    tpr: Floats
    fpr: Floats
    prevalence: Floats

    @classmethod
    def of_matrix(cls, matrix: Matrix) -> Working:
        """Make it from a confusion matrix, or from draws of one."""
        return cls(*(METRICS[name](matrix) for name in ("recall", "fpr", "prevalence")))

    def precision(self, prevalence: ArrayLike | None = None) -> Floats:
        """Precision at this prevalence, or at another."""
        return precision_at(
            self.tpr, self.fpr, self.prevalence if prevalence is None else prevalence
        )


@dataclass(frozen=True, slots=True)
class PrecisionChange:
    """Posterior of a change of precision and of its parts, the points of which add up; of recall.

    ``level`` is the probability of each interval, by itself.
    """

    before: Interval
    after: Interval
    prevalence_before: Interval
    prevalence_after: Interval
    change: Interval
    by_prevalence: Interval
    by_classifier: Interval
    recall_before: Interval
    recall_after: Interval
    recall_change: Interval
    level: float


def precision_change(
    before: Working,
    after: Working,
    *,
    scaled: tuple[Working, Working] | None = None,
    level: float = 0.95,
) -> PrecisionChange:
    """Return how precision changed and why, with intervals, from draws before and after.

    Parameters
    ----------
    before, after
        Independent draws, shape ``(points,)`` each, such as the pooled earlier rounds
        and this round alone. The order of one is shuffled, so equal seeds do no harm.
    scaled
        Single values before and after that the points are read from, such as those from the
        labels scaled up (``scaled_matrix``). Where one has no precision, or a point would lie
        outside of its interval, and if not given, all points are posterior means.

    Raises
    ------
    ValueError
        If a precision is undefined in a draw, as where a window flags nothing.

    Examples
    --------
    >>> before = Working(np.array([0.6]), np.array([0.003]), np.array([0.031]))
    >>> after = Working(np.array([0.55]), np.array([0.0035]), np.array([0.019]))
    >>> found = precision_change(before, after)
    >>> [round(part.point, 3) for part in (found.change, found.by_prevalence, found.by_classifier)]
    [-0.112, -0.076, -0.036]
    """
    check_probability(level, "level")
    order = np.random.default_rng(0).permutation(len(before.tpr))
    before = Working(before.tpr[order], before.fpr[order], before.prevalence[order])
    values = _values(before, after)
    if np.isnan(values["change"]).any():
        message = "precision is undefined before or after, so its change has no cause"
        raise ValueError(message)
    points = dict.fromkeys(values, math.nan)
    if scaled is not None:
        points = {name: float(value) for name, value in _values(*scaled).items()}
    intervals = _intervals(values, points, level)
    if any(intervals[name].point != point for name, point in points.items()):
        intervals = _intervals(values, dict.fromkeys(values, math.nan), level)
    return PrecisionChange(**intervals, level=level)


def _values(before: Working, after: Working) -> dict[str, Floats]:
    """Values of what a ``PrecisionChange`` has intervals of, by name; NaN if undefined."""
    was, now = before.precision(), after.precision()
    at_first = after.precision(before.prevalence) - was
    at_last = now - before.precision(after.prevalence)
    classifier = (at_first + at_last) / 2
    return {
        "before": was,
        "after": now,
        "prevalence_before": before.prevalence,
        "prevalence_after": after.prevalence,
        "change": now - was,
        "by_prevalence": now - was - classifier,
        "by_classifier": classifier,
        "recall_before": before.tpr,
        "recall_after": after.tpr,
        "recall_change": after.tpr - before.tpr,
    }


def _intervals(
    values: Mapping[str, Floats], points: Mapping[str, float], level: float
) -> dict[str, Interval]:
    return {
        name: credible_interval(draws, level, point=points[name]) for name, draws in values.items()
    }
