"""Whose turn it is: what claims on rounds and on effects share, and the order of writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, or_, select

from monitor.storage.database import clock_ms
from monitor.storage.tables import monitors
from monitor.storage.worker import is_gone, worker_name

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table


def is_free(table: Table, claimed_by: str | None, attempt: int) -> ColumnElement[bool]:
    """Whether a row read so may be claimed: nobody's, run out, or a dead worker's."""
    until = table.c.claimed_until
    free = or_(until.is_(None), until < clock_ms())
    if claimed_by is not None and is_gone(claimed_by):
        free = or_(free, table.c.claimed_by == claimed_by)
    return and_(free, table.c.attempt == attempt)


def claim_of_ours(table: Table, milliseconds: int) -> dict[str, Any]:
    """Values that make a row ours for some time; each claim is an attempt of its own."""
    return {
        "claimed_by": worker_name(),
        "claimed_until": clock_ms() + milliseconds,
        "attempt": table.c.attempt + 1,
    }


def wait_for_turn(connection: Connection, which: ColumnElement[bool]) -> int:
    """Let the writes of one monitor follow one another, as on SQLite all writes do.

    On PostgreSQL two of them could else read the same state and write past one another, or lock
    rounds in opposite orders. Whoever writes estimates, rounds or labels begins with this.
    Returns the monitor's id.
    """
    query = select(monitors.c.id).where(which)
    return int(connection.execute(query.with_for_update(key_share=True)).scalar_one())
