"""Queries and parts of queries used by many store modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, ScalarSelect, Select, Table, and_, select, true

from monitor.storage.tables import monitors, rounds

VersionId: TypeAlias = tuple[int, int]  # Id of a round, and one of its versions


def named(monitor: str | None) -> ColumnElement[bool]:
    """Whether a row of ``monitors`` has this name; None matches all."""
    return true() if monitor is None else monitors.c.name == monitor


def of_monitor(monitor: str | None) -> ColumnElement[bool]:
    """Whether a row of ``rounds`` belongs to a monitor; None matches all."""
    if monitor is None:
        return true()
    monitor_id = select(monitors.c.id).where(monitors.c.name == monitor).scalar_subquery()
    return rounds.c.monitor_id == monitor_id


def is_latest(table: Table) -> ColumnElement[bool]:
    """Whether a row of a table of versions belongs to the latest version of a row of ``rounds``."""
    return and_(rounds.c.id == table.c.round_id, rounds.c.version == table.c.version)


def of_version(table: Table, round_id: int, version: int) -> Select[Any]:
    """Select the rows of one version of a round."""
    return select(table).where(table.c.round_id == round_id, table.c.version == version)


def version_rows(
    rows: Mapping[VersionId, Iterable[Mapping[str, Any]]],
) -> Iterator[dict[str, Any]]:
    """Add the columns of the round and version to rows."""
    for (round_id, version), of_version in rows.items():
        yield from ({"round_id": round_id, "version": version, **row} for row in of_version)


def picked(source: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the named attributes of a row or an object as a dict."""
    return {name: getattr(source, name) for name in names}


def by_first(connection: Connection, query: Select[Any]) -> dict[Any, list[Any]]:
    """Group rows by their first column: lists of the other columns, or of the only other one."""
    result: dict[Any, list[Any]] = {}
    for first, *rest in connection.execute(query):
        result.setdefault(first, []).append(rest if len(rest) > 1 else rest[0])
    return result


def newest_round(until: datetime, *which: ColumnElement[bool]) -> ScalarSelect[int]:
    """Return a subquery for the id of the newest matching round of a row of ``monitors``."""
    return (
        select(rounds.c.id)
        .where(rounds.c.monitor_id == monitors.c.id, rounds.c.slot <= until, *which)
        .order_by(rounds.c.slot.desc())
        .limit(1)
        .correlate(monitors)
        .scalar_subquery()
    )
