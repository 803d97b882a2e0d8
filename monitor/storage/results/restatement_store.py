"""Restatements in the store: requests of people, and the versions made for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from monitor.storage.database import chunks, insert_all
from monitor.storage.tables import restated_versions, restatements, rounds


class RestatedVersion(NamedTuple):
    """A version that a restatement made; ``own`` unless its round only pools a restated one."""

    round_id: int
    number: int
    version: int
    before: int
    own: bool
    restatement: int
    at: datetime
    by: str
    reason: str


def read_restated(
    connection: Connection, *, monitor_id: int | None = None, round_ids: Sequence[int] | None = None
) -> tuple[RestatedVersion, ...]:
    """Read the restated versions of a monitor, or of all restatements of some rounds, in order."""
    query = (
        select(
            restated_versions.c.round_id,
            rounds.c.number,
            *restated_versions.c["version", "before", "own"],
            *restatements.c["id", "at", "by", "reason"],
        )
        .join_from(restated_versions, restatements)
        .join(rounds, rounds.c.id == restated_versions.c.round_id)
        .order_by(restatements.c.id, rounds.c.slot)
    )
    if monitor_id is not None:
        query = query.where(restatements.c.monitor_id == monitor_id)
    if round_ids is not None:
        part = select(restated_versions.c.restatement_id).where(
            restated_versions.c.round_id.in_(round_ids)
        )
        query = query.where(restatements.c.id.in_(part))
    return tuple(RestatedVersion(*row) for row in connection.execute(query))


def restated_themselves(connection: Connection, round_ids: Sequence[int]) -> set[int]:
    """Return the rounds that were restated themselves, without those that only pool one."""
    query = select(restated_versions.c.round_id).where(restated_versions.c.own)
    return {
        round_id
        for some in chunks(round_ids)
        for round_id in connection.scalars(query.where(restated_versions.c.round_id.in_(some)))
    }


def add_restatement(
    connection: Connection,
    monitor_id: int,
    *,
    at: datetime,
    by: str,
    reason: str,
    versions: Iterable[tuple[int, int, int, bool]],
) -> None:
    """Store a restatement with its versions: (round, version, version before, own)."""
    restatement = connection.execute(
        insert(restatements)
        .values(monitor_id=monitor_id, at=at, by=by, reason=reason)
        .returning(restatements.c.id)
    ).scalar_one()
    names = ("restatement_id", "round_id", "version", "before", "own")
    rows = [dict(zip(names, (restatement, *version), strict=True)) for version in versions]
    insert_all(connection, restated_versions, rows)
