"""Windows that were drawn before: how much they held, and how much of it was flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, func, select

from monitor.domain.model import Window
from monitor.storage.tables import histories, round_parts, rounds, strata


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """A window as its round saw it when it was drawn."""

    number: int
    slot: datetime
    window: Window
    rows: int
    round_id: int


def drawn_windows(
    connection: Connection, monitor_id: int, *, before: datetime, at_most: int
) -> list[DrawnWindow]:
    """Read the newest windows of a monitor that were drawn before a slot, newest first."""
    query = (
        select(*rounds.c["id", "number", "slot", "window_start", "window_end", "rows"])
        .where(rounds.c.monitor_id == monitor_id, rounds.c.slot < before)
        .where(rounds.c.history_id.is_not(None), rounds.c.rows.is_not(None))
        .order_by(rounds.c.slot.desc())
        .limit(at_most)
    )
    return [
        DrawnWindow(
            row.number, row.slot, Window(row.window_start, row.window_end), int(row.rows), row.id
        )
        for row in connection.execute(query)
    ]


def segment_totals(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, dict[tuple[str, str] | None, int]]:
    """Read how many items of some rounds have each value of each segment column."""
    of_draw = (round_parts.c.name == "segments") & (round_parts.c.version == 0)
    query = select(*round_parts.c["round_id", "counts"]).where(of_draw)
    totals: dict[int, dict[tuple[str, str] | None, int]] = {}
    for round_id, cells in connection.execute(query.where(round_parts.c.round_id.in_(round_ids))):
        of_round = totals.setdefault(round_id, {})
        for _, segment, value, size in cells:
            of_round[segment, value] = of_round.get((segment, value), 0) + size
    return totals


def window_sizes(
    connection: Connection,
    monitor_id: int,
    *,
    before: datetime,
    threshold: float | None,
    by_amount: bool,
    at_most: int,
) -> list[tuple[int, int, int]]:
    """Read what was flagged, of how much, in how many rows of the newest drawn windows of a kind.

    Another threshold flags another share, so the windows are of one threshold, any model version;
    ``by_amount`` are those whose sizes are amounts, else the others. They are before a slot.
    """
    is_same = histories.c.threshold.is_not_distinct_from(threshold)
    newest = (
        select(*rounds.c["id", "rows"])
        .join(histories)
        .where(rounds.c.monitor_id == monitor_id, rounds.c.slot < before, is_same)
        .order_by(rounds.c.slot.desc())
        .limit(at_most)
        .subquery()
    )
    flagged = func.sum(case((strata.c.flagged, strata.c.size), else_=0))
    lowest = func.coalesce(func.min(strata.c.rows), 0)
    query = (
        select(flagged, func.sum(strata.c.size), newest.c.rows)
        .join(newest, newest.c.id == strata.c.round_id)
        .group_by(strata.c.round_id, newest.c.rows)
        .having(lowest < 0 if by_amount else lowest >= 0)
        .order_by(strata.c.round_id)
    )
    return [(int(some), int(size), rows) for some, size, rows in connection.execute(query) if size]
