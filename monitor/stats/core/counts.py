"""Counts of a labeled stratified sample: what every estimate is computed from.

A window's predictions are cut into strata: predicted positives (``flagged``) and predicted
negatives (``passed``), each cut further by score band where scores exist. Stratum sizes are
counted, not sampled; the labels come from items drawn uniformly without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from monitor.fixed_text import fixed_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Ints


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


@dataclass(frozen=True, slots=True)
class StratumCounts:
    """One stratum: its size in the window, how many items were labeled, how many are positive.

    Raises
    ------
    ValueError
        If not ``0 <= positive <= labeled <= size``.
    """

    size: int
    labeled: int
    positive: int

    def __post_init__(self) -> None:
        if not 0 <= self.positive <= self.labeled <= self.size:
            message = (
                "a stratum needs 0 <= positive <= labeled <= size, got "
                f"positive={self.positive}, labeled={self.labeled}, size={self.size}"
            )
            raise ValueError(message)


class StratumArrays(Protocol):
    """What is counted in each stratum, flagged strata first: arrays of shape ``(H,)``."""

    @property
    def size(self) -> Ints:
        """Items in each stratum of the window."""

    @property
    def labeled(self) -> Ints:
        """Items labeled 1 or 0 in each stratum."""

    @property
    def positive(self) -> Ints:
        """Items labeled 1 in each stratum."""

    @property
    def is_flagged(self) -> Bools:
        """Which strata are predicted positive."""


@dataclass(frozen=True, slots=True, eq=False)
class CountArrays:
    """Counts that were checked when they were stored: as `Counts`, made in a hundredth the time."""

    size: Ints
    labeled: Ints
    positive: Ints
    is_flagged: Bools


@dataclass(frozen=True)
class Counts:
    """The labeled sample of one window: its flagged strata, then its passed strata.

    The array properties run over all strata, flagged first, shape ``(H,)``.

    Examples
    --------
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> counts.positive
    array([138, 108])
    """

    flagged: tuple[StratumCounts, ...]
    passed: tuple[StratumCounts, ...]

    def __post_init__(self) -> None:
        if not self.flagged or not self.passed:
            message = "both predicted classes need at least one stratum (its size may be 0)"
            raise ValueError(message)

    @classmethod
    def of_matrix(
        cls, *, tp: int, fp: int, fn: int, tn: int, flagged_size: int, passed_size: int
    ) -> Counts:
        """Make counts of a labeled confusion matrix with one stratum per predicted class."""
        return cls(
            flagged=(StratumCounts(size=flagged_size, labeled=tp + fp, positive=tp),),
            passed=(StratumCounts(size=passed_size, labeled=fn + tn, positive=fn),),
        )

    @classmethod
    def of_arrays(
        cls,
        *,
        size: Sequence[int] | Ints,
        labeled: Sequence[int] | Ints,
        positive: Sequence[int] | Ints,
        is_flagged: Sequence[bool] | Bools,
    ) -> Counts:
        """Make counts from parallel arrays over strata, shape ``(H,)``, in any order."""
        flagged: list[StratumCounts] = []
        passed: list[StratumCounts] = []
        for n, m, y, up in zip(size, labeled, positive, is_flagged, strict=True):
            stratum = StratumCounts(size=int(n), labeled=int(m), positive=int(y))
            (flagged if up else passed).append(stratum)
        return cls(flagged=tuple(flagged), passed=tuple(passed))

    @property
    def strata(self) -> tuple[StratumCounts, ...]:
        """All strata, flagged first."""
        return self.flagged + self.passed

    @cached_property
    def size(self) -> Ints:
        """Items in each stratum of the window."""
        return _fixed([s.size for s in self.strata])

    @cached_property
    def labeled(self) -> Ints:
        """Items labeled 1 or 0 in each stratum."""
        return _fixed([s.labeled for s in self.strata])

    @cached_property
    def positive(self) -> Ints:
        """Items labeled 1 in each stratum."""
        return _fixed([s.positive for s in self.strata])

    @cached_property
    def is_flagged(self) -> Bools:
        """Which strata are predicted positive."""
        result = np.array([True] * len(self.flagged) + [False] * len(self.passed))
        result.setflags(write=False)
        return result


def completed(counts: StratumArrays, missing: Ints, positive: Bools) -> Counts:
    """Answer the ``missing`` items of each stratum: all 1 where ``positive``, else all 0.

    A ValueError if a stratum has fewer unlabeled items than are missing.
    """
    return Counts.of_arrays(
        size=counts.size,
        labeled=counts.labeled + missing,
        positive=counts.positive + positive * missing,
        is_flagged=counts.is_flagged,
    )


def _fixed(values: list[int]) -> Ints:
    """Make an array that nobody can change, since all who ask are given the same one."""
    result = np.array(values, dtype=np.int64)
    result.setflags(write=False)
    return result
