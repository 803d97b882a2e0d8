r"""The labels of a stratified sample scaled up to the window: the plain estimate of its matrix.

.. math:: \widehat{TP} = \sum_+ N_h\, y_h / n_h, \quad \widehat{FN} = \sum_- N_h\, y_h / n_h

and the rest of each class's items are negative. Each cell is the unbiased estimate of survey
sampling (Horvitz & Thompson, "A Generalization of Sampling Without Replacement from a Finite
Universe", JASA 47, 1952); with two strata its precision and recall are Eq. 2 of Shang et al.
(AISTATS 2023). The points of all metrics are read off this one matrix, so they agree with each
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.metrics import Matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats


_ROUNDING = 1e-9  # of weighted counts, whose sums may err in the last digits


def scaled_matrix(
    size: ArrayLike, labeled: ArrayLike, positive: ArrayLike, is_flagged: ArrayLike
) -> Matrix:
    r"""Scale each stratum's labels to its items, and add them up by predicted class.

    A stratum that holds items but no label is taken to be like the labeled ones of its class
    together, :math:`\sum_h N_h (y_h/n_h) / \sum_h N_h`. A class that holds items but no label has
    NaN cells: nothing is known of it, and a metric that depends on it is NaN. A class without
    items has cells of 0. Sizes and labels, whole or weighted, have the shape ``(H,)``, positives
    ``(..., H)``, for one sample or for many; so have the cells, without the last axis.
    """
    sizes, n, y = (np.asarray(each, dtype=np.float64) for each in (size, labeled, positive))
    up = np.asarray(is_flagged, dtype=np.bool_)
    _check(sizes, n, y, up)
    share = np.minimum(np.divide(y, n, out=np.zeros_like(y), where=n > 0), 1.0)
    tp, fp = _class_cells(sizes[up], n[up], share[..., up])
    fn, tn = _class_cells(sizes[~up], n[~up], share[..., ~up])
    return Matrix(tp=tp, fp=fp, fn=fn, tn=tn)


def _class_cells(size: Floats, labeled: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Positives and negatives among one class's items, from the shares of its labeled strata."""
    weight = np.where(labeled > 0, size, 0.0)
    total, seen = size.sum(), weight.sum()
    if total == 0:
        nothing = np.zeros(share.shape[:-1])
        return nothing, nothing
    if seen == 0:
        unknown = np.full(share.shape[:-1], np.nan)
        return unknown, unknown
    weight *= total / seen  # the strata without labels follow the others
    return share @ weight, (1 - share) @ weight


def _check(size: Floats, labeled: Floats, positive: Floats, is_flagged: Bools) -> None:
    if not size.shape == labeled.shape == is_flagged.shape == positive.shape[-1:]:
        message = (
            "size, labeled and is_flagged need one value per stratum, and so does the last axis "
            f"of positive; got the shapes {size.shape}, {labeled.shape}, {is_flagged.shape} and "
            f"{positive.shape}"
        )
        raise ValueError(message)
    if np.any(size < 0) or not np.all((positive >= 0) & (positive <= labeled * (1 + _ROUNDING))):
        message = (
            "a stratum needs size >= 0 and 0 <= positive <= labeled, got "
            f"size={size.tolist()}, labeled={labeled.tolist()}, positive={positive.tolist()}"
        )
        raise ValueError(message)
