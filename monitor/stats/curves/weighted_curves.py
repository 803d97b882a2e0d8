r"""ROC and precision-recall curves of a stratified sample, weighted back to the window.

Each labeled item counts :math:`N_h / n_h` times, so a threshold's true and false positives are
those expected in the window. True and false positive rate do not depend on the prevalence;
precision does, so it can be read at any prevalence (Brabec et al., "On Model Evaluation under
Non-constant Class Imbalance", ICCS 2020, Eq. 8). Sampling the negatives down to reach another
prevalence only adds error (their section 5.1); nothing here does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.estimation.prevalence import precision_at

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.sample import ScoredSample


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """Rates at every threshold that changes them, from "nothing flagged" to "all flagged".

    Parameters
    ----------
    threshold
        Falling, the first one infinite, shape ``(m,)``; an item is flagged at or over it.
    tpr, fpr
        Share of the actual positives, and of the actual negatives, that are flagged there.
    prevalence
        Share of the window that is actually positive.
    """

    threshold: Floats
    tpr: Floats
    fpr: Floats
    prevalence: float

    def precision(self, prevalence: float | None = None) -> Floats:
        """Precision at each threshold, shape ``(m,)``, NaN where nothing is flagged.

        For a population of this prevalence; the window's own if not given.
        """
        at = self.prevalence if prevalence is None else prevalence
        return precision_at(self.tpr, self.fpr, at)

    def flagged_rate(self, prevalence: float | None = None) -> Floats:
        """Share of all items that is flagged at each threshold, shape ``(m,)``."""
        at = self.prevalence if prevalence is None else prevalence
        return self.tpr * at + self.fpr * (1 - at)


def roc_curve(sample: ScoredSample) -> RocCurve:
    """ROC curve of the window, from its labeled sample.

    Raises
    ------
    ValueError
        If the sample holds no actual positive, or no actual negative.

    Notes
    -----
    Equals scikit-learn's ``roc_curve`` with ``sample_weight`` N_h/n_h and
    ``drop_intermediate=False``.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample, ScoredSample
    >>> items = LabeledSample([0, 0, 1, 1], [1, 0, 0, 1], size=[10, 90], flagged=1)
    >>> roc = roc_curve(ScoredSample(items, [0.9, 0.6, 0.1, 0.4]))
    >>> roc.threshold, roc.tpr
    (array([inf, 0.9, 0.6, 0.4, 0.1]), array([0. , 0.1, 0.1, 1. , 1. ]))
    """
    weight, positive = sample.items.weight, sample.items.positive
    total = float(weight[positive].sum()), float(weight[~positive].sum())
    for share, name in zip(total, ("positive", "negative"), strict=True):
        if share == 0:
            message = f"no labeled item is actually {name}, so there is no curve"
            raise ValueError(message)
    threshold, index = np.unique(-sample.score, return_inverse=True)
    hits = np.bincount(index, np.where(positive, weight, 0.0))
    false = np.bincount(index, np.where(positive, 0.0, weight))
    return RocCurve(
        threshold=np.concatenate([[np.inf], -threshold]),
        tpr=_cumulated(np.asarray(hits, dtype=np.float64), total[0]),
        fpr=_cumulated(np.asarray(false, dtype=np.float64), total[1]),
        prevalence=total[0] / sum(total),
    )


def _cumulated(items: Floats, total: float) -> Floats:
    """Run up the share of ``total``, from 0 to 1."""
    return np.concatenate([[0.0], np.minimum(np.cumsum(items) / total, 1.0)])


def average_precision(roc: RocCurve, prevalence: float | None = None) -> float:
    r"""Area under the precision-recall curve without interpolation, at any prevalence.

    .. math:: \mathrm{AP}(\eta) = \sum_i
        (\mathrm{TPR}_i - \mathrm{TPR}_{i-1})\, \mathrm{precision}_i(\eta)

    Parameters
    ----------
    prevalence
        For a population of this prevalence, in (0, 1); the window's own if not given.

    Notes
    -----
    The trapezoidal rule is wrong here: between two points of a precision-recall curve no line
    runs (Davis & Goadrich, ICML 2006). For a curve whose area is right by lines see ``gain``.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample, ScoredSample
    >>> items = LabeledSample([0, 0, 1, 1], [1, 0, 0, 1], size=[10, 90], flagged=1)
    >>> roc = roc_curve(ScoredSample(items, [0.9, 0.6, 0.1, 0.4]))
    >>> round(average_precision(roc), 3), round(average_precision(roc, prevalence=0.05), 3)
    (0.918, 0.41)
    """
    gained = np.diff(roc.tpr)
    precision = roc.precision(prevalence)[1:]
    return float(np.sum(np.where(gained > 0, gained * precision, 0.0)))
