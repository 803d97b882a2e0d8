r"""Labeled items of several rounds as one sample of all their windows together.

Rounds of one history have the same strata, and their windows share no item, so the items of all
windows are one population and the rounds are a stratified sample of it, with strata "round t,
stratum h". An item stands for :math:`w_i = N_{th}/n_{th}` items of its own round's stratum,
whatever other rounds drew, so totals are unbiased also where sizes, plans or rates changed between
rounds. A stratum of all rounds is one of the sample; within it labels are worth
:math:`(\sum w_i)^2/\sum w_i^2` plain ones (Kish 1965, as in ``grouped_cells``), which counts what
differs between rounds as doubt and never as knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.sample import LabeledSample
from monitor.stats.design.cell_counts import groups_of_cells
from monitor.stats.estimation.grouped_cells import GroupedCells, cell_weights, plain_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RoundItems:
    """The labeled items of one round, n of them in H strata.

    Parameters
    ----------
    stratum
        Position of each item's stratum in ``size``, shape ``(n,)``.
    positive
        Whether each item is actually positive, shape ``(n,)``.
    size
        Items of the round's window in each stratum, flagged ones first, each class in order of
        score, shape ``(H,)``.
    """

    stratum: Whole
    positive: NDArray[np.bool_]
    size: Whole


def summed_windows(rounds: Sequence[RoundItems], *, flagged: int, cells: bool) -> GroupedCells:
    """Take the labeled items of rounds as one sample, in their order.

    Parameters
    ----------
    rounds
        One or more, with the same strata.
    flagged
        How many of the strata are flagged.
    cells
        Whether strata are score cells, of which neighbours are put together until they hold ten
        labeled items.

    Raises
    ------
    ValueError
        If a predicted class of a round holds items and none is labeled; without ``cells``, a
        stratum.

    Examples
    --------
    >>> first = RoundItems(np.array([0, 1, 1]), np.array([1, 0, 1], bool), np.array([10, 200]))
    >>> second = RoundItems(np.array([0, 0, 1]), np.array([1, 0, 0], bool), np.array([30, 400]))
    >>> found = summed_windows([first, second], flagged=1, cells=False)
    >>> found.sample.size, found.sample.weight.round(6)
    (array([ 40, 600]), array([ 10., 100., 100.,  15.,  15., 400.]))
    """
    strata = len(rounds[0].size)
    classes = slice(0, flagged), slice(flagged, strata)
    answers = np.stack([np.bincount(each.stratum, minlength=strata) for each in rounds])
    starts = [0, flagged] if cells else range(strata)  # of what needs an answer in each round
    sizes = np.stack([each.size for each in rounds])
    held, seen = (np.add.reduceat(each, starts, axis=1) for each in (sizes, answers))
    if np.any((held > 0) & (seen == 0)):
        message = "a stratum of a round holds items and none of them is labeled"
        raise ValueError(message)
    up, down = (
        groups_of_cells(answers[:, of].sum(axis=0)) if cells else np.arange(of.stop - of.start)
        for of in classes
    )
    group = np.concatenate([up, down + up.max() + 1])
    weights = np.stack(
        [
            np.concatenate([cell_weights(size[of], answered[of]) for of in classes])
            for size, answered in zip(sizes, answers, strict=True)
        ]
    )
    stands_for = np.concatenate(
        [row[each.stratum] for row, each in zip(weights, rounds, strict=True)]
    )
    of = group[np.concatenate([each.stratum for each in rounds])]
    sample = LabeledSample(
        of,
        np.concatenate([each.positive for each in rounds]),
        # whole, but where a cell without an answer is taken with neighbours of another group
        size=np.bincount(of, weights=stands_for, minlength=group.max() + 1).round(),
        flagged=int(up.max()) + 1,
        worth=plain_labels(stands_for, of),
    )
    return GroupedCells(sample, group)
