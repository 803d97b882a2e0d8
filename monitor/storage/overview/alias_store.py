"""Looks at aliases of registered models: which version each named, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from monitor.domain.registered import AliasLook
from monitor.storage.tables import alias_looks

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def note_look(connection: Connection, model: str, version: str | None, at: datetime) -> None:
    """Note what a look at an alias found; a row grows as long as that stays the same.

    A clock that was set back makes no look earlier than the one before it.
    """
    newest = connection.execute(
        select(alias_looks)
        .where(alias_looks.c.model == model)
        .order_by(alias_looks.c.id.desc())
        .limit(1)
    ).first()
    at = at if newest is None else max(at, newest.last_at)
    if newest is not None and newest.version == version:
        grown = update(alias_looks).where(alias_looks.c.id == newest.id).values(last_at=at)
        connection.execute(grown)
        return
    row = {"model": model, "version": version, "first_at": at, "last_at": at}
    connection.execute(insert(alias_looks).values(row))


def read_looks(connection: Connection, model: str) -> list[AliasLook]:
    """Read the looks at an alias, oldest first."""
    query = select(alias_looks).where(alias_looks.c.model == model).order_by(alias_looks.c.id)
    return [AliasLook(row.version, row.first_at, row.last_at) for row in connection.execute(query)]
