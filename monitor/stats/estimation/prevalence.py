r"""Precision and its kin at any prevalence: what a classifier would do where positives are rarer.

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

from monitor.stats.core.credible import credible_interval
from monitor.stats.core.metrics import METRICS, Matrix, f_beta

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.core.counts import Interval
    from monitor.stats.core.draws import Draws


def precision_at(tpr: ArrayLike, fpr: ArrayLike, prevalence: ArrayLike) -> Floats:
    """Precision of a classifier in a population of some prevalence (Brabec et al., Eq. 8).

    ``tpr``, ``fpr`` and the prevalence lie in [0, 1], in any shapes that broadcast; NaN where
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


def f_beta_at(tpr: ArrayLike, fpr: ArrayLike, prevalence: ArrayLike, beta: float = 1.0) -> Floats:
    r"""F measure of a classifier with these ``tpr`` and ``fpr`` in a population of some prevalence.

    .. math:: F_\beta(\eta) = \frac{(1+\beta^2)\,\mathrm{TPR}\,\eta}
        {\mathrm{TPR}\,\eta + \mathrm{FPR}\,(1-\eta) + \beta^2\,\eta}

    Examples
    --------
    >>> f_beta_at(0.6, 0.001, [0.01, 0.001]).round(3)
    array([0.706, 0.462])
    """
    t, f, eta = (np.asarray(each, dtype=np.float64) for each in (tpr, fpr, prevalence))
    return f_beta(beta)(Matrix(t * eta, f * (1 - eta), (1 - t) * eta, (1 - f) * (1 - eta)))


@dataclass(frozen=True, slots=True, eq=False)
class PrevalenceCurve:
    """A metric of one classifier against the prevalence, with its credible band.

    Parameters
    ----------
    metric
        ``precision`` (the P3 curve) or ``f1``.
    prevalence
        Where it is read, rising, shape ``(G,)``.
    point, low, high
        Point and equal-tailed band at each prevalence, shape ``(G,)``.
    now
        The window's own prevalence.
    value
        The metric at the window's own prevalence, whose uncertainty it shares.
    tpr, fpr
        The rates that the curve is on.
    level
        Posterior probability inside the band, at each prevalence by itself.
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


def prevalence_grid(now: float, points: int = 41, span: float = 100.0) -> Floats:
    """Prevalences on a logarithmic axis around the present one, rising, under 1.

    The ends are ``span`` times rarer, and more frequent, than now.

    Examples
    --------
    >>> prevalence_grid(0.02, points=5, span=10).round(4)
    array([0.002 , 0.0063, 0.02  , 0.0632, 0.2   ])
    """
    return np.geomspace(now / span, min(now * span, 0.999), points)


def prevalence_curve(
    draws: Draws,
    size: Ints,
    *,
    metric: str = "precision",
    prevalence: ArrayLike | None = None,
    level: float = 0.95,
    scaled: Matrix | None = None,
) -> PrevalenceCurve:
    """Curve of precision (P3) or F1 against the prevalence, from the joint posterior.

    TPR and FPR come from the same draws, so what ties them (they share the strata) is kept; a
    band from two separate intervals cannot know it and is wider.

    Parameters
    ----------
    draws
        Draws of the strata's rates (``draws.draw``), flagged strata first.
    metric
        ``precision`` or ``f1``.
    prevalence
        Where to read it, in (0, 1); ``prevalence_grid`` around the window's own if not given.
    scaled
        Matrix that all points are read from, as in ``posterior.estimates``; posterior means if
        not given. A point outside of its interval is moved to its end.

    Raises
    ------
    ValueError
        If the metric is another one, or a predicted class is empty, so that the rates say nothing
        about the classifier.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.core.draws import draw, round_posterior
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> p3 = prevalence_curve(
    ...     draw(round_posterior(counts), seed=0), counts.size, prevalence=[0.005, 0.05]
    ... )
    >>> p3.point.round(3), p3.low.round(3), p3.high.round(3)
    (array([0.38 , 0.863]), array([0.29, 0.81]), array([0.487, 0.909]))
    """
    _check_curve(draws, size, metric, level)
    return curve_of_matrix(
        draws.rate_matrix(size), metric=metric, prevalence=prevalence, level=level, scaled=scaled
    )


def curve_of_matrix(
    matrix: Matrix,
    *,
    metric: str = "precision",
    prevalence: ArrayLike | None = None,
    level: float = 0.95,
    scaled: Matrix | None = None,
) -> PrevalenceCurve:
    """Curve of precision or F1 against the prevalence, from draws of the matrix itself."""
    at = _AT_A_PREVALENCE[metric]
    tpr, fpr, eta = (METRICS[name](matrix) for name in _NAMES)
    scaled_values = [
        math.nan if scaled is None else float(METRICS[name](scaled)) for name in _NAMES
    ]
    tpr_here, fpr_here, eta_here = scaled_values
    grid = prevalence_grid(float(eta.mean())) if prevalence is None else np.asarray(prevalence)
    band = [
        credible_interval(
            at(tpr, fpr, prevalence_at), level, point=float(at(tpr_here, fpr_here, prevalence_at))
        )
        for prevalence_at in grid
    ]
    return PrevalenceCurve(
        metric=metric,
        prevalence=grid,
        point=np.array([interval.point for interval in band]),
        low=np.array([interval.low for interval in band]),
        high=np.array([interval.high for interval in band]),
        now=credible_interval(eta, level, point=eta_here),
        value=credible_interval(
            at(tpr, fpr, eta), level, point=float(at(tpr_here, fpr_here, eta_here))
        ),
        tpr=credible_interval(tpr, level, point=tpr_here),
        fpr=credible_interval(fpr, level, point=fpr_here),
        level=level,
    )


_NAMES = ("recall", "fpr", "prevalence")
_AT_A_PREVALENCE = {"precision": precision_at, "f1": f_beta_at}


def _check_curve(draws: Draws, size: Ints, metric: str, level: float) -> None:
    if metric not in _AT_A_PREVALENCE or not 0 < level < 1:
        message = f"wanted precision or f1 and a level in (0, 1), got {metric!r} and {level!r}"
        raise ValueError(message)
    if not (size[: draws.flagged].sum() and size[draws.flagged :].sum()):
        message = "a predicted class is empty, so the window says nothing of TPR and FPR"
        raise ValueError(message)
