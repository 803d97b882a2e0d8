"""Counts of positive labels over time, and the provisional numbers of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from monitor.domain.label_parts import COLUMN
from monitor.domain.model import Answer
from monitor.domain.report import ProvisionalRow
from monitor.domain.state import RoundState
from monitor.storage.database import put_all
from monitor.storage.queries import by_first
from monitor.storage.tables import items, label_events, provisionals, rounds, strata


@dataclass(frozen=True, slots=True)
class PositiveCount:
    """Number of positive labels of a round's flagged and passed items at a time."""

    at: datetime
    flagged: int
    passed: int


@dataclass(frozen=True, slots=True)
class DatedScore:
    """A drawn positive item, and the arrival time of its label."""

    item: str
    flagged: bool
    score: float
    at: datetime


def read_scores(connection: Connection, round_ids: Sequence[int]) -> dict[int, list[DatedScore]]:
    """Read the drawn items that a column labeled positive, with the first time of it, by round."""
    same_item = (items.c.round_id == label_events.c.round_id) & (
        items.c.id == label_events.c.item_id
    )
    same_stratum = (strata.c.round_id == items.c.round_id) & (strata.c.stratum == items.c.stratum)
    of_item = (items.c.round_id, items.c.id, strata.c.flagged, items.c.score)
    query = (
        select(*of_item, func.min(label_events.c.received_at))
        .join_from(label_events, items, same_item)
        .join(strata, same_stratum)
        .where(items.c.round_id.in_(round_ids), items.c.score.is_not(None))
        .where(label_events.c.annotator == COLUMN, label_events.c.answer == Answer.POSITIVE)
        .group_by(*of_item)
    )
    rows = by_first(connection, query)
    return {round_id: [DatedScore(*row) for row in of_round] for round_id, of_round in rows.items()}


def write_readings(
    connection: Connection,
    round_id: int,
    readings: Sequence[PositiveCount],
    row: ProvisionalRow | None,
) -> None:
    """Store counts, and the provisional numbers of the last one (None if the round closes)."""
    stored: list[dict[str, Any]] = [
        {"round_id": round_id, **asdict(reading), "estimate": None} for reading in readings
    ]
    stored[-1]["estimate"] = row and row.model_dump(mode="json")
    put_all(connection, provisionals, stored)


def newest_reading(connection: Connection, round_id: int) -> datetime | None:
    """Read the time of the last count of a round's labels, or None."""
    query = select(func.max(provisionals.c.at)).where(provisionals.c.round_id == round_id)
    return connection.execute(query).scalar()


def read_followed(
    connection: Connection, monitor_id: int, own: int, at_most: int
) -> dict[int, list[PositiveCount]]:
    """Read the counts of one round, and of the newest closed and open ones, by round."""
    counted = select(provisionals.c.round_id).distinct()
    query = select(rounds.c.id).where(rounds.c.monitor_id == monitor_id, rounds.c.id.in_(counted))
    newest = query.order_by(rounds.c.slot.desc()).limit(at_most)
    ids = {own}
    for state in (RoundState.CLOSED, RoundState.LABELING):
        ids |= set(connection.scalars(newest.where(rounds.c.state == state)))
    columns = provisionals.c["round_id", "at", "flagged", "passed"]
    query = select(*columns).where(provisionals.c.round_id.in_(ids)).order_by(provisionals.c.at)
    counts = by_first(connection, query)
    return {each: [PositiveCount(*count) for count in of] for each, of in counts.items()}


def newest_rows(connection: Connection, round_ids: Sequence[int]) -> dict[int, ProvisionalRow]:
    """Read the current provisional numbers of some rounds, by round."""
    newest = (
        select(provisionals.c.round_id, func.max(provisionals.c.at).label("at"))
        .where(provisionals.c.round_id.in_(round_ids))
        .group_by(provisionals.c.round_id)
        .subquery()
    )
    is_newest = (provisionals.c.round_id == newest.c.round_id) & (provisionals.c.at == newest.c.at)
    query = select(provisionals.c.round_id, provisionals.c.estimate).join(newest, is_newest)
    rows = connection.execute(query.where(provisionals.c.estimate.is_not(None)))
    return {round_id: ProvisionalRow.model_validate(stored) for round_id, stored in rows}


def first_estimates(connection: Connection, round_ids: Sequence[int]) -> dict[int, ProvisionalRow]:
    """Read the first provisional numbers of some rounds, by round."""
    query = select(provisionals.c.round_id, provisionals.c.estimate).where(
        provisionals.c.round_id.in_(round_ids), provisionals.c.estimate.is_not(None)
    )
    result: dict[int, ProvisionalRow] = {}
    for round_id, stored in connection.execute(query.order_by(provisionals.c.at)):
        if round_id not in result and stored["metrics"]:
            result[round_id] = ProvisionalRow.model_validate(stored)
    return result
