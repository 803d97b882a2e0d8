r"""Labeled items one by one, where counts per stratum are not enough: scores and decisions.

Counts are all that is needed for the classifier as it is. A curve, another threshold or another
classifier cuts strata in two, and then each labeled item matters: its score, or what the other
classifier says of it. An item of stratum h stands for :math:`N_h / n_h` items of the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, init=False, eq=False)
class LabeledSample:
    """The labeled items of a stratified sample, n of them: where each was drawn and what it is.

    Parameters
    ----------
    stratum, positive
        Position of each item's stratum in ``size``, and whether it is actually positive, ``(n,)``.
    size, flagged
        Items of the window in each stratum, ``(H,)``, of which the first ``flagged`` are flagged.
    worth
        Labels that each item counts for, shape ``(n,)``, if the labels of a stratum were not all
        drawn with one chance (``grouped_cells``); one if not given.
    may_lack_labels
        Whether a stratum may hold items and no label; it then may look like anything.

    Raises
    ------
    ValueError
        If shapes disagree, a position is not one of a stratum, or a stratum holds fewer items than
        were labeled, or items of which none is labeled.

    Examples
    --------
    >>> LabeledSample([0, 0, 1, 1], [1, 0, 0, 1], size=[10, 90], flagged=1).weight
    array([ 5.,  5., 45., 45.])
    """

    stratum: Ints
    positive: Bools
    size: Ints
    flagged: int
    worth: Floats

    def __init__(
        self,
        stratum: ArrayLike,
        positive: ArrayLike,
        *,
        size: ArrayLike,
        flagged: int,
        worth: ArrayLike | None = None,
        may_lack_labels: bool = False,
    ) -> None:
        object.__setattr__(self, "stratum", np.asarray(stratum, dtype=np.int64))
        object.__setattr__(self, "positive", np.asarray(positive, dtype=np.bool_))
        object.__setattr__(self, "size", np.asarray(size, dtype=np.int64))
        object.__setattr__(self, "flagged", flagged)
        item_worth = np.ones(self.stratum.shape) if worth is None else worth
        object.__setattr__(self, "worth", np.asarray(item_worth, dtype=np.float64))
        self._check(least=0 if may_lack_labels else 1)

    def _check(self, least: int) -> None:
        if self.stratum.ndim != 1 or self.stratum.shape != self.positive.shape:
            message = (
                f"strata {self.stratum.shape} and labels {self.positive.shape} must be two arrays "
                "of one length"
            )
            raise ValueError(message)
        if self.worth.shape != self.stratum.shape or not np.all(self.worth > 0):
            message = f"every one of {len(self.stratum)} items must be worth more than 0 labels"
            raise ValueError(message)
        if not 0 < self.flagged < len(self.size):
            message = f"{self.flagged} of {len(self.size)} strata flagged; expected some of each"
            raise ValueError(message)
        if np.any((self.stratum < 0) | (self.stratum >= len(self.size))):
            message = f"a stratum is a position from 0 to {len(self.size) - 1}"
            raise ValueError(message)
        self._check_labeled(least)

    def _check_labeled(self, least: int) -> None:
        for h, (n, size) in enumerate(zip(self.labeled, self.size, strict=True)):
            if n > size or (n < least and size > 0):
                message = f"stratum {h} has {n} labeled of {size} items; expected {least} to {size}"
                raise ValueError(message)

    @property
    def labeled(self) -> Ints:
        """Labeled items in each stratum, shape ``(H,)``."""
        return np.bincount(self.stratum, minlength=len(self.size))

    @property
    def weight(self) -> Floats:
        """Items of the window that each labeled one stands for, N_h / n_h, shape ``(n,)``."""
        worth = np.bincount(self.stratum, weights=self.worth, minlength=len(self.size))
        per_label = np.divide(self.size, worth, out=np.zeros(len(worth)), where=worth > 0)
        return np.asarray(per_label[self.stratum] * self.worth)

    @property
    def is_flagged(self) -> Bools:
        """Whether each item was predicted positive, shape ``(n,)``."""
        return np.asarray(self.stratum < self.flagged)

    @property
    def counts(self) -> Counts:
        """The same sample as counts per stratum."""
        strata = len(self.size)
        return Counts.of_arrays(
            size=self.size,
            labeled=self.labeled,
            positive=np.bincount(self.stratum[self.positive], minlength=strata),
            is_flagged=np.arange(strata) < self.flagged,
        )


@dataclass(frozen=True, slots=True, init=False, eq=False)
class ScoredSample:
    """Labeled items with their scores: what curves and other thresholds are read from.

    Parameters
    ----------
    items
        The labeled sample, n items of H strata.
    score
        Score of each item, higher for "rather positive", shape ``(n,)``.
    low, high
        Scores that a stratum can hold, ``low <= score < high``, shape ``(H,)`` each; where not
        given, all scores.

    Raises
    ------
    ValueError
        If a score is missing or infinite, or lies outside its stratum's bounds.

    Examples
    --------
    >>> items = LabeledSample([0, 0, 1, 1], [1, 0, 0, 1], size=[10, 90], flagged=1)
    >>> scored = ScoredSample(items, [0.9, 0.6, 0.1, 0.4], low=[0.5, -np.inf], high=[np.inf, 0.5])
    >>> scored.possible_at(0.3).tolist()  # per stratum: may an item be under it, and over it?
    [[False, True], [True, True]]
    """

    items: LabeledSample
    score: Floats
    low: Floats
    high: Floats

    def __init__(
        self,
        items: LabeledSample,
        score: ArrayLike,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> None:
        strata = len(items.size)
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "score", np.asarray(score, dtype=np.float64))
        for name, bound, none in (("low", low, -np.inf), ("high", high, np.inf)):
            values = np.full(strata, none) if bound is None else bound
            object.__setattr__(self, name, np.asarray(values, dtype=np.float64))
        self._check()

    def _check(self) -> None:
        if self.score.shape != self.items.stratum.shape or not np.all(np.isfinite(self.score)):
            message = "every labeled item needs a finite score"
            raise ValueError(message)
        low, high = self.low[self.items.stratum], self.high[self.items.stratum]
        outside = (self.score < low) | (self.score >= high)
        if outside.any():
            i = int(np.flatnonzero(outside)[0])
            message = (
                f"{outside.sum()} scores lie outside of their stratum, such as {self.score[i]:g} "
                f"in one from {low[i]:g} to {high[i]:g}"
            )
            raise ValueError(message)

    def possible_at(self, threshold: float) -> Bools:
        """Whether a stratum may hold scores under a threshold, and at or over it: ``(H, 2)``."""
        return np.column_stack([self.low < threshold, self.high > threshold])
