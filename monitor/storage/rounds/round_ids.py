"""Ids and numbers of single rounds of a monitor, found without reading its other rounds."""

from __future__ import annotations

from sqlalchemy import Connection, ScalarSelect, select

from monitor.domain.state import RoundState
from monitor.storage.tables import monitors, rounds

MOST = 2**31 - 1
"""What the column of numbers holds."""

_DONE = (RoundState.CLOSED, RoundState.ABANDONED)


def id_of(monitor: str) -> ScalarSelect[int]:
    """Id of a monitor, as a part of a query."""
    return select(monitors.c.id).where(monitors.c.name == monitor).scalar_subquery()


def numbered(connection: Connection, monitor: str, number: int) -> int | None:
    """Find the round of a monitor with this number."""
    if abs(number) > MOST:
        return None
    query = select(rounds.c.id).where(
        rounds.c.monitor_id == id_of(monitor), rounds.c.number == number
    )
    return connection.execute(query.order_by(rounds.c.id).limit(1)).scalar()


def first_and_last(connection: Connection, monitor: str) -> list[int]:
    """Read the numbers of a monitor's rounds with the first and the last slot, if it has any."""
    own = select(rounds.c.number).where(rounds.c.monitor_id == id_of(monitor))
    ends = (
        connection.execute(own.order_by(order).limit(1)).scalar()
        for order in (rounds.c.slot, rounds.c.slot.desc())
    )
    return [number for number in ends if number is not None]


def newest_done(connection: Connection, monitor: str) -> int | None:
    """Find the round of a monitor with the latest slot that closed or was abandoned."""
    own = select(rounds.c.id).where(
        rounds.c.monitor_id == id_of(monitor), rounds.c.state.in_(_DONE)
    )
    return connection.execute(own.order_by(rounds.c.slot.desc()).limit(1)).scalar()


def newest_drawn(connection: Connection, monitor: str) -> int | None:
    """Read the number of a monitor's round with the latest slot that was drawn."""
    own = select(rounds.c.number).where(
        rounds.c.monitor_id == id_of(monitor), rounds.c.history_id.is_not(None)
    )
    return connection.execute(own.order_by(rounds.c.slot.desc()).limit(1)).scalar()
