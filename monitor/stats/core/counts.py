"""Counts of a labeled stratified sample: what every estimate is computed from.

A window's predictions are cut into strata: predicted positives (``flagged``) and predicted
negatives (``passed``), each cut further by score band where scores exist. Stratum sizes are
counted, not sampled; the labels come from items drawn uniformly without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.fixed_text import fixed_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Interval:
    """A point and the two ends of an interval around it.

    ``low <= high`` always; the point may lie outside only where a method allows it.
    """

    point: float
    low: float
    high: float

    def __str__(self) -> str:
        point, low, high = fixed_texts((self.point, self.low, self.high))
        return f"{point} [{low}, {high}]"


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The labeled sample of one window: its flagged strata, then its passed strata.

    ``of_arrays`` and ``of_matrix`` check and order them; made directly of arrays of shape ``(H,)``,
    as where they were stored, counts are taken as they are.

    Parameters
    ----------
    size, labeled, positive
        Items in each stratum of the window, those labeled 1 or 0, and those labeled 1.
    is_flagged
        Which strata are predicted positive.
    rows
        Rows that the sizes were estimated from, where these are of a log that keeps a sample of the
        items (``sampled_sizes``), negative where sizes are amounts; None if they were counted.
    group_effects
        Design effects of the flagged and of the passed labels, where items belong to groups
        (``design.label_groups``): estimates of the ``rate`` divide what labels are worth by them.
    cell
        Score cell, rising with the score, that each stratum is cut from where verdicts cut score
        cells; None if none is cut.

    Examples
    --------
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> counts.positive
    array([138, 108])
    """

    size: Ints
    labeled: Ints
    positive: Ints
    is_flagged: Bools
    rows: Ints | None = None
    group_effects: tuple[float, float] = (1.0, 1.0)
    cell: Ints | None = None

    @property
    def effects(self) -> Floats:
        """The design effect of each stratum's labels, ``(H,)``."""
        return np.where(self.is_flagged, *self.group_effects)

    @classmethod
    def of_matrix(
        cls, *, tp: int, fp: int, fn: int, tn: int, flagged_size: int, passed_size: int
    ) -> Counts:
        """Make counts of a labeled confusion matrix with one stratum per predicted class."""
        return cls.of_arrays(
            size=[flagged_size, passed_size],
            labeled=[tp + fp, fn + tn],
            positive=[tp, fn],
            is_flagged=[True, False],
        )

    @classmethod
    def of_arrays(
        cls,
        *,
        size: ArrayLike,
        labeled: ArrayLike,
        positive: ArrayLike,
        is_flagged: ArrayLike,
        rows: ArrayLike | None = None,
    ) -> Counts:
        """Make counts from parallel arrays over strata, shape ``(H,)``, in any order.

        A ValueError if shapes differ, a predicted class has no stratum, or not
        ``0 <= positive <= labeled <= size``.
        """
        up = np.asarray(is_flagged, dtype=np.bool_)
        columns = [np.asarray(each).astype(np.int64) for each in (size, labeled, positive)]
        if any(each.shape != up.shape for each in columns) or up.ndim != 1:
            shapes = ", ".join(str(each.shape) for each in (*columns, up))
            message = f"size, labeled, positive and is_flagged have other shapes: {shapes}"
            raise ValueError(message)
        if up.all() or not up.any():
            message = "both predicted classes need at least one stratum (its size may be 0)"
            raise ValueError(message)
        order = np.argsort(~up, kind="stable")
        items, n, y = (each[order] for each in columns)
        for h in np.flatnonzero((y < 0) | (y > n) | (n > items)):
            message = (
                "a stratum needs 0 <= positive <= labeled <= size, got "
                f"positive={y[h]}, labeled={n[h]}, size={items[h]}"
            )
            raise ValueError(message)
        counted = None if rows is None else np.asarray(rows).astype(np.int64)[order]
        return cls(items, n, y, up[order], counted)


def summed(rounds: Sequence[Counts]) -> Counts:
    """Add up rounds with the same strata, which no verdict cuts, as if they were one."""
    return Counts.of_arrays(
        size=np.sum([counts.size for counts in rounds], axis=0),
        labeled=np.sum([counts.labeled for counts in rounds], axis=0),
        positive=np.sum([counts.positive for counts in rounds], axis=0),
        is_flagged=rounds[0].is_flagged,
    )


def side_by_side(rounds: Sequence[Counts]) -> Counts:
    """Return the strata of all rounds, one round after the other, as if of one window."""
    columns = ("size", "labeled", "positive", "is_flagged")
    size, labeled, positive, is_flagged = (
        np.concatenate([getattr(counts, name) for counts in rounds]) for name in columns
    )
    return Counts(size, labeled, positive, is_flagged)


def completed(counts: Counts, missing: Ints, positive: Bools) -> Counts:
    """Answer the ``missing`` items of each stratum: all 1 where ``positive``, else all 0.

    A ValueError if a stratum has fewer unlabeled items than are missing.
    """
    full = Counts.of_arrays(
        size=counts.size,
        labeled=counts.labeled + missing,
        positive=counts.positive + positive * missing,
        is_flagged=counts.is_flagged,
        rows=counts.rows,
    )
    return replace(full, group_effects=counts.group_effects, cell=counts.cell)
