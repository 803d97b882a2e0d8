"""Items that a column labels and people check: which they are, and how they are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from monitor.domain.model import CHECK_SLOT
from monitor.storage.queries import by_first
from monitor.storage.tables import tasks


class CheckCounts(NamedTuple):
    """Items by what people say of them and what the column does, as of an audit."""

    tp: int = 0
    fn: int = 0
    tn: int = 0
    fp: int = 0

    @property
    def items(self) -> int:
        """All of them."""
        return sum(self)

    def plus(self, other: CheckCounts) -> CheckCounts:
        """Count the items of both."""
        return CheckCounts(*(one + more for one, more in zip(self, other, strict=True)))


Checked = Mapping[bool, CheckCounts]
"""Counts by predicted class: True for flagged items."""


def checked_items(connection: Connection, round_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """Read the items of some rounds that people check, by round."""
    are_checks = tasks.c.round_id.in_(round_ids) & (tasks.c.slot == CHECK_SLOT)
    read = by_first(connection, select(tasks.c.round_id, tasks.c.item_id).where(are_checks))
    return {round_id: frozenset(items) for round_id, items in read.items()}
