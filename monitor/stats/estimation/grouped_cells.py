r"""Labeled items drawn from score cells, in groups of neighbours that hold enough of them.

What is read item by item, such as a curve or another threshold, needs strata of ten answers or
so: with two or three the spread within a stratum cannot be seen. Neighbouring cells are therefore
one stratum (`cell_counts.groups_of_cells`, by the numbers of answers alone), in which an item still
stands for :math:`w_i = N_h/n_h` items of its own cell. All of a group's labels are worth
:math:`K = (\sum w_i)^2/\sum w_i^2` plain ones (Kish, *Survey Sampling*, 1965), and an item
:math:`K w_i/\sum w_i` of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.sample import LabeledSample
from monitor.stats.design.cell_counts import groups_of_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


class GroupedCells(NamedTuple):
    """A sample whose strata are groups of cells, and the group of each cell, shape ``(C,)``."""

    sample: LabeledSample
    group: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RoundItems:
    """The labeled items of one round, n of them in H strata, and what was counted in its window.

    Of each item, shape ``(n,)``: the position of its stratum, whether it is actually positive, and
    whether the other classifier flags it. Of each stratum, shape ``(H,)``, flagged ones first, each
    class in order of score: its items, and how many of them the other classifier flags.
    """

    stratum: Ints
    positive: Bools
    other: Bools
    size: Ints
    other_flagged: Ints


def cell_weights(size: ArrayLike, labeled: ArrayLike) -> Floats:
    """Items of one class that each answer of a cell stands for, shape ``(C,)``; 0 without any.

    The answered cells of a group also stand for the others of it. Cells are in order of score.
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

    ``cell`` is the position of each labeled item's cell in ``size``, the items of the window in
    each cell, each class in order of score; the first ``flagged`` cells are flagged. A ValueError
    if a class holds items and none is labeled.
    """
    items = np.asarray(cell, dtype=np.int64), np.asarray(positive, dtype=np.bool_)
    sizes, nothing = np.asarray(size, dtype=np.int64), np.zeros(0)
    one = RoundItems(*items, nothing.astype(np.bool_), sizes, nothing.astype(np.int64))
    return summed_windows([one], flagged=flagged, cells=True)


def summed_windows(rounds: Sequence[RoundItems], *, flagged: int, cells: bool) -> GroupedCells:
    """Take the labeled items of rounds as one sample, in their order.

    Of score ``cells`` neighbors are grouped until they hold ten labeled items a round; a stratum
    stays by itself. A ValueError if a class of cells, or a stratum, of a round holds items and none
    is labeled.
    """
    strata = len(rounds[0].size)
    classes = slice(0, flagged), slice(flagged, strata)
    sizes = np.stack([each.size for each in rounds])
    answers = np.stack([np.bincount(each.stratum, minlength=strata) for each in rounds])
    starts = [0, flagged] if cells else range(strata)  # of what needs an answer in each round
    held, seen = (np.add.reduceat(each, starts, axis=1) for each in (sizes, answers))
    if np.any((held > 0) & (seen == 0)):
        message = "a stratum of a round holds items and none of them is labeled"
        raise ValueError(message)
    up, down = (
        groups_of_cells(answers[:, members].mean(axis=0))
        if cells
        else np.arange(members.stop - members.start)
        for members in classes
    )
    group = np.concatenate([up, down + up.max() + 1])
    weights = [
        np.concatenate([cell_weights(size[members], answered[members]) for members in classes])
        for size, answered in zip(sizes, answers, strict=True)
    ]
    stands_for = np.concatenate(
        [row[each.stratum] for row, each in zip(weights, rounds, strict=True)]
    )
    stratum = group[np.concatenate([each.stratum for each in rounds])]
    sample = LabeledSample(
        stratum,
        np.concatenate([each.positive for each in rounds]),
        # whole, but where a cell without an answer is taken with neighbours of another group
        size=np.bincount(stratum, weights=stands_for, minlength=group.max() + 1).round(),
        flagged=int(up.max()) + 1,
        worth=plain_labels(stands_for, stratum),
    )
    return GroupedCells(sample, group)


def plain_labels(stands_for: Floats, group: Ints) -> Floats:
    """Plain labels that each item is worth within its group, K w / sum w, shape ``(n,)``."""
    total, squares = (np.bincount(group, weights=each) for each in (stands_for, stands_for**2))
    return np.asarray(stands_for * (total / np.maximum(squares, np.finfo(float).tiny))[group])
