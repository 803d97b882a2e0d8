"""Positive labels as they came, and what rounds showed before these were all there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from monitor.domain.report import ProvisionalRow
from monitor.domain.state import RoundState
from monitor.storage.database import put_all
from monitor.storage.queries import by_first
from monitor.storage.tables import provisionals, rounds


@dataclass(frozen=True, slots=True)
class PositiveCount:
    """Positive labels of the flagged and of the passed items of a round, at a time."""

    at: datetime
    flagged: int
    passed: int


def write_readings(
    connection: Connection,
    round_id: int,
    readings: Sequence[PositiveCount],
    row: ProvisionalRow | None,
) -> None:
    """Store what was counted, and what the last count shows, None if the round closes."""
    stored: list[dict[str, Any]] = [
        {"round_id": round_id, **asdict(reading), "estimate": None} for reading in readings
    ]
    stored[-1]["estimate"] = row and row.model_dump(mode="json")
    put_all(connection, provisionals, stored)


def newest_reading(connection: Connection, round_id: int) -> datetime | None:
    """Read when the labels of a round were counted last."""
    query = select(func.max(provisionals.c.at)).where(provisionals.c.round_id == round_id)
    return connection.execute(query).scalar()


def read_followed(
    connection: Connection, monitor_id: int, own: int, at_most: int
) -> dict[int, list[PositiveCount]]:
    """Read how the labels of one round, the newest closed and the newest open ones came."""
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
    """Read what some rounds show now, by round."""
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
    """Read the first numbers that some rounds showed, by round."""
    query = select(provisionals.c.round_id, provisionals.c.estimate).where(
        provisionals.c.round_id.in_(round_ids), provisionals.c.estimate.is_not(None)
    )
    result: dict[int, ProvisionalRow] = {}
    for round_id, stored in connection.execute(query.order_by(provisionals.c.at)):
        if round_id not in result and stored["metrics"]:
            result[round_id] = ProvisionalRow.model_validate(stored)
    return result
