"""Items that a column labels and people check: which they are, and how they are counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from monitor.domain.model import CHECK_SLOT
from monitor.storage.queries import by_first
from monitor.storage.tables import tasks


class CheckCounts(NamedTuple):
    """Counts of an audit: the answers of people against the labels of the column."""

    tp: int = 0
    fn: int = 0
    tn: int = 0
    fp: int = 0

    @property
    def items(self) -> int:
        """All of them."""
        return sum(self)


class WeightedChecks(NamedTuple):
    """Checks of a stratum, and the items that each stands for, over the mean of its class."""

    weight: float
    counts: CheckCounts

    @property
    def items(self) -> tuple[float, ...]:
        """What the counts stand for."""
        return tuple(self.weight * count for count in self.counts)


EVERYWHERE = ""
"""Name of all strata of a class together."""


class ClassChecks(NamedTuple):
    """Checks of a predicted class by stratum in order of score, together if all weigh the same."""

    strata: Mapping[str, WeightedChecks]

    @classmethod
    def of(cls, strata: Mapping[str, WeightedChecks]) -> ClassChecks:
        """Count strata, or all of them together."""
        weights = [one.weight for one in strata.values()]
        if max(weights) - min(weights) > _ROUNDING:
            return cls(strata)
        return cls.unweighted(summed(one.counts for one in strata.values()))

    @classmethod
    def unweighted(cls, counts: CheckCounts) -> ClassChecks:
        """Count checks that weigh the same."""
        return cls({EVERYWHERE: WeightedChecks(1.0, counts)})

    @property
    def counts(self) -> CheckCounts:
        """All of them."""
        return summed(one.counts for one in self.strata.values())


def summed(counts: Iterable[CheckCounts]) -> CheckCounts:
    """Count the items of all."""
    return CheckCounts(*map(sum, zip(*counts, CheckCounts(), strict=True)))


_ROUNDING = 1e-9

Checked = Mapping[bool, ClassChecks]
"""Checks by predicted class: True for flagged items."""


def checked_items(connection: Connection, round_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """Read the items of some rounds that people check, by round."""
    are_checks = tasks.c.round_id.in_(round_ids) & (tasks.c.slot == CHECK_SLOT)
    read = by_first(connection, select(tasks.c.round_id, tasks.c.item_id).where(are_checks))
    return {round_id: frozenset(items) for round_id, items in read.items()}
