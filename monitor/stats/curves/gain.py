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

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats


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
