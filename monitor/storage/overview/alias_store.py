"""Looks at aliases of registered models: which version each named, and when."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from monitor.domain.registered import AliasObservation
from monitor.storage.tables import alias_observations


def note_observation(connection: Connection, model: str, version: str | None, at: datetime) -> None:
    """Note what a look at an alias found; a row grows as long as that stays the same.

    A clock that was set back makes no look earlier than the one before it.
    """
    newest = connection.execute(
        select(alias_observations)
        .where(alias_observations.c.model == model)
        .order_by(alias_observations.c.id.desc())
        .limit(1)
    ).first()
    at = at if newest is None else max(at, newest.last_at)
    if newest is not None and newest.version == version:
        grown = (
            update(alias_observations)
            .where(alias_observations.c.id == newest.id)
            .values(last_at=at)
        )
        connection.execute(grown)
        return
    row = {"model": model, "version": version, "first_at": at, "last_at": at}
    connection.execute(insert(alias_observations).values(row))


def read_observations(connection: Connection, model: str) -> list[AliasObservation]:
    """Read the looks at an alias, oldest first."""
    query = (
        select(alias_observations)
        .where(alias_observations.c.model == model)
        .order_by(alias_observations.c.id)
    )
    return [
        AliasObservation(row.version, row.first_at, row.last_at)
        for row in connection.execute(query)
    ]
