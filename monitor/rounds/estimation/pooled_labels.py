"""Labels of rounds as pooling takes them: by bands as they are, by score cells one rate a class.

A cell holds few labels, so it has no history. All cells of a predicted class are one
stratum of the plain labels that they are worth (`monitor.stats.design.cell_counts`). Of each round
that is at the sizes of the round that is estimated, for what is pooled is about its window: a
window whose scores moved does not change a rate that each cell has kept.

Where a judge's verdicts cut cells or bands, each score cell has its present items, but in every
round the shares of the verdicts that this round found: what is pooled is the rate of the score
cell. A judge that changes without notice moves the shares and the rates by verdict, never that
one. And where it was asked about a sample only, the noise of the shares stays each round's own,
where the present ones would carry theirs into every round alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.beta_mixture import BetaMixture, prior_count
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.design.restratify import EffectiveCounts
from monitor.stats.estimation.cell_matrix import class_counts
from monitor.storage.results.past_counts import score_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.domain.model import Stratum
    from monitor.domain.sample_settings import Sample

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


def cells_to_pool(strata: Sequence[Stratum], sample: Sample) -> NDArray[np.int64] | None:
    """Return the score cell of each stratum, where a class is pooled as one rate.

    None where each band is pooled by itself: bands that no verdict cuts.
    """
    if sample.cells is None and all(one.verdict is None for one in strata):
        return None
    return score_cells(strata)


def is_cut(cells: NDArray[np.int64]) -> bool:
    """Whether verdicts cut score cells into strata."""
    return len(np.unique(cells)) < len(cells)


def labels_of_bands(rounds: Sequence[Counts]) -> list[PooledLabels]:
    """Take the labels of rounds as they are, each band by itself."""
    return [
        PooledLabels(
            each.size, each.labeled.astype(float), each.positive.astype(float), each.is_flagged
        )
        for each in rounds
    ]


def labels_of_classes(
    rounds: Sequence[Counts], now: NDArray[np.int64], cells: NDArray[np.int64]
) -> list[PooledLabels]:
    """Return the labels of rounds by predicted class, at the sizes of one window.

    rounds: One or more, of the same strata.
    now: Items of each stratum in the window that the estimate is about, shape ``(H,)``.
    cells: Score cell of each stratum, shape ``(H,)``.

    >>> counts = Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[26, 19, 65, 90], positive=[16, 18, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... )
    >>> [found] = labels_of_classes([counts], counts.size, np.arange(4))
    >>> found.size, found.labeled.round(1), found.positive.round(1)
    (array([ 160, 9840]), array([ 61.2, 578.1]), array([50.3,  4.9]))
    """
    up = rounds[0].is_flagged
    effective = class_labels(rounds, now, cells)
    size, classes = np.array([now[members].sum() for members in (up, ~up)]), np.array([True, False])
    return [
        PooledLabels(size, effective.labeled[t], effective.positive[t], classes)
        for t in range(len(rounds))
    ]


def class_labels(
    rounds: Sequence[Counts], now: NDArray[np.int64], cells: NDArray[np.int64]
) -> EffectiveCounts:
    """Count what the strata of each class are worth in each round, shape ``(rounds, 2)``.

    Parameters are as in ``labels_of_classes``.
    """
    if not is_cut(cells):
        labeled, positive = (
            np.stack([getattr(each, name) for each in rounds]) for name in ("labeled", "positive")
        )
        return class_counts(now, labeled, positive, rounds[0].is_flagged)
    worth = []
    for each in rounds:
        items, items_now = (_of_cell(size, cells) for size in (each.size, now))
        own = np.where(items > 0, items_now * (each.size / np.maximum(items, 1)), now)
        columns = own, each.labeled, each.positive, each.is_flagged
        worth.append(class_counts(*columns, each.first_phase))
    return EffectiveCounts(
        np.stack([each.positive for each in worth]), np.stack([each.labeled for each in worth])
    )


def _of_cell(size: NDArray[np.int64], cells: NDArray[np.int64]) -> Values:
    """Items of the score cell that each stratum is cut from."""
    return np.asarray(np.bincount(cells, size)[cells], dtype=np.float64)
