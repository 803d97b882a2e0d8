r"""Sizes of strata that are estimated from a log which keeps a sample of the items.

A log keeps an item of stratum h with probability :math:`k_h`, so its :math:`m_h` rows stand for
:math:`N_h = m_h/k_h` items (Horvitz & Thompson, *JASA* 47, 1952). Given the window, which rows were
kept is a draw, and the sum of a value p over its items has the variance

.. math:: \sum_h v_h p_h^2, \qquad v_h = N_h \frac{1 - k_h}{k_h} = \frac{N_h^2}{m_h} - N_h.

The window is itself a draw of the process that a ``rate`` describes, which adds
:math:`\sum_h N_h p_h^2`, so that :math:`v_h = N_h^2/m_h` there. This is parted in two. The shares
of a class's strata make :math:`\sum_h v_h (p_h - p)^2` (``double_sampling``, which takes
:math:`v_h`). The total of a class varies by :math:`\sum_h v_h` of the kept rows, for either
estimand: the numbers of flagged and passed items of the window are taken as they are. It follows
a Gamma law, as a total does whose items were seen a number of times that is given.

**Amounts.** If a size is an amount :math:`N_h = \sum_i a_i`, the window has it exactly, but for the
process it varies as the sum of :math:`m_h = N_h^2 / \sum_i a_i^2` equal items (Kish, *Survey
Sampling*, 1965), so :math:`v_h = N_h^2/m_h` again. Such rows are written as :math:`-m_h`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.metrics import Matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.core.counts import Counts


def size_variance(size: ArrayLike, rows: ArrayLike | None, *, of_window: bool) -> Floats:
    r"""Return :math:`v_h`, shape ``(H,)``; sizes are counted where ``rows`` is None.

    >>> size_variance([100, 1000], [100, 100], of_window=True).tolist()
    [0.0, 9000.0]
    """
    items = np.asarray(size, dtype=np.float64)
    counted = items if rows is None else np.asarray(rows, dtype=np.float64)
    each = np.divide(items**2, np.abs(counted), out=np.zeros(items.shape), where=counted != 0)
    return np.asarray(np.where(counted > 0, np.maximum(each - items, 0), 0) if of_window else each)


def class_rows(counts: Counts) -> Ints | None:
    r"""Return the rows that know the size of each class as well, flagged first, shape ``(2,)``.

    :math:`(\sum_h N_h)^2 / \sum_h v_h` of a rate; None if the sizes were counted.
    """
    if counts.rows is None:
        return None
    each = size_variance(counts.size, counts.rows, of_window=False)
    classes = (counts.is_flagged, ~counts.is_flagged)
    items, varies = (np.array([of[up].sum() for up in classes]) for of in (counts.size, each))
    rows = np.divide(items**2, varies, out=np.zeros(2), where=varies > 0)
    rows *= -1 if (counts.rows < 0).any() else 1
    return np.asarray(np.rint(rows), dtype=np.int64)


def with_size_noise(matrix: Matrix, counts: Counts, *, seed: int) -> Matrix:
    """Let the totals of both classes vary in the draws of a matrix, as the kept rows let them.

    A matrix of counted sizes stays as it is.
    """
    if counts.rows is None:
        return matrix
    rng = np.random.default_rng([seed, 1])
    variance = size_variance(counts.size, counts.rows, of_window=True)
    up, down = (
        _factors(float(variance[of].sum()), float(counts.size[of].sum()), np.size(matrix.tp), rng)
        for of in (counts.is_flagged, ~counts.is_flagged)
    )
    return Matrix(tp=up * matrix.tp, fp=up * matrix.fp, fn=down * matrix.fn, tn=down * matrix.tn)


def _factors(variance: float, items: float, points: int, rng: np.random.Generator) -> Floats:
    """Draw Gamma variables with mean 1, by the cube of Wilson and Hilferty (1931)."""
    relative = variance / items**2 if items else 0.0
    normal = special.ndtri((rng.permutation(points) + 0.5) / points)
    root = 1 - relative / 9 + normal * np.sqrt(relative) / 3
    drawn = np.maximum(root, 0.0) ** 3
    return np.asarray(drawn / drawn.mean())
