r"""What labels drawn by old strata are worth in new ones.

When the bands of a class change, its labeled items stay: each has a score, a label and the weight
with which it stood for others, :math:`N_h/n_h` of the stratum it was drawn from. In a new band
items of several old strata meet, and unequal weights are worth fewer labels than equal ones
(Kish, *Survey Sampling*, 1965).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class EffectiveCounts:
    """Labels that a plain random sample of each stratum would have to hold to say as much.

    Shape ``(H,)``, not whole in general.
    """

    positive: Floats
    labeled: Floats

    def over(self, effect: ArrayLike) -> EffectiveCounts:
        """Divide by design effects, of the same shape or one for all."""
        by = np.asarray(effect, dtype=np.float64)
        return EffectiveCounts(self.positive / by, self.labeled / by)

    def whole(self) -> tuple[Ints, Ints]:
        """Positive and labeled in whole labels, never more of them than there are.

        ``labeled`` is rounded down, ``positive`` to the nearest at the same rate, so that a rare
        answer is as often rounded up as down.
        """
        labeled = np.floor(self.labeled + 1e-9)  # 3 minus a rounding error is 3 labels
        rate = np.divide(
            self.positive, self.labeled, out=np.zeros_like(labeled), where=self.labeled > 0
        )
        positive = np.floor(rate * labeled + 0.5)
        return positive.astype(np.int64), labeled.astype(np.int64)


def restratify(
    stratum: ArrayLike,
    positive: ArrayLike,
    weight: ArrayLike,
    *,
    strata: int,
    round_of: ArrayLike | None = None,
) -> EffectiveCounts:
    r"""Effective counts of labeled items in strata they were not drawn by.

    For the items i of one new stratum, with weights w and labels y,

    .. math:: p = \frac{\sum_i w_i y_i}{\sum_i w_i}, \quad
        n = \min\left\{\frac{(\sum_i w_i)^2}{\sum_i w_i^2},\
        \frac{p(1-p)(\sum_i w_i)^2}{\sum_i w_i^2 (y_i-p)^2}\right\}

    labels, of them :math:`np` positive; zeros where a stratum has no item. The first is Kish's
    effective size; the second is what the estimated variance of p says, linearised as for any ratio
    of sums. It is less where the rare answers carry the large weights, and is left out where all
    answers are alike. p is unbiased but for the noise of the denominator, which is of order 1/K.

    Weights of several rounds are first put on one scale, by :math:`\sum_r w / \sum_r w^2` over
    the items that a round has in the stratum, so that its weights sum to its own effective size:
    a round then counts by its labels, as in pooling, not by its window.

    Parameters
    ----------
    stratum
        New stratum of each item, shape ``(K,)``; items outside ``0 .. strata - 1`` belong to none.
    positive
        Label of each item, 0 or 1.
    weight
        How many items of its window each stands for, :math:`N_h/n_h`; above 0.
    strata
        How many new strata there are, H, 1 or more.
    round_of
        Round of each item, whole numbers from 0; None: all are of one.

    A ValueError if the shapes differ, or a label or weight is out of its range.

    Examples
    --------
    >>> found = restratify([0, 0, 0, 1], [1, 0, 0, 1], [1.0, 1.0, 4.0, 2.0], strata=3)
    >>> found.labeled.round(3), found.positive.round(3)
    (array([2., 1., 0.]), array([0.333, 1.   , 0.   ]))
    """
    band, y, w = _checked(stratum, positive, weight, strata)
    rounds = np.zeros_like(band) if round_of is None else np.asarray(round_of, dtype=np.int64)
    if rounds.shape != band.shape:
        message = f"round_of {rounds.shape} must have the shape of stratum {band.shape}"
        raise ValueError(message)
    inside = (band >= 0) & (band < strata)
    band, y = band[inside], y[inside]
    w = _on_one_scale(w[inside], rounds[inside] * strata + band)

    def summed(values: Floats) -> Floats:
        return np.bincount(band, weights=values, minlength=strata).astype(np.float64)

    total, squares = summed(w), summed(w * w)
    rate = np.divide(summed(w * y), total, out=np.zeros(strata), where=total > 0)
    kish = np.divide(total**2, squares, out=np.zeros(strata), where=total > 0)
    noise = summed((w * (y - rate[band])) ** 2)
    varied = noise > 0
    seen = np.divide(rate * (1 - rate) * total**2, noise, out=np.full(strata, np.inf), where=varied)
    labeled = np.minimum(kish, seen)
    return EffectiveCounts(positive=labeled * rate, labeled=labeled)


def _on_one_scale(weight: Floats, cell: Ints) -> Floats:
    """Scale the weights of each cell so that they sum to their effective size."""
    total = np.bincount(cell, weights=weight)
    squares = np.bincount(cell, weights=weight * weight)
    return np.asarray(weight * (total[cell] / squares[cell]))


def _checked(
    stratum: ArrayLike, positive: ArrayLike, weight: ArrayLike, strata: int
) -> tuple[Ints, Floats, Floats]:
    if strata < 1:
        message = f"there must be at least 1 stratum, got {strata!r}"
        raise ValueError(message)
    band = np.asarray(stratum, dtype=np.int64)
    y, w = np.asarray(positive, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    if band.ndim != 1 or not band.shape == y.shape == w.shape:
        message = (
            f"stratum {band.shape}, positive {y.shape} and weight {w.shape} must all have the "
            "shape (K,), one entry per item"
        )
        raise ValueError(message)
    if not np.isin(y, (0, 1)).all():
        message = "a label is 0 or 1"
        raise ValueError(message)
    if not np.all((w > 0) & np.isfinite(w)):
        message = "every weight must be a positive finite number"
        raise ValueError(message)
    return band, y, w
