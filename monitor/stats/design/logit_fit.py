r"""Logit-linear rates by penalised maximum likelihood, for many sets of labels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats


SLOPE_PRECISION = 0.1
"""Prior precision of a slope along the score before any label: a few answers tilt the line."""

_STEPS, _SETTLED = 40, 1e-8
_LONGEST_STEP = 2.0  # of Newton's, in log odds: a full one may overshoot from far away


def fitted_log_odds(
    x: Floats, labeled: Floats, positive: Floats, start: Floats, penalty: Floats
) -> Floats:
    """Log odds of the rates that fit the labels best, by Newton's steps, shape ``(..., H)``.

    The regressors ``x`` have the shape ``(H, K)``, labels ``(..., H)``, of which a part may count,
    ``start`` ``(..., K)``; ``penalty`` is the prior precision of each coefficient around 0,
    ``(K,)``.
    """
    at = start
    for _ in range(_STEPS):
        p = special.expit(at @ x.T)
        gradient = (positive - labeled * p) @ x - penalty * at
        curvature = _curvature(x, labeled, p, penalty)
        step = np.linalg.solve(curvature, gradient[..., np.newaxis])[..., 0]
        longest = np.abs(step).max(axis=-1, keepdims=True)
        at = at + step * np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))
        if float(longest.max()) < _SETTLED:
            break
    return np.asarray(at @ x.T)


def fitted_covariance(x: Floats, labeled: Floats, rates: Floats, penalty: Floats) -> Floats:
    """Covariance of a fit's coefficients, ``(..., K, K)``, by Laplace's method at its rates."""
    return np.asarray(np.linalg.inv(_curvature(x, labeled, rates, penalty)))


def _curvature(x: Floats, labeled: Floats, rates: Floats, penalty: Floats) -> Floats:
    """Give minus the second derivatives of the penalised log likelihood."""
    weight = labeled * rates * (1 - rates)
    information = np.einsum("...h,hi,hj->...ij", weight, x, x, optimize=True)
    return np.asarray(information + np.diag(penalty + 1e-12))
