"""What claims on rounds and on effects share, and the order of writes to a monitor."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select

from monitor.storage.database import clock_ms
from monitor.storage.tables import monitors
from monitor.storage.worker import is_dead, worker_name

_SUSPECTED = "#"
"""Parts the worker's name from the number of tries by itself in the column ``claimed_by``."""


def is_free(
    table: Table, claimed_by: str | None, attempt: int, milliseconds: int
) -> ColumnElement[bool]:
    """Whether a row read so may be claimed: unclaimed, run out, or of a worker that is gone.

    A claim that is to end later than the ``milliseconds`` that claims last was made by a clock
    that was ahead of the time, so nobody knows when it ends.
    """
    until = table.c.claimed_until
    # All times are the database's: clocks of two machines may differ by more than a claim lasts.
    free = or_(until.is_(None), until < clock_ms(), until > clock_ms() + milliseconds)
    if claimed_by is not None and is_dead(claimed_by.partition(_SUSPECTED)[0]):
        free = or_(free, table.c.claimed_by == claimed_by)
    # Whoever claimed it since it was read made the attempt one more, and wins.
    return and_(free, table.c.attempt == attempt)


def attempts_alone(claimed_by: str | None) -> int:
    """Read from a claim how many tries in a row were made by themselves; 0: this one was not.

    >>> attempts_alone("host/17/1#3"), attempts_alone("host/17/1"), attempts_alone(None)
    (3, 0, 0)
    """
    return int((claimed_by or "").partition(_SUSPECTED)[2] or 0)


def claim_of_ours(table: Table, milliseconds: int, *, alone: int = 0) -> dict[str, Any]:
    """Values that make a row ours for some time; each claim is its own attempt.

    ``alone`` goes with the claim, since nobody else can say what ended its process.
    """
    return {
        "claimed_by": f"{worker_name()}{_SUSPECTED}{alone}" if alone else worker_name(),
        "claimed_until": clock_ms() + milliseconds,
        "attempt": table.c.attempt + 1,
    }


def wait_for_turn(connection: Connection, which: ColumnElement[bool]) -> int:
    """Wait until nobody else writes to a monitor, as on SQLite to the whole store.

    Without it two writers on PostgreSQL could read the same state and overwrite each other, or
    lock rounds in opposite orders. Every write of estimates, rounds or labels begins with this.
    Returns the monitor's id.
    """
    result = wait_if_recorded(connection, which)
    if result is None:
        message = "the monitor whose turn is waited for is not in the store"
        raise AssertionError(message)
    return result


def wait_if_recorded(connection: Connection, which: ColumnElement[bool]) -> int | None:
    """Wait as `wait_for_turn` does; None if there is no such monitor."""
    # FOR NO KEY UPDATE: who only inserts rows that refer to the monitor does not wait for it.
    query = select(monitors.c.id).where(which).with_for_update(key_share=True)
    return connection.execute(query).scalar()
