r"""Labeled items drawn from score cells, in groups of neighbours that hold enough of them.

What is read item by item, such as a curve or another threshold, needs strata of ten answers or
so: with two or three the spread within a stratum cannot be seen. Neighbouring cells are therefore
one stratum (`cell_counts.groups_of_cells`, by the numbers of answers alone), in which an item still
stands for :math:`w_i = N_h/n_h` items of its own cell. All of a group's labels are worth
:math:`K = (\sum w_i)^2/\sum w_i^2` plain ones (Kish, *Survey Sampling*, 1965), and an item
:math:`K w_i/\sum w_i` of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.sample import LabeledSample
from monitor.stats.design.cell_counts import groups_of_cells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints


class GroupedCells(NamedTuple):
    """A sample whose strata are groups of cells, and the group of each cell, shape ``(C,)``."""

    sample: LabeledSample
    group: Ints


def cell_weights(size: ArrayLike, labeled: ArrayLike) -> Floats:
    """Items of one class that each answer of a cell stands for, shape ``(C,)``; 0 without any.

    The answered cells of a group also stand for the others of it. Cells are in order of score.

    >>> cell_weights([40, 20, 100, 500], [10, 0, 10, 10])
    array([ 4.,  0., 12., 50.])
    """
    sizes, n = np.asarray(size, dtype=np.float64), np.asarray(labeled, dtype=np.int64)
    group = groups_of_cells(n)
    items = np.bincount(group, weights=sizes)
    seen = np.bincount(group, weights=np.where(n > 0, sizes, 0.0))
    scale = np.divide(items, seen, out=np.zeros(len(items)), where=seen > 0)
    return np.asarray(np.where(n > 0, sizes / np.maximum(n, 1), 0.0) * scale[group])


def grouped_cells(
    cell: ArrayLike, positive: ArrayLike, *, size: ArrayLike, flagged: int
) -> GroupedCells:
    """Group the cells of each class until every group has ten labeled items.

    Parameters
    ----------
    cell, positive
        Position of each labeled item's cell in ``size``, and whether it is positive, ``(n,)``.
    size
        Items of the window in each cell, each class in order of score; the first ``flagged`` cells
        are flagged.

    Raises
    ------
    ValueError
        As ``LabeledSample`` does: where a class holds items and none is labeled.

    Examples
    --------
    >>> found = grouped_cells(
    ...     np.repeat([0, 1, 2, 3], [4, 6, 5, 5]), np.zeros(20), size=[40, 12, 500, 1500],
    ...     flagged=2,
    ... )
    >>> found.group, found.sample.size
    (array([0, 0, 1, 1]), array([  52, 2000]))
    >>> np.unique(found.sample.weight).round(6)
    array([  2.,  10., 100., 300.])
    """
    cells, sizes = np.asarray(cell, dtype=np.int64), np.asarray(size, dtype=np.int64)
    answers = np.bincount(cells, minlength=len(sizes))
    up, down = groups_of_cells(answers[:flagged]), groups_of_cells(answers[flagged:])
    group = np.concatenate([up, down + up.max() + 1])
    stands_for = np.concatenate(
        [
            cell_weights(sizes[members], answers[members])
            for members in (slice(flagged), slice(flagged, None))
        ]
    )[cells]
    stratum = group[cells]
    sample = LabeledSample(
        stratum,
        positive,
        size=np.bincount(group, weights=sizes).astype(np.int64),
        flagged=int(up.max()) + 1,
        worth=plain_labels(stands_for, stratum),
    )
    return GroupedCells(sample, group)


def plain_labels(stands_for: Floats, group: Ints) -> Floats:
    """Plain labels that each item is worth within its group, K w / sum w, shape ``(n,)``.

    >>> plain_labels(np.array([10.0, 10.0, 40.0]), np.array([0, 0, 0])).round(3)
    array([0.333, 0.333, 1.333])
    """
    total, squares = (np.bincount(group, weights=each) for each in (stands_for, stands_for**2))
    return np.asarray(stands_for * (total / np.maximum(squares, np.finfo(float).tiny))[group])
