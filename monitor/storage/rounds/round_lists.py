"""Queries for lists of rounds: the newest, or those before a slot, without reading others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from monitor.domain.state import RoundState
from monitor.storage.queries import of_monitor
from monitor.storage.tables import rounds

MOST = 2**31 - 1  # Largest value of the column of numbers
_DONE = (RoundState.CLOSED, RoundState.ABANDONED)


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Arguments of a list: the ``last`` rounds of one monitor, or of each, ``before`` a slot."""

    last: int
    monitor: str | None = None
    before: datetime | None = None
    skipped: bool = False


def find_listed(connection: Connection, listing: ListQuery) -> tuple[list[int], bool]:
    """Return the ids of the rounds to list, and whether there are older ones."""
    if listing.monitor is None:
        return _last_of_each(connection, listing)
    query = _select_listed(listing, rounds.c.id).order_by(rounds.c.slot.desc())
    items = list(connection.scalars(query.limit(listing.last + 1)))
    return items[: listing.last], len(items) > listing.last


def _last_of_each(connection: Connection, listing: ListQuery) -> tuple[list[int], bool]:
    last = listing.last
    rank = func.row_number().over(partition_by=rounds.c.monitor_id, order_by=rounds.c.slot.desc())
    placed = _select_listed(listing, rounds.c.id, rank.label("place")).subquery()
    query = select(placed.c.id, placed.c.place).where(placed.c.place <= last + 1)
    rows = connection.execute(query).all()
    return [row.id for row in rows if row.place <= last], any(row.place > last for row in rows)


def _select_listed(listing: ListQuery, *columns: ColumnElement[Any]) -> Select[Any]:
    query = select(*columns).select_from(rounds).where(of_monitor(listing.monitor))
    if listing.before is not None:
        query = query.where(rounds.c.slot < listing.before)
    if not listing.skipped:
        query = query.where(rounds.c.state != RoundState.SKIPPED)
    return query


def count_skipped(connection: Connection, monitor: str | None) -> int:
    """Count the skipped rounds of a monitor, or of all."""
    query = select(func.count()).where(rounds.c.state == RoundState.SKIPPED, of_monitor(monitor))
    return connection.execute(query).scalar_one()


def has_rounds(connection: Connection, monitor: str | None) -> bool:
    """Whether a monitor, or any, has a round in any state."""
    query = select(rounds.c.id).where(of_monitor(monitor)).limit(1)
    return connection.execute(query).first() is not None


def rounds_before(
    connection: Connection, round_ids: Collection[int], *, skipped: bool
) -> list[int]:
    """Return the ids of rounds before these, each once and in no order.

    They are, for each round, the one before it in the list and the last drawn one before it.
    """
    earlier, this_round = rounds.alias(), rounds
    query = (
        select(earlier.c.id)
        .where(earlier.c.monitor_id == this_round.c.monitor_id, earlier.c.slot < this_round.c.slot)
        .order_by(earlier.c.slot.desc())
        .limit(1)
        .correlate(this_round)
    )
    listed = query if skipped else query.where(earlier.c.state != RoundState.SKIPPED)
    drawn = query.where(earlier.c.history_id.is_not(None))
    pairs = select(listed.scalar_subquery(), drawn.scalar_subquery())
    rows = connection.execute(pairs.where(this_round.c.id.in_(round_ids)))
    return list({each for pair in rows for each in pair} - {None})


def numbered(connection: Connection, monitor: str, number: int) -> int | None:
    """Return the id of a monitor's round by number, or None."""
    if abs(number) > MOST:
        return None
    query = select(rounds.c.id).where(of_monitor(monitor), rounds.c.number == number)
    return connection.scalar(query.order_by(rounds.c.id).limit(1))


def first_and_last(connection: Connection, monitor: str) -> list[int]:
    """Read the numbers of a monitor's first and last round by slot; empty if it has no rounds."""
    numbers = select(rounds.c.number).where(of_monitor(monitor)).limit(1)
    orders = (rounds.c.slot, rounds.c.slot.desc())
    ends = [connection.scalar(numbers.order_by(order)) for order in orders]
    return [number for number in ends if number is not None]


def newest_done(connection: Connection, monitor: str) -> int | None:
    """Return the id of a monitor's newest closed or abandoned round, or None."""
    done = select(rounds.c.id).where(of_monitor(monitor), rounds.c.state.in_(_DONE))
    return connection.scalar(done.order_by(rounds.c.slot.desc()).limit(1))


def newest_drawn(connection: Connection, monitor: str) -> int | None:
    """Read the number of a monitor's newest drawn round, or None."""
    drawn = select(rounds.c.number).where(of_monitor(monitor), rounds.c.history_id.is_not(None))
    return connection.scalar(drawn.order_by(rounds.c.slot.desc()).limit(1))
