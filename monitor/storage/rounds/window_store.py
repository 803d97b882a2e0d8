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


def flagged_sizes(
    connection: Connection,
    monitor_id: int,
    *,
    before: datetime,
    threshold: float | None,
    at_most: int,
) -> list[tuple[int, int]]:
    """Read items that were flagged, of how many, in the newest drawn windows before a slot.

    Another threshold flags another share, so the windows are of one threshold, any model version.
    """
    is_same = histories.c.threshold.is_not_distinct_from(threshold)
    newest = (
        select(rounds.c.id)
        .join(histories)
        .where(rounds.c.monitor_id == monitor_id, rounds.c.slot < before, is_same)
        .order_by(rounds.c.slot.desc())
        .limit(at_most)
        .subquery()
    )
    flagged = func.sum(case((strata.c.flagged, strata.c.size), else_=0))
    query = (
        select(flagged, func.sum(strata.c.size))
        .join(newest, newest.c.id == strata.c.round_id)
        .group_by(strata.c.round_id)
        .order_by(strata.c.round_id)
    )
    return [(int(some), int(size)) for some, size in connection.execute(query) if size]
