r"""Precision-recall-gain curves: precision and recall measured from "flag everything".

.. math:: \mathrm{precision\ gain} = \frac{\mathrm{precision} - \eta}{(1-\eta)\,\mathrm{precision}}
    = 1 - \frac{\eta}{1-\eta}\frac{FP}{TP}, \qquad
    \mathrm{recall\ gain} = 1 - \frac{\eta}{1-\eta}\frac{FN}{TP}

Both are linear in 1/TP where false positives grow in line with true ones, that is, where one mixes
two thresholds at random. So a straight line between two points of this curve is what mixing them
gives, and its area can be summed by trapezoids, unlike the area of a precision-recall curve (Flach
& Kull, "Precision-Recall-Gain Curves: PR Analysis Done Right", NIPS 2015, Eq. 4, 5 and section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import trapezoid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats
    from monitor.stats.curves.weighted_curves import RocCurve


def gain(share: ArrayLike, prevalence: ArrayLike) -> Floats:
    r"""Precision gain of a precision, or recall gain of a recall; shapes broadcast.

    .. math:: \frac{x - \eta}{(1-\eta)\,x}

    1 at best, 0 for what flagging everything has; negative under that, minus infinity for a share
    of 0.

    >>> gain([1.0, 0.25, 0.1], prevalence=0.1).round(3)
    array([1.   , 0.667, 0.   ])
    """
    x, eta = np.asarray(share, dtype=np.float64), np.asarray(prevalence, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray((1 - eta / x) / (1 - eta))


def share_of_gain(value: ArrayLike, prevalence: ArrayLike) -> Floats:
    r"""Precision of a precision gain, or recall of a recall gain: the inverse of ``gain``.

    .. math:: \frac{\eta}{1 - (1-\eta)\,g}
    """
    g, eta = np.asarray(value, dtype=np.float64), np.asarray(prevalence, dtype=np.float64)
    return np.asarray(eta / (1 - (1 - eta) * g))


@dataclass(frozen=True, slots=True, eq=False)
class GainCurve:
    """Precision gain against recall gain, from recall gain 0 to 1.

    Parameters
    ----------
    recall_gain, precision_gain
        Rising recall gain, from 0 to 1, shape ``(m,)``.
    threshold
        The score that flags so, shape ``(m,)``; NaN at crossing points, which mix two.
    prevalence
        At which the gains are measured.
    """

    recall_gain: Floats
    precision_gain: Floats
    threshold: Floats
    prevalence: float


def gain_curve(roc: RocCurve, prevalence: float | None = None) -> GainCurve:
    """Precision-recall-gain curve of a ROC curve, at any prevalence.

    It starts where recall gain is 0 (recall equals the prevalence): there lies a *crossing
    point*, unless a threshold hits it. Another lies wherever precision gain changes its sign.
    ``roc`` is a curve from ``weighted_curves.roc_curve``.

    Parameters
    ----------
    prevalence
        For a population of this prevalence, in (0, 1); the curve's own if not given.

    Examples
    --------
    >>> from monitor.stats.curves.weighted_curves import roc_curve
    >>> from monitor.stats.core.sample import LabeledSample, ScoredSample
    >>> items = LabeledSample([0, 0, 1, 1], [1, 0, 0, 1], size=[10, 90], flagged=1)
    >>> curve = gain_curve(roc_curve(ScoredSample(items, [0.9, 0.6, 0.1, 0.4])))
    >>> curve.recall_gain, curve.precision_gain.round(3)
    (array([0., 1., 1.]), array([0.8, 0.9, 0. ]))
    """
    eta = roc.prevalence if prevalence is None else prevalence
    tpr, fpr, threshold = _with_crossings(roc, eta)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision_gain = 1 - fpr / tpr
    return GainCurve(gain(tpr, eta), precision_gain, threshold, eta)


def area_under_gain(curve: GainCurve) -> float:
    """Area under a precision-recall-gain curve (AUPRG), 1 at best.

    The lines between its points are what mixing thresholds gives, so trapezoids are exact.
    Where precision gain is negative the area counts against the classifier, as in the paper.

    Examples
    --------
    >>> from monitor.stats.curves.weighted_curves import roc_curve
    >>> from monitor.stats.core.sample import LabeledSample, ScoredSample
    >>> items = LabeledSample([0, 0, 1, 1], [1, 0, 0, 1], size=[10, 90], flagged=1)
    >>> round(area_under_gain(gain_curve(roc_curve(ScoredSample(items, [0.9, 0.6, 0.1, 0.4])))), 3)
    0.85
    """
    return float(trapezoid(curve.precision_gain, curve.recall_gain))


def _with_crossings(roc: RocCurve, eta: float) -> tuple[Floats, Floats, Floats]:
    """TPR, FPR and threshold from TPR = eta on, with a point wherever a gain changes sign."""
    points = _crossed(np.column_stack([roc.tpr, roc.fpr, roc.threshold]), roc.tpr - eta)
    points = points[np.searchsorted(points[:, 0], eta) :]
    points = _crossed(points, points[:, 0] - points[:, 1])
    return points[:, 0], points[:, 1], points[:, 2]


def _crossed(points: Floats, level: Floats) -> Floats:
    """Insert a mixed point, without a threshold, wherever ``level`` jumps over 0."""
    jumps = np.flatnonzero(level[:-1] * level[1:] < 0)
    share = (level[jumps] / (level[jumps] - level[jumps + 1]))[:, np.newaxis]
    mixed = (1 - share) * points[jumps, :2] + share * points[jumps + 1, :2]
    without = np.column_stack([mixed, np.full(len(jumps), np.nan)])
    return np.insert(points, jumps + 1, without, axis=0)
