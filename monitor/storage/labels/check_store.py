"""Checks: items that a column labels and people label too, and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from monitor.domain.model import CHECK_SLOT
from monitor.storage.queries import by_first
from monitor.storage.tables import tasks


class CheckCounts(NamedTuple):
    """Confusion matrix of checks: the answers of people against the labels of the column."""

    tp: int = 0
    fn: int = 0
    tn: int = 0
    fp: int = 0

    @property
    def items(self) -> int:
        """Number of checked items."""
        return sum(self)


class WeightedChecks(NamedTuple):
    """Checks of a stratum; ``weight`` is the number of items per check, over its class's mean."""

    weight: float
    counts: CheckCounts

    @property
    def items(self) -> tuple[float, ...]:
        """The weighted counts."""
        return tuple(self.weight * count for count in self.counts)


EVERYWHERE = ""
"""Name for all strata of a class together."""


class ClassChecks(NamedTuple):
    """Checks of a predicted class by stratum, in order of score; merged if weights are equal."""

    strata: Mapping[str, WeightedChecks]

    @classmethod
    def of(cls, strata: Mapping[str, WeightedChecks]) -> ClassChecks:
        """Create checks by stratum, or merged ones if all weights are equal."""
        weights = [one.weight for one in strata.values()]
        if max(weights) - min(weights) > _ROUNDING:
            return cls(strata)
        return cls.unweighted(summed(one.counts for one in strata.values()))

    @classmethod
    def unweighted(cls, counts: CheckCounts) -> ClassChecks:
        """Create checks with equal weights."""
        return cls({EVERYWHERE: WeightedChecks(1.0, counts)})

    @property
    def counts(self) -> CheckCounts:
        """Counts over all strata, unweighted."""
        return summed(one.counts for one in self.strata.values())


def summed(counts: Iterable[CheckCounts]) -> CheckCounts:
    """Add up counts."""
    return CheckCounts(*map(sum, zip(*counts, CheckCounts(), strict=True)))


_ROUNDING = 1e-9

Checked = Mapping[bool, ClassChecks]
"""Checks by predicted class: True for flagged items."""


def checked_items(connection: Connection, round_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """Read the items of some rounds that people check, by round."""
    are_checks = tasks.c.round_id.in_(round_ids) & (tasks.c.slot == CHECK_SLOT)
    read = by_first(connection, select(tasks.c.round_id, tasks.c.item_id).where(are_checks))
    return {round_id: frozenset(items) for round_id, items in read.items()}
