r"""Noise of the shares of strata: of verdicts by a sample, and of a window by its process.

Of the :math:`N_h` items of score cell h a uniform first-phase sample of :math:`m_h` is judged, and
people label among those: double sampling for stratification (Neyman, "Contribution to the theory of
sampling human populations", *JASA* 33, 1938; Cochran, *Sampling Techniques*, 3rd ed. 1977, ch. 12).
Stratum hv of verdict v then has the estimated share :math:`s_{hv} = m_{hv}/m_h`, and to the
variance that labels leave comes the variance of the shares. Of the positives of a class this is

.. math:: \sum_h N_h^2\, \frac{f_h}{m_h - 1} \sum_v s_{hv} (p_{hv} - p_h)^2,
    \qquad p_h = \sum_v s_{hv} p_{hv}

(the second part of the estimator of J. N. K. Rao, "On double sampling for stratification and
analytical surveys", *Biometrika* 60, 1973, doi:10.1093/biomet/60.1.125). For the items of the
window :math:`f_h = 1 - m_h/N_h`, which is 0 where all of a cell is judged: a column of the source.

The rate is one of the process that windows are drawn from, and the window is a first-phase sample
of that. So for the rate :math:`f_h = 1` for every judge, and the score cells of a class of
:math:`N = \sum_h N_h` items differ in their shares, which adds

.. math:: \frac{N^2}{N - 1} \sum_h \frac{N_h}{N} (p_h - p)^2, \qquad p = \sum_h \frac{N_h}{N} p_h.

If all items are judged, the two terms sum to the variance of one sample of N items.

Here :math:`p_{hv}` are the rates of groups of cells (``cell_counts``). Their own noise makes the
term larger by :math:`\sum_v s_{hv}(1 - s_{hv}) \mathrm{Var}(p_{hv})/m_h`, which Rao subtracts.
It is kept: beside the variance that the same noise has in the class's rate it is about one in as
many as the judged items of the rarer verdict, and without it no estimate falls below 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats
    from monitor.stats.core.counts import FirstPhase


def share_covariance(
    first_phase: FirstPhase | None, size: ArrayLike, of_item: Floats, *, in_window: bool = False
) -> Floats:
    """Covariance of K totals over all strata that the noise of the shares makes, shape ``(K, K)``.

    An item of each stratum adds ``of_item``, ``(H, K)``, to the totals, which are of the window's
    own items if ``in_window``.
    """
    noise = ShareNoise.of(first_phase, size, in_window=in_window)
    mean = noise.share @ of_item
    each = (noise.factor @ noise.share)[:, np.newaxis] * of_item
    return np.asarray(of_item.T @ each - mean.T @ (noise.factor[:, np.newaxis] * mean))


def share_variances(
    first_phase: FirstPhase, size: Floats, is_flagged: Bools, rates: Floats
) -> dict[str, float]:
    """Variance of precision and of recall that no label takes away, by the delta method."""
    of_class = [
        float(ShareNoise.of(first_phase.taken(of), size[of], in_window=True).variance(rates[of]))
        for of in (is_flagged, ~is_flagged)
    ]
    hits, positive = float((size * rates)[is_flagged].sum()), float(size @ rates)
    recall = hits / max(positive, 1e-9)
    of_recall = (1 - recall) ** 2 * of_class[0] + recall**2 * of_class[1]
    return {
        "precision": of_class[0] / max(float(size[is_flagged].sum()), 1.0) ** 2,
        "recall": of_recall / max(positive, 1e-9) ** 2,
    }


@dataclass(frozen=True, slots=True, eq=False)
class ShareNoise:
    """Shares of the strata of one class, and what their noise weighs.

    ``share`` is :math:`s_{hv}` in the parent of each stratum, 0 in the others, and, for the rate,
    its share of the class in a last row; shape ``(rows, C)``. ``factor`` is what the variance
    within each row weighs: :math:`N_h^2 f_h / (m_h - 1)` of a parent, less what the last row has
    of that already.
    """

    share: Floats
    factor: Floats

    @classmethod
    def of(cls, first_phase: FirstPhase | None, size: ArrayLike, *, in_window: bool) -> ShareNoise:
        """Take the strata of a class, whose items by estimate are ``size``, shape ``(C,)``.

        Without a first phase all of them are counted.
        """
        items = np.asarray(size, float)
        total = float(items.sum())
        share, factor = np.zeros((0, items.size)), np.zeros(0)
        of_class = total**2 / max(total - 1, 1.0)
        if first_phase is not None:
            cell = first_phase.parent == np.unique(first_phase.parent)[:, np.newaxis]
            judged, held = (cell @ np.asarray(each, float) for each in (first_phase.judged, size))
            share = cell * first_phase.judged / np.maximum(judged, 1)[:, np.newaxis]
            is_open = 1 - in_window * np.minimum(judged / np.maximum(held, 1), 1.0)
            factor = held**2 * is_open / np.maximum(judged - 1, 1)
            factor -= (not in_window) * np.minimum(factor, of_class * held / max(total, 1.0))
        if in_window:
            return cls(share, factor)
        whole = items[np.newaxis] / max(total, 1.0)
        return cls(np.vstack([share, whole]), np.append(factor, of_class))

    def variance(self, rates: Floats) -> Floats:
        """Variance of the number of positives at the rates of the strata, shape ``(..., C)``."""
        between = rates**2 @ self.share.T - (rates @ self.share.T) ** 2
        return np.asarray(np.maximum(between, 0.0) @ self.factor)
