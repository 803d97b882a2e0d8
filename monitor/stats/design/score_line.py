r"""Rates of the score bands, smoothed along the score, each without its own answers.

One line for all bands of a round, with an intercept for each predicted class,

.. math:: \mathrm{logit}\,\pi_h = a_{c(h)} + b z_h

z the bands' positions, centred in their class and scaled to a standard deviation of 1. It is
fitted by penalised maximum likelihood: half a count of each answer is shared out over the bands of
a class, so that no intercept is infinite, and b has a normal prior of mean 0. That prior is weak:
a few answers tilt the line whichever way the score runs. A judge's verdict adds a term to the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.design.logit_fit import SLOPE_PRECISION, fitted_log_odds

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats


FIT_WORTH = 10.0
"""Labels that the line is worth beside a band's own answers, where these may count."""


def rates_without_own(
    position: Floats,
    is_flagged: Bools,
    labeled: Floats,
    positive: Floats,
    terms: Floats | None = None,
) -> Floats:
    """Rates of all bands as each band would see them without its own answers.

    Row h of the result, shape ``(..., H, H)`` and strictly between 0 and 1, leaves out the answers
    of band h. There band h has its rate from the line; every other band k has
    :math:`(y_k + w p_k)/(n_k + w)`, its answers and the line's :math:`p_k` at the worth of
    w = ``FIT_WORTH`` labels.

    ``position`` is where each band lies along the score, ``(H,)``; NaN is the middle of its class,
    of which each has two bands or more. Answers have the shape ``(..., H)``: of one round, or of
    many at once. ``terms`` are added to the line, ``(H, Q)``, as of ``recalibration.Cut``.
    """
    bands = len(position)
    out = ~np.eye(bands, dtype=np.bool_)
    x = _regressors(position, is_flagged)
    if terms is not None:
        x = np.column_stack([x, terms])
    line = _line(x, is_flagged, labeled, positive, out)
    n, y = labeled[..., np.newaxis, :], positive[..., np.newaxis, :]
    return np.asarray(np.where(out, (y + FIT_WORTH * line) / (n + FIT_WORTH), line))


def _line(x: Floats, is_flagged: Bools, labeled: Floats, positive: Floats, used: Bools) -> Floats:
    """Fit the line once for each row of ``used``; shape ``(..., rows, H)``."""
    classes = (is_flagged, ~is_flagged)
    half = np.where(is_flagged, *(prior_count(int(members.sum())) for members in classes))
    n = used * (labeled + 2 * half)[..., np.newaxis, :]
    y = used * (positive + half)[..., np.newaxis, :]
    at = np.zeros((*y.shape[:-1], x.shape[1]))
    for i, members in enumerate(classes):
        at[..., i] = special.logit(y[..., members].sum(-1) / n[..., members].sum(-1))
    penalty = np.array([0.0, 0.0, *[SLOPE_PRECISION] * (x.shape[1] - 2)])
    return np.asarray(special.expit(fitted_log_odds(x, n, y, at, penalty)))


def _regressors(position: Floats, is_flagged: Bools) -> Floats:
    """One column for each class, and the positions centred in their class, scaled together."""
    z = np.zeros(len(position))
    for members in (is_flagged, ~is_flagged):
        existing = members & ~np.isnan(position)
        if existing.any():
            z[existing] = position[existing] - position[existing].mean()
    spread = float(z.std())
    return np.stack([is_flagged, ~is_flagged, z / spread if spread > 0 else z], axis=1)
