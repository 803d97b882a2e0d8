"""Sizes of earlier drawn windows, and of their flagged parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, func, select

from monitor.domain.model import Window
from monitor.domain.sampled_log import sampling_text
from monitor.domain.settings import RoundSettings
from monitor.storage.tables import histories, round_parts, rounds, strata


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """A window as counted when its round was drawn.

    ``predictions`` is the number that ``rows`` represent, if the log keeps a sample.
    """

    number: int
    slot: datetime
    window: Window
    rows: int
    predictions: int
    round_id: int
    threshold: float | None


def drawn_windows(
    connection: Connection,
    monitor_id: int,
    settings: RoundSettings,
    *,
    before: datetime,
    at_most: int,
) -> list[DrawnWindow]:
    """Read the newest drawn windows of a monitor before a slot, newest first.

    Skips windows whose rows count differently than by the settings: by another amount, or from a
    log that keeps another share.
    """
    source = rounds.c.settings["source"]
    weight, sampling = source["columns"]["weight"].as_string(), source["kept_with"].as_json()
    sizes = select(func.sum(strata.c.size)).where(strata.c.round_id == rounds.c.id)
    predictions = rounds.c.rows if settings.log_sampling is None else sizes.scalar_subquery()
    query = (
        select(*rounds.c["id", "number", "slot", "window_start", "window_end", "rows"])
        .add_columns(histories.c.threshold, sampling.label("kept_with"))
        .add_columns(predictions.label("predictions"))
        .join_from(rounds, histories)
        .where(rounds.c.monitor_id == monitor_id, rounds.c.slot < before)
        .where(rounds.c.rows.is_not(None), weight.is_not_distinct_from(settings.weight))
        .order_by(rounds.c.slot.desc())
        .limit(at_most)
    )
    return [
        DrawnWindow(
            row.number,
            row.slot,
            Window(row.window_start, row.window_end),
            int(row.rows),
            int(row.predictions),
            row.id,
            row.threshold,
        )
        for row in connection.execute(query)
        if sampling_text({"kept_with": row.kept_with}) == settings.log_sampling
    ]


def segment_totals(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, dict[tuple[str, str] | None, int]]:
    """Read the number of items by segment column and value, by round."""
    of_draw = (round_parts.c.name == "segments") & (round_parts.c.version == 0)
    query = select(*round_parts.c["round_id", "counts"]).where(of_draw)
    totals: dict[int, dict[tuple[str, str] | None, int]] = {}
    for round_id, cells in connection.execute(query.where(round_parts.c.round_id.in_(round_ids))):
        of_round = totals.setdefault(round_id, {})
        for _, segment, value, size in cells:
            of_round[segment, value] = of_round.get((segment, value), 0) + size
    return totals


def window_sizes(
    connection: Connection, drawn: Sequence[DrawnWindow]
) -> list[tuple[int, int, int]]:
    """Read (flagged size, size, rows) of some windows, in any order; skips empty windows."""
    rows = {each.round_id: each.rows for each in drawn}
    flagged = func.sum(case((strata.c.flagged, strata.c.size), else_=0))
    query = (
        select(strata.c.round_id, flagged, func.sum(strata.c.size))
        .where(strata.c.round_id.in_(rows))
        .group_by(strata.c.round_id)
    )
    return [
        (int(some), int(size), rows[round_id])
        for round_id, some, size in connection.execute(query)
        if size
    ]
