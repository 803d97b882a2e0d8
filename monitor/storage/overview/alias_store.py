"""Looks at aliases of registered models: which version each named, and when."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select

from monitor.domain.registered import AliasObservation
from monitor.storage.database import change, insert_all
from monitor.storage.tables import alias_observations


def note_observation(connection: Connection, model: str, version: str | None, at: datetime) -> None:
    """Note what a look at an alias found; a row grows as long as that stays the same."""
    table = alias_observations
    of_model = select(table).where(table.c.model == model)
    newest = connection.execute(of_model.order_by(table.c.id.desc()).limit(1)).first()
    at = at if newest is None else max(at, newest.last_at)
    if newest is not None and newest.version == version:
        change(connection, table, table.c.id == newest.id, last_at=at)
        return
    row = {"model": model, "version": version, "first_at": at, "last_at": at}
    insert_all(connection, table, [row])


def read_observations(connection: Connection, model: str) -> list[AliasObservation]:
    """Read the looks at an alias, oldest first."""
    c = alias_observations.c
    query = select(c.version, c.first_at, c.last_at).where(c.model == model).order_by(c.id)
    return [AliasObservation(*row) for row in connection.execute(query)]
