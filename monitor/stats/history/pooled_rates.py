r"""The point of a pooled estimate: a round's rates, drawn toward its history as far as they agree.

The mean of a pooled posterior lags: after a change it lies between the old rate and the new one
for rounds. Here each class's rates are

.. math:: (1-k)\, y_h/n_h + k\, m_h, \quad
    k = \tfrac34 \frac{V}{V+V_0}\, e^{-\frac34 z^2}, \quad
    z = \frac{\sum_h N_h (y_h/n_h - m_h)}{\sqrt{V+V_0}},

with :math:`m_h` the mean of the prior of the round, :math:`V_0` the variance that the
class's positives have under it, and :math:`V = \sum_h N_h^2 c_h(1-c_h)/n_h` that of the round's
labels, :math:`c_h` halfway between :math:`y_h/n_h` and :math:`m_h` so that rises and falls count
alike. So k falls to nothing if round and history disagree, for any reason.

Notes
-----
Without doubt in the history and with normal counts, a class that lies :math:`\delta` standard
errors of the round from its history has the bias
:math:`\tfrac34\delta\,(2/5)^{3/2} e^{-3\delta^2/10}` standard errors: at most .149, at
:math:`\delta = 1.29`, however large and old the change is. With the history right the root mean
square error is .83 of the round's alone. Both are of the form
:math:`k = a\,e^{-z^2/(2c^2)}`; a and c make the second the least where the first is .15
(`benchmarks/pooling_coverage.py` measures both).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats


PULL = 0.75
"""Weight of an exact history that agrees with the round entirely."""

FALL = 0.75
"""How fast that weight falls with the squared distance of the two, in standard errors."""


def pooled_rates(
    history: tuple[ArrayLike, ArrayLike, ArrayLike],
    positive: ArrayLike,
    labeled: ArrayLike,
    size: ArrayLike,
) -> Floats:
    """Draw the rates of one class toward its history as far as they agree with it, ``(..., H)``.

    A stratum without labels has the history's rate. ``history`` is the prior of the class before
    the round, without its labels: weights ``(..., J)`` and Beta parameters ``(..., J, H)``, as a
    ``BetaMixture`` holds them. The round's labels are effective counts that may be under 1.
    """
    y, n = np.asarray(positive, dtype=np.float64), np.asarray(labeled, dtype=np.float64)
    mean, prior_variance = _class_moments(history, np.where(n > 0, size, 0.0))
    counted = np.where(n > 0, n, 1.0)
    share = np.where(n > 0, y / counted, mean)
    sizes = np.where(n > 0, size, 0.0)
    middle = (share + mean) / 2
    variance = (sizes**2 * middle * (1 - middle) / counted).sum(axis=-1)
    total = np.maximum(variance + prior_variance, np.finfo(np.float64).tiny)
    distance = (sizes * (share - mean)).sum(axis=-1)
    weight = PULL * variance / total * np.exp(-FALL * distance**2 / total)
    return np.asarray(share + weight[..., np.newaxis] * (mean - share))


def _class_moments(
    history: tuple[ArrayLike, ArrayLike, ArrayLike], size: Floats
) -> tuple[Floats, Floats]:
    """Mean of each stratum's rate, and the variance of the class's positives at these sizes."""
    weight, alpha, beta = (np.asarray(part, dtype=np.float64) for part in history)
    worth = alpha + beta
    means = alpha / worth
    mean = (weight[..., np.newaxis] * means).sum(axis=-2)
    sizes = size[..., np.newaxis, :]
    within = (sizes**2 * means * (1 - means) / (worth + 1)).sum(axis=-1)
    apart = (sizes * (means - mean[..., np.newaxis, :])).sum(axis=-1) ** 2
    return mean, (weight * (within + apart)).sum(axis=-1)
