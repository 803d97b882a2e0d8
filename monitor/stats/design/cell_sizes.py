r"""How many labels each score cell gets: an expected number, then a whole one by chance.

Expected sizes :math:`\mu_h` are Neyman's, in proportion to :math:`N_h\sqrt{g_h(1-g_h)}` within
each predicted class, g the rates of ``recalibration``; of the passed labels a share goes by size,

.. math:: \mu_h = n_+ q_h \ \text{or}\ n_- q_h, \qquad
    q_h = (1-s)\frac{N_h\sqrt{g_h(1-g_h)}}{\sum N\sqrt{g(1-g)}} + s\frac{N_h}{\sum N}

(s = 0 in the flagged class), and no cell gets fewer than a floor or more than it holds. The floors
of flagged cells follow their sizes too (``least_sizes``). The variances of precision and recall are
then :math:`A/n_+` and :math:`B/n_+ + C/n_-`, so the fewest labels for two margins follow in closed
form.

Whole numbers come from one uniform u of the round,

.. math:: n_h = \lfloor C_h + u \rfloor - \lfloor C_{h-1} + u \rfloor,
    \qquad C_h = \sum_{k \le h} \mu_k

(systematic sampling, Madow, *Annals of Mathematical Statistics* 20, 1949): each is within one of
:math:`\mu_h`, their total within one of :math:`\sum\mu_h`, and their mean is :math:`\mu_h`, so an
item is drawn with probability :math:`\mu_h/N_h` exactly. Given the n_h, the items of a cell are
equally probable.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.core.levels import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


CELL_FLOOR = 2.0
"""Expected labels of a cell at least, so that systematic rounding leaves each with two."""

FLAGGED_BY_SIZE = 1.25
"""Sum of the flagged cells' floors by size, as a multiple of the sum of their plain floors. Most
items may be in a few cells that look pure, where two labels each hardly ever show a wrong one."""

_ROUNDING = 1e-9  # a running sum this little under a whole number means that number


def expected_sizes(
    size: ArrayLike,
    is_flagged: ArrayLike,
    rates: ArrayLike,
    *,
    share: float,
    labels: float | None = None,
    margins: Mapping[str, float] | None = None,
    level: float = 0.95,
    floor: float = CELL_FLOOR,
) -> Floats:
    """Share labels out over cells: a total, or the fewest that keep two margins.

    Expected numbers, shape ``(H,)``, not yet whole. Both classes hold items, and ``rates`` lie
    strictly between 0 and 1. ``share`` of the passed labels, in [0, 1], goes by size. Without
    ``labels`` in all, as many as ``margins`` of precision and recall need; these are equal if only
    ``labels`` is given. ``floor`` is the fewest labels expected in a cell that holds as many.

    A ValueError if neither labels nor margins are given, a class has no items, or a number is out
    of range.
    """
    items, up = np.asarray(size, dtype=np.float64), np.asarray(is_flagged, dtype=np.bool_)
    guess = np.asarray(rates, dtype=np.float64)
    half_widths = {"precision": 0.05, "recall": 0.05} if margins is None else margins
    _check(items, up, guess, labels, margins, share)
    shares = np.zeros(len(items))
    for members, by_size in ((up, 0.0), (~up, share)):
        spread = items[members] * np.sqrt(guess[members] * (1 - guess[members]))
        shares[members] = (1 - by_size) * spread / spread.sum()
        shares[members] += by_size * items[members] / items[members].sum()
    low = least_sizes(items, up, items, floor)
    flagged, passed = _of_classes(items, up, guess, shares, half_widths, level)
    if labels is not None:
        if labels <= low.sum():
            return np.asarray(low * labels / low.sum())
        most = labels - float(low[~up].sum())
        flagged = min(max(labels * flagged / (flagged + passed), float(low[up].sum())), most)
        passed = labels - flagged
    expected = np.empty(len(items))
    for members, total in ((up, flagged), (~up, passed)):
        expected[members] = _between(shares[members], total, low[members], items[members])
    return expected


def least_sizes(size: Floats, is_flagged: Bools, most: Floats, floor: float = CELL_FLOOR) -> Floats:
    r"""Fewest labels to expect of each cell, shape ``(H,)``; never over ``most``, what it can give.

    With the floor f, of H flagged cells that hold items :math:`\max\{f, 1.25 f N_h/\bar N\}`, with
    :math:`\bar N = \sum N/H`. Of a passed cell, f: its class has a share by size.
    """
    flagged = np.where(is_flagged, size, 0.0)
    mean = float(flagged.sum()) / max(int((flagged > 0).sum()), 1)
    by_size = FLAGGED_BY_SIZE * floor * flagged / (mean or 1.0)
    return np.minimum(np.maximum(floor, by_size), most)


def systematic_sizes(expected: ArrayLike, uniform: ArrayLike) -> Ints:
    """Round expected numbers, shape ``(..., H)``, to whole ones by one uniform u in [0, 1) each.

    >>> systematic_sizes([2.4, 3.3, 2.3], [0.0, 0.5, 0.7]).tolist()
    [[2, 3, 3], [2, 4, 2], [3, 3, 2]]
    """
    ends = np.cumsum(np.asarray(expected, dtype=np.float64), axis=-1)
    u = np.asarray(uniform, dtype=np.float64)[..., np.newaxis]
    steps = np.floor(ends + u + _ROUNDING)
    return np.diff(steps, axis=-1, prepend=np.zeros((*steps.shape[:-1], 1))).astype(np.int64)


def _of_classes(
    size: Floats,
    up: Bools,
    rates: Floats,
    shares: Floats,
    margins: Mapping[str, float],
    level: float,
) -> tuple[float, float]:
    """Fewest labels of the flagged and of the passed class that keep both margins."""
    z = normal_quantile(level)
    positive = size * rates
    tp, positives = float(positive[up].sum()), float(positive.sum())
    recall = tp / positives
    per_label = size**2 * rates * (1 - rates) / shares
    of_up, of_down = float(per_label[up].sum()), float(per_label[~up].sum())
    room_p, room_r = (margins.get(name, math.inf) / z for name in ("precision", "recall"))
    a = of_up / (float(size[up].sum()) * room_p) ** 2
    b = of_up * ((1 - recall) / (positives * room_r)) ** 2
    c = of_down * (recall / (positives * room_r)) ** 2
    flagged = max(b + math.sqrt(b * c), a)  # the optimum of recall, or what precision needs
    return flagged, c / (1 - b / flagged) if b < flagged else 0.0


def _between(shares: Floats, total: float, low: Floats, size: Floats) -> Floats:
    """Numbers in proportion to shares, each between low and the size, with this total."""
    if total <= low.sum():
        return np.asarray(low * total / low.sum())
    if total >= size.sum():
        return size.copy()

    def excess(scale: float) -> float:
        return float(np.clip(scale * shares, low, size).sum()) - total

    most = float((size / shares)[shares > 0].max())  # at which each holds all its items
    scale = float(optimize.brentq(excess, 0.0, most, xtol=1e-9 * total, rtol=1e-13))
    return np.asarray(np.clip(scale * shares, low, size))


def _check(
    size: Floats,
    up: Bools,
    rates: Floats,
    labels: float | None,
    margins: Mapping[str, float] | None,
    share: float,
) -> None:
    if size.ndim != 1 or not size.shape == up.shape == rates.shape:
        message = (
            f"size {size.shape}, is_flagged {up.shape} and rates {rates.shape} must all have the "
            "shape (H,)"
        )
        raise ValueError(message)
    if labels is None and not margins:
        message = "give labels, margins or both"
        raise ValueError(message)
    if size[up].sum() == 0 or size[~up].sum() == 0:
        message = "cells are planned where both classes hold items; label such a window by class"
        raise ValueError(message)
    if not np.all((rates > 0) & (rates < 1)) or not 0 <= share <= 1:
        message = (
            f"rates must lie strictly between 0 and 1 and share in [0, 1]; got {rates.tolist()} "
            f"and {share!r}"
        )
        raise ValueError(message)
