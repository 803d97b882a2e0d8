"""Conditions that many queries share."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, Table, and_, select, true

from monitor.storage.tables import monitors, rounds


def named(monitor: str | None) -> ColumnElement[bool]:
    """Whether a row of ``monitors`` has this name; any has if None."""
    return true() if monitor is None else monitors.c.name == monitor


def of_monitor(monitor: str | None) -> ColumnElement[bool]:
    """Whether a row of ``rounds`` belongs to a monitor; any does if None."""
    if monitor is None:
        return true()
    monitor_id = select(monitors.c.id).where(monitors.c.name == monitor).scalar_subquery()
    return rounds.c.monitor_id == monitor_id


def is_latest(table: Table) -> ColumnElement[bool]:
    """Whether a row of a table of versions belongs to the latest version of a row of ``rounds``."""
    return and_(rounds.c.id == table.c.round_id, rounds.c.version == table.c.version)


def newest_round(until: datetime, *which: ColumnElement[bool]) -> ScalarSelect[int]:
    """Id of the newest such round of a row of ``monitors``, found by steps back from its end."""
    return (
        select(rounds.c.id)
        .where(rounds.c.monitor_id == monitors.c.id, rounds.c.slot <= until, *which)
        .order_by(rounds.c.slot.desc())
        .limit(1)
        .correlate(monitors)
        .scalar_subquery()
    )
