"""Items that a column labels and people check: which they are, and what versions counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from monitor.domain.model import CHECK_SLOT
from monitor.domain.state import RoundState
from monitor.storage.database import insert_all
from monitor.storage.queries import by_first, is_latest, of_version, version_rows
from monitor.storage.tables import label_checks, rounds, tasks


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


class PastChecks(NamedTuple):
    """What an earlier round counted, and the settings of its labelers."""

    labeling: Mapping[str, Any]
    counts: Checked


def checked_items(connection: Connection, round_ids: Sequence[int]) -> dict[int, frozenset[str]]:
    """Read the items of some rounds that people check, by round."""
    are_checks = tasks.c.round_id.in_(round_ids) & (tasks.c.slot == CHECK_SLOT)
    read = by_first(connection, select(tasks.c.round_id, tasks.c.item_id).where(are_checks))
    return {round_id: frozenset(items) for round_id, items in read.items()}


def write_counts(connection: Connection, round_id: int, version: int, counts: Checked) -> None:
    """Store what a version counts."""
    rows = [{"flagged": flagged, **of_class._asdict()} for flagged, of_class in counts.items()]
    insert_all(connection, label_checks, version_rows({(round_id, version): rows}))


def read_counts(connection: Connection, round_id: int, version: int) -> dict[bool, CheckCounts]:
    """Read what a version counted; empty where nobody checks."""
    rows = connection.execute(of_version(label_checks, round_id, version))
    return {row.flagged: _counts(row) for row in rows}


def read_past(connection: Connection, round_ids: Sequence[int]) -> dict[int, PastChecks]:
    """Read what the latest versions of some rounds counted, by round."""
    result: dict[int, PastChecks] = {}
    query = (
        select(label_checks, rounds.c.settings)
        .join_from(label_checks, rounds, is_latest(label_checks))
        .where(rounds.c.id.in_(round_ids), rounds.c.state == RoundState.CLOSED)
    )
    for row in connection.execute(query):
        before = result.get(row.round_id, PastChecks(row.settings["labeling"], {}))
        counts = {**before.counts, row.flagged: _counts(row)}
        result[row.round_id] = before._replace(counts=counts)
    return result


def _counts(row: Any) -> CheckCounts:
    return CheckCounts(row.tp, row.fn, row.tn, row.fp)
