"""Labels of rounds as pooling takes them: by bands as they are, by score cells one rate a class.

A cell holds few labels, so it has no history. All cells of a predicted class are one
stratum of the plain labels that they are worth (`monitor.stats.design.cell_counts`). Of each round
that is at the sizes of the round that is estimated, for what is pooled is about its window: a
window whose scores moved does not change a rate that each cell has kept.

Where a judge was asked about a sample only, sizes by verdict are estimated, and the present ones
would carry their noise into every round alike, where pooling cannot average it out. So each score
cell has its present items, but in every round the shares of the verdicts that this round found,
with their noise: the rounds stay independent, and what is pooled is the rate of each score cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.beta_mixture import BetaMixture, prior_count
from monitor.stats.core.counts import Counts, StratumArrays
from monitor.stats.core.draws import JointPosterior
from monitor.stats.design.restratify import EffectiveCounts
from monitor.stats.estimation.cell_matrix import class_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PooledLabels:
    """Labels of a round, stratum by stratum as they are pooled: shape ``(H,)`` each.

    ``labeled`` and ``positive`` are effective counts where strata are cells, and then may be more
    than the items of ``size``.
    """

    size: NDArray[np.int64]
    labeled: Values
    positive: Values
    is_flagged: NDArray[np.bool_]

    @property
    def window(self) -> Counts:
        """The strata without their labels."""
        nothing = np.zeros_like(self.size)
        return Counts.of_arrays(
            size=self.size, labeled=nothing, positive=nothing, is_flagged=self.is_flagged
        )

    def posterior(self) -> JointPosterior:
        """Make the posterior of these labels alone, Jeffreys' count shared out in each class."""
        return JointPosterior(
            *(_posterior(*self.of_class(flagged=flagged)) for flagged in (True, False))
        )

    def of_class(self, *, flagged: bool) -> tuple[Values, Values]:
        """Positive and labeled of the strata of one class."""
        chosen = self.is_flagged == flagged
        return self.positive[chosen], self.labeled[chosen]


def _posterior(positive: Values, labeled: Values) -> BetaMixture:
    prior = prior_count(positive.size)
    return BetaMixture.single(prior + positive, prior + labeled - positive)


def labels_to_pool(
    rounds: Sequence[StratumArrays], now: NDArray[np.int64], *, cells: bool
) -> list[PooledLabels]:
    """Take the labels of rounds as they are pooled, cells at the sizes of one window.

    rounds: Counts of the same strata.
    now: Items of each cell in the window that the estimate is about, shape ``(H,)``.
    cells: Whether strata are score cells.

    >>> counts = Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[26, 19, 65, 90], positive=[16, 18, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... )
    >>> [found] = labels_to_pool([counts], counts.size, cells=True)
    >>> found.size, found.labeled.round(1), found.positive.round(1)
    (array([ 160, 9840]), array([ 61.2, 578.1]), array([50.3,  4.9]))
    """
    if not rounds:
        return []
    up = rounds[0].is_flagged
    if not cells:
        return [
            PooledLabels(each.size, each.labeled.astype(float), each.positive.astype(float), up)
            for each in rounds
        ]
    effective = class_labels(rounds, now)
    size, classes = np.array([now[members].sum() for members in (up, ~up)]), np.array([True, False])
    return [
        PooledLabels(size, effective.labeled[t], effective.positive[t], classes)
        for t in range(len(rounds))
    ]


def class_labels(rounds: Sequence[StratumArrays], now: NDArray[np.int64]) -> EffectiveCounts:
    """Count what the cells of each class are worth in each round, shape ``(rounds, 2)``.

    now: Items of each cell in the window that the estimate is about, shape ``(H,)``.
    """
    samples = [each.first_phase for each in rounds if each.first_phase is not None]
    if not samples:
        labeled, positive = (
            np.stack([getattr(each, name) for each in rounds]) for name in ("labeled", "positive")
        )
        return class_counts(now, labeled, positive, rounds[0].is_flagged)
    of_cell, worth = samples[0].summed, []
    for each in rounds:
        items = of_cell(each.size)
        own = np.where(items > 0, of_cell(now) * (each.size / np.maximum(items, 1)), now)
        columns = own, each.labeled, each.positive, each.is_flagged
        worth.append(class_counts(*columns, each.first_phase))
    return EffectiveCounts(
        np.stack([each.positive for each in worth]), np.stack([each.labeled for each in worth])
    )
