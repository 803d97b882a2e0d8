r"""Noise of the shares of strata: of verdicts within score cells, and of a window by its process.

A window is a uniform first-phase sample of the process that it is drawn from, and people label
among its items: double sampling for stratification (Neyman, "Contribution to the theory of sampling
human populations", *JASA* 33, 1938; Cochran, *Sampling Techniques*, 3rd ed. 1977, ch. 12). Of the
:math:`m_h` items that the window has in score cell h, stratum hv of verdict v has the share
:math:`s_{hv} = m_{hv}/m_h`, and to the variance that labels leave comes the variance of the shares.
Of the positives of a class with :math:`N_h` items in each cell, those of the window itself or of
another one, this is

.. math:: \sum_h \frac{N_h^2}{m_h - 1} \sum_v s_{hv} (p_{hv} - p_h)^2,
    \qquad p_h = \sum_v s_{hv} p_{hv}

(the second part of the estimator of J. N. K. Rao, "On double sampling for stratification and
analytical surveys", *Biometrika* 60, 1973, doi:10.1093/biomet/60.1.125). The score cells of a class
of :math:`N = \sum_h N_h` items differ in their shares as well, which adds

.. math:: \frac{N^2}{N - 1} \sum_h \frac{N_h}{N} (p_h - p)^2, \qquad p = \sum_h \frac{N_h}{N} p_h.

If :math:`m_h = N_h`, the two terms sum to the variance of one sample of N items. The window's own
items have no such noise: their shares are counted.

Here :math:`p_{hv}` are the rates of groups of cells (``cell_counts``). Their own noise makes the
term larger by :math:`\sum_v s_{hv}(1 - s_{hv}) \mathrm{Var}(p_{hv})/m_h`, which Rao subtracts.
It is kept: beside the variance that the same noise has in the class's rate it is about one in as
many as the items of the rarer verdict, and without it no estimate falls below 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class CountedShares:
    """Items from which the shares of strata within their score cells were counted, by stratum.

    ``counted`` are the items of each stratum in the window that was labeled, ``cell`` is the score
    cell that each is cut from, any numbers from 0; ``(H,)`` each.
    """

    counted: Ints
    cell: Ints

    def taken(self, index: Ints | Bools) -> CountedShares:
        """Take some strata; strata of one cell belong together."""
        return CountedShares(self.counted[index], self.cell[index])


@dataclass(frozen=True, slots=True, eq=False)
class ShareNoise:
    """Shares of the strata of one class, and what their noise weighs.

    ``share`` is :math:`s_{hv}` in the cell of each stratum, 0 in the others, and the stratum's
    share of the class in a last row; shape ``(rows, C)``. ``factor`` is what the variance within
    each row weighs: :math:`N_h^2 / (m_h - 1)` of a cell, less what the last row has of that
    already. ``mean`` has the shares of the class's items, ``(C,)``, which the last row has too
    unless a log keeps its strata with different probabilities.
    """

    share: Floats
    factor: Floats
    mean: Floats

    @classmethod
    def of(
        cls, shares: CountedShares | None, size: ArrayLike, spread: ArrayLike | None = None
    ) -> ShareNoise:
        """Take the strata of a class, whose items are ``size``, shape ``(C,)``.

        Without ``shares`` no stratum is cut from a score cell. ``spread`` is the variance of each
        size (``sampled_sizes.size_variance``); of sizes that were counted, the size.
        """
        items = np.asarray(size, float)
        each = items if spread is None else np.asarray(spread, float)
        total = float(items.sum())
        share, factor = np.zeros((0, items.size)), np.zeros(0)
        varies = float(each.sum())
        counted = total**2 / varies if varies else np.inf  # items that vary as much
        of_class = total**2 / max(counted - 1, 1.0)
        if shares is not None:
            cell = shares.cell == np.unique(shares.cell)[:, np.newaxis]
            counted, held = (cell @ np.asarray(each, float) for each in (shares.counted, size))
            share = cell * shares.counted / np.maximum(counted, 1)[:, np.newaxis]
            factor = held**2 / np.maximum(counted - 1, 1)
            factor -= np.minimum(factor, of_class * held / max(total, 1.0))
        whole = each[np.newaxis] / max(varies, 1e-9)
        return cls(np.vstack([share, whole]), np.append(factor, of_class), items / max(total, 1.0))

    def variance(self, rates: Floats) -> Floats:
        """Variance of the number of positives at the rates of the strata, shape ``(..., C)``."""
        centers = rates @ self.share.T
        between = np.maximum(rates**2 @ self.share.T - centers**2, 0.0)
        between[..., -1] += (centers[..., -1] - rates @ self.mean) ** 2
        return np.asarray(between @ self.factor)
