"""Whose turn it is: what claims on rounds and on effects share, and the order of writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, or_, select

from monitor.storage.database import clock_ms
from monitor.storage.tables import monitors
from monitor.storage.worker import is_gone, worker_name

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table


_SUSPECTED = "#"


def is_free(
    table: Table, claimed_by: str | None, attempt: int, milliseconds: int
) -> ColumnElement[bool]:
    """Whether a row read so may be claimed: nobody's, run out, or a dead worker's.

    A claim that is to end later than the ``milliseconds`` that claims last was made by a clock
    that was ahead of the time, so nobody knows when it ends.
    """
    until = table.c.claimed_until
    free = or_(until.is_(None), until < clock_ms(), until > clock_ms() + milliseconds)
    if claimed_by is not None and is_gone(claimed_by.partition(_SUSPECTED)[0]):
        free = or_(free, table.c.claimed_by == claimed_by)
    return and_(free, table.c.attempt == attempt)


def tries_alone(claimed_by: str | None) -> int:
    """Read from a claim the how-manieth try in a row it is that is made by itself; 0: it is none.

    >>> tries_alone("host/17/1#3"), tries_alone("host/17/1"), tries_alone(None)
    (3, 0, 0)
    """
    return int((claimed_by or "").partition(_SUSPECTED)[2] or 0)


def claim_of_ours(table: Table, milliseconds: int, *, alone: int = 0) -> dict[str, Any]:
    """Values that make a row ours for some time; each claim is an attempt of its own.

    ``alone`` goes with the claim, since nobody else can say what ended its process.
    """
    return {
        "claimed_by": f"{worker_name()}{_SUSPECTED}{alone}" if alone else worker_name(),
        "claimed_until": clock_ms() + milliseconds,
        "attempt": table.c.attempt + 1,
    }


def wait_for_turn(connection: Connection, which: ColumnElement[bool]) -> int:
    """Let the writes of one monitor follow one another, as on SQLite all writes do.

    On PostgreSQL two of them could else read the same state and write past one another, or lock
    rounds in opposite orders. Whoever writes estimates, rounds or labels begins with this.
    Returns the monitor's id.
    """
    found = wait_if_known(connection, which)
    if found is None:
        message = "the monitor whose turn is waited for is not in the store"
        raise AssertionError(message)
    return found


def wait_if_known(connection: Connection, which: ColumnElement[bool]) -> int | None:
    """Wait as `wait_for_turn` does; None where there is no such monitor."""
    query = select(monitors.c.id).where(which).with_for_update(key_share=True)
    return connection.execute(query).scalar()
