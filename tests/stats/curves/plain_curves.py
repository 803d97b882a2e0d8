"""Areas and gains of one weighted curve, point by point: what drawn curves are compared with."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid

from monitor.stats.curves.gain import gain


class GainCurve(NamedTuple):
    """Precision gain against recall gain, from recall gain 0 to 1.

    ``threshold`` is the score that flags so, NaN at crossing points, which mix two.
    """

    recall_gain: NDArray[np.float64]
    precision_gain: NDArray[np.float64]
    threshold: NDArray[np.float64]
    prevalence: float


def area_under_roc(roc) -> float:
    """How often a positive ranks over a negative, ties counting half."""
    return float(trapezoid(roc.tpr, roc.fpr))


def gain_curve(roc, prevalence=None) -> GainCurve:
    """Precision-recall-gain curve of a ROC curve, at any prevalence.

    It starts where recall gain is 0 (recall equals the prevalence): there lies a *crossing
    point*, unless a threshold hits it. Another lies wherever precision gain changes its sign.
    """
    eta = roc.prevalence if prevalence is None else prevalence
    points = _crossed(np.column_stack([roc.tpr, roc.fpr, roc.threshold]), roc.tpr - eta)
    points = points[np.searchsorted(points[:, 0], eta) :]
    tpr, fpr, threshold = _crossed(points, points[:, 0] - points[:, 1]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        precision_gain = 1 - fpr / tpr
    return GainCurve(gain(tpr, eta), precision_gain, threshold, eta)


def area_under_gain(curve: GainCurve) -> float:
    """Area under it, 1 at best; a negative precision gain counts against the classifier.

    The lines between its points are what mixing thresholds gives, so trapezoids are exact.
    """
    return float(trapezoid(curve.precision_gain, curve.recall_gain))


def _crossed(points, level):
    """Insert a mixed point, without a threshold, wherever ``level`` jumps over 0."""
    jumps = np.flatnonzero(level[:-1] * level[1:] < 0)
    share = (level[jumps] / (level[jumps] - level[jumps + 1]))[:, np.newaxis]
    mixed = (1 - share) * points[jumps, :2] + share * points[jumps + 1, :2]
    without = np.column_stack([mixed, np.full(len(jumps), np.nan)])
    return np.insert(points, jumps + 1, without, axis=0)
