r"""Precision at any prevalence: what a classifier would do where positives are rarer.

True and false positive rate (TPR, FPR) belong to the classifier; precision belongs to it *and* to
the prevalence :math:`\eta` of the population,

.. math:: \mathrm{precision}(\eta) =
    \frac{\mathrm{TPR}\,\eta}{\mathrm{TPR}\,\eta + \mathrm{FPR}\,(1-\eta)}

(Brabec et al., "On Model Evaluation under Non-constant Class Imbalance", ICCS 2020, Eq. 8). Drawn
over a logarithmic axis of :math:`\eta` this is their positive-prevalence-precision (P3) curve. A
number without its prevalence says little: two classifiers can swap places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.draws import credible_interval
from monitor.stats.core.levels import check_probability
from monitor.stats.core.metrics import METRICS, Matrix
from monitor.stats.core.metrics import metric as metric_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.counts import Interval


_NAMES = ("recall", "fpr", "prevalence")
_SPAN, _POINTS = 100.0, 41  # of the places where a curve is read


def precision_at(tpr: ArrayLike, fpr: ArrayLike, prevalence: ArrayLike) -> Floats:
    """Precision of a classifier in a population of some prevalence (Brabec et al., Eq. 8).

    ``tpr``, ``fpr`` and the prevalence are in [0, 1], in any shapes that broadcast; NaN where
    nothing would be flagged (0/0).

    Examples
    --------
    >>> precision_at(0.6, 0.001, [0.01, 0.001]).round(3)
    array([0.858, 0.375])
    """
    t, f, eta = (np.asarray(each, dtype=np.float64) for each in (tpr, fpr, prevalence))
    right, wrong = np.broadcast_arrays(t * eta, f * (1 - eta))
    flagged = right + wrong
    values = np.full(flagged.shape, np.nan)
    np.divide(right, flagged, out=values, where=flagged > 0)
    return values


def _matrix_at(tpr: Floats | float, fpr: Floats | float, eta: Floats | float) -> Matrix:
    return Matrix(tpr * eta, fpr * (1 - eta), (1 - tpr) * eta, (1 - fpr) * (1 - eta))


@dataclass(frozen=True, slots=True, eq=False)
class PrevalenceCurve:
    """A metric of one classifier against the prevalence, with its credible band.

    ``prevalence``, ``point``, ``low`` and ``high`` have the shape ``(G,)``; the band holds at each
    prevalence by itself. ``now`` is the window's own prevalence, ``value`` the metric there, whose
    uncertainty it shares; ``tpr`` and ``fpr`` are the rates that the curve is on.
    """

    metric: str
    prevalence: Floats
    point: Floats
    low: Floats
    high: Floats
    now: Interval
    value: Interval
    tpr: Interval
    fpr: Interval
    level: float


def prevalence_curve(
    matrix: Matrix,
    *,
    metric: str = "precision",
    prevalence: ArrayLike | None = None,
    level: float = 0.95,
    scaled: Matrix | None = None,
) -> PrevalenceCurve:
    """Curve of precision (P3), F1 or another ``metric`` against the prevalence, from draws.

    TPR and FPR come from the same draws, so what ties them (they share the strata) is kept; a
    band from two separate intervals cannot know it and is wider.

    Parameters
    ----------
    matrix
        Draws of the confusion matrix (``Draws.rate_matrix``).
    prevalence
        Where to read it, in (0, 1); if not given, at 41 places on a logarithmic axis, from a
        hundred times rarer than the window's own to a hundred times more frequent, under 1.
    scaled
        Matrix that all points are read from, as in ``posterior.estimates``; posterior means if
        not given. A point outside of its interval is moved to its end.

    Raises
    ------
    ValueError
        If a predicted class is empty, so that the rates do not describe the classifier.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.core.draws import draw, round_posterior
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> matrix = draw(round_posterior(counts), seed=0).rate_matrix(counts.size)
    >>> prevalence_curve(matrix, prevalence=[0.005, 0.05]).point.round(3)
    array([0.38 , 0.863])
    """
    check_probability(level, "level")
    if not (matrix.flagged.any() and matrix.passed.any()):
        message = "a predicted class is empty, so the window does not determine TPR and FPR"
        raise ValueError(message)
    chosen = metric_of(metric)
    tpr, fpr, eta = (METRICS[name](matrix) for name in _NAMES)
    tpr_here, fpr_here, eta_here = (
        math.nan if scaled is None else float(METRICS[name](scaled)) for name in _NAMES
    )

    has_rates = ~np.isnan(tpr + fpr)

    def at(eta_there: Floats | float, eta_by_labels: float) -> Interval:
        point = float(chosen(_matrix_at(tpr_here, fpr_here, eta_by_labels)))
        return credible_interval(
            chosen(_matrix_at(tpr[has_rates], fpr[has_rates], eta_there)), level, point=point
        )

    now = float(eta.mean())
    grid = np.geomspace(now / _SPAN, min(now * _SPAN, 0.999), _POINTS)
    grid = grid if prevalence is None else np.asarray(prevalence)
    band = [at(each, each) for each in grid]
    return PrevalenceCurve(
        metric=metric,
        prevalence=grid,
        point=np.array([interval.point for interval in band]),
        low=np.array([interval.low for interval in band]),
        high=np.array([interval.high for interval in band]),
        now=credible_interval(eta, level, point=eta_here),
        value=at(eta[has_rates], eta_here),
        tpr=credible_interval(tpr, level, point=tpr_here),
        fpr=credible_interval(fpr, level, point=fpr_here),
        level=level,
    )
