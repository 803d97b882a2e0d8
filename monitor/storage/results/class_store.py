"""Data of a block of classes: the rounds of its monitors for a window, and its reports."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, true

from monitor.domain.class_report import ClassReport
from monitor.domain.model import EffectKind
from monitor.domain.round import Round
from monitor.domain.state import ENDED, RoundState
from monitor.storage.rounds.round_store import find_where
from monitor.storage.tables import effects, monitors, rounds


class ClassVersion(NamedTuple):
    """Version of a window's data; it changes with all that averages over the window depend on."""

    rounds: int
    closed: int
    newest: int
    labels: int
    first: int
    version: int


def rounds_of_slot(
    connection: Connection, names: Collection[str], slot: datetime
) -> dict[str, Round]:
    """Read the round of each of these monitors that was due at a slot, by monitor."""
    of_slot = find_where(connection, monitors.c.name.in_(names), rounds.c.slot == slot)
    return {round_.monitor: round_ for round_ in of_slot}


def rounds_of_block(connection: Connection, block: str, slot: datetime) -> list[Round]:
    """Read the rounds of a block that were due at a slot."""
    name = rounds.c.settings["block"]["name"].as_string()
    return find_where(connection, rounds.c.slot == slot, name == block)


def ended_windows(
    connection: Connection, names: Collection[str], *, since: datetime | None = None
) -> dict[datetime, ClassVersion]:
    """Return the windows, newest first, whose rounds have all ended, one or more of them closed.

    A closed round with labels that are not counted yet does not count as ended.
    """
    is_closed = rounds.c.state == RoundState.CLOSED
    is_over = or_(
        and_(is_closed, rounds.c.label_revision == rounds.c.estimated_revision),
        and_(~is_closed, rounds.c.state.in_(ENDED)),
    )
    query = (
        select(
            rounds.c.slot,
            func.sum(case((is_over, 1), else_=0)),
            *(func.count(), func.sum(case((is_closed, 1), else_=0)), func.max(rounds.c.id)),
            *map(func.sum, rounds.c["label_revision", "first_version", "version"]),
        )
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name.in_(names), true() if since is None else rounds.c.slot > since)
        .group_by(rounds.c.slot)
        .order_by(rounds.c.slot.desc())
    )
    windows = (
        (slot, over, ClassVersion(*marker)) for slot, over, *marker in connection.execute(query)
    )
    return {
        slot: marker for slot, over, marker in windows if marker.closed and over == marker.rounds
    }


def reported_versions(connection: Connection, names: Collection[str]) -> dict[datetime, int]:
    """Read the newest reported version of each window of these monitors' block."""
    version = effects.c.payload["version"].as_integer()
    query = (
        select(rounds.c.slot, func.max(version).label("version"))
        .join(rounds, rounds.c.id == effects.c.round_id)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name.in_(names), effects.c.kind == EffectKind.CLASS_AVERAGES)
        .group_by(rounds.c.slot)
    )
    return {row.slot: row.version for row in connection.execute(query)}


def newest_slots(connection: Connection, names: Collection[str]) -> dict[str, datetime]:
    """Read the slot of the newest round of each monitor."""
    query = (
        select(monitors.c.name, func.max(rounds.c.slot))
        .join(rounds, rounds.c.monitor_id == monitors.c.id)
        .where(monitors.c.name.in_(names))
        .group_by(monitors.c.name)
    )
    return {str(name): slot for name, slot in connection.execute(query)}


def is_written(connection: Connection, key: str) -> bool:
    """Whether an effect with this key exists."""
    query = select(effects.c.id).where(effects.c.key == key)
    return connection.execute(query).first() is not None


def report_of_block(connection: Connection, block: str, slot: datetime) -> ClassReport | None:
    """Read the latest report on a window of a block; None without a report."""
    return _report(connection, block, rounds.c.slot == slot)


def report_before(connection: Connection, block: str, slot: datetime) -> ClassReport | None:
    """Read the latest report on the last reported window before a slot, or None."""
    return _report(connection, block, rounds.c.slot < slot)


def report_after(connection: Connection, block: str, slot: datetime) -> ClassReport | None:
    """Read the latest report on the first reported window after a slot, or None."""
    return _report(connection, block, rounds.c.slot > slot, is_earliest=True)


def last_report(connection: Connection, block: str, upto: datetime) -> ClassReport | None:
    """Read the latest report on the newest reported window up to a slot, or None."""
    return _report(connection, block, rounds.c.slot <= upto)


def _report(
    connection: Connection, block: str, which: ColumnElement[bool], *, is_earliest: bool = False
) -> ClassReport | None:
    of_block = effects.c.payload["block"].as_string() == block
    query = (
        select(effects.c.payload)
        .join(rounds, rounds.c.id == effects.c.round_id)
        .where(effects.c.kind == EffectKind.CLASS_AVERAGES, of_block, which)
        .order_by(rounds.c.slot if is_earliest else rounds.c.slot.desc(), effects.c.id.desc())
    )
    payload = connection.scalar(query.limit(1))
    return None if payload is None else ClassReport.model_validate(payload)
