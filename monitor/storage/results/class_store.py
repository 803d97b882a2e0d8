"""What a block of classes has: the rounds of its monitors for a window, and its reports."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, or_, select

from monitor.domain.block import Block
from monitor.domain.model import EffectKind, Window
from monitor.domain.state import ENDED, RoundState
from monitor.storage.tables import effects, monitors, rounds


class ClassVersion(NamedTuple):
    """What changes with anything that averages over a window depend on."""

    rounds: int
    closed: int
    newest: int
    labels: int
    first: int
    version: int


_COLUMNS = (
    "id",
    "monitor_id",
    "number",
    "window_start",
    "window_end",
    "state",
    "reason",
    "opened_at",
    "version",
    "first_version",
    "label_revision",
    "estimated_revision",
)


@dataclass(frozen=True, slots=True)
class ClassRound:
    """The few facts of a round that averages over classes depend on."""

    id: int
    monitor: str
    monitor_id: int
    number: int
    window: Window
    state: RoundState
    reason: str | None
    block: Block | None
    opened_at: datetime
    version: int
    first_version: int
    label_revision: int
    estimated_revision: int | None

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, and its estimate is of the labels that it has."""
        if self.state is RoundState.CLOSED:
            return self.label_revision == self.estimated_revision
        return self.state in ENDED


def rounds_of_slot(
    connection: Connection, names: Collection[str], slot: datetime
) -> dict[str, ClassRound]:
    """Read the round of each of these monitors that was due at a slot, by monitor."""
    query = _rounds().where(monitors.c.name.in_(names), rounds.c.slot == slot)
    return {row.monitor: _class_round(row) for row in connection.execute(query)}


def rounds_of_block(connection: Connection, block: str, slot: datetime) -> list[ClassRound]:
    """Read the rounds of a block that were due at a slot."""
    name = rounds.c.settings["block"]["name"].as_string()
    query = _rounds().where(rounds.c.slot == slot, name == block).order_by(rounds.c.id)
    return [_class_round(row) for row in connection.execute(query)]


def _rounds() -> Select[Any]:
    columns: list[ColumnElement[Any]] = [rounds.c[name] for name in _COLUMNS]
    block = rounds.c.settings["block"].label("block")
    return select(monitors.c.name.label("monitor"), block, *columns).join(
        monitors, monitors.c.id == rounds.c.monitor_id
    )


def _class_round(row: Row[Any]) -> ClassRound:
    return ClassRound(
        id=row.id,
        monitor=row.monitor,
        monitor_id=row.monitor_id,
        number=row.number,
        window=Window(row.window_start, row.window_end),
        state=RoundState(row.state),
        reason=row.reason,
        block=None if row.block is None else Block.model_validate_json(json.dumps(row.block)),
        opened_at=row.opened_at,
        version=row.version,
        first_version=row.first_version,
        label_revision=row.label_revision,
        estimated_revision=row.estimated_revision,
    )


def ended_windows(
    connection: Connection, names: Collection[str], *, since: datetime | None = None
) -> dict[datetime, ClassVersion]:
    """Find the windows, newest first, of which no round of these monitors goes on, and one closed.

    ``since`` leaves out those that were due before.
    """
    query = _windows(names)
    if since is not None:
        query = query.where(rounds.c.slot > since)
    windows = (
        (slot, over, ClassVersion(*marker)) for slot, over, *marker in connection.execute(query)
    )
    return {
        slot: marker for slot, over, marker in windows if marker.closed and over == marker.rounds
    }


def _windows(names: Collection[str]) -> Select[Any]:
    is_closed = rounds.c.state == RoundState.CLOSED
    is_over = or_(
        and_(is_closed, rounds.c.label_revision == rounds.c.estimated_revision),
        and_(~is_closed, rounds.c.state.in_(ENDED)),
    )
    return (
        select(
            rounds.c.slot,
            func.sum(case((is_over, 1), else_=0)),
            func.count(),
            func.sum(case((is_closed, 1), else_=0)),
            func.max(rounds.c.id),
            func.sum(rounds.c.label_revision),
            func.sum(rounds.c.first_version),
            func.sum(rounds.c.version),
        )
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name.in_(names))
        .group_by(rounds.c.slot)
        .order_by(rounds.c.slot.desc())
    )


def reported_versions(connection: Connection, names: Collection[str]) -> dict[datetime, int]:
    """Read the newest version that was reported of each window of these monitors' block."""
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
    """Read when the newest round of each of these monitors was due, by monitor."""
    query = (
        select(monitors.c.name, func.max(rounds.c.slot))
        .join(rounds, rounds.c.monitor_id == monitors.c.id)
        .where(monitors.c.name.in_(names))
        .group_by(monitors.c.name)
    )
    return {str(name): slot for name, slot in connection.execute(query)}


def is_written(connection: Connection, key: str) -> bool:
    """Whether there is an effect of this key."""
    query = select(effects.c.id).where(effects.c.key == key)
    return connection.execute(query).first() is not None


def report_of_block(connection: Connection, block: str, slot: datetime) -> dict[str, Any] | None:
    """Read what was last reported of a window of a block; None if nothing was."""
    query = _reports(block).where(rounds.c.slot == slot)
    return _first(connection, query.order_by(effects.c.id.desc()))


def report_before(connection: Connection, block: str, slot: datetime) -> dict[str, Any] | None:
    """Read what was last reported of the window before a slot that a block reported of."""
    query = _reports(block).where(rounds.c.slot < slot)
    return _first(connection, query.order_by(rounds.c.slot.desc(), effects.c.id.desc()))


def report_after(connection: Connection, block: str, slot: datetime) -> dict[str, Any] | None:
    """Read what was last reported of the window after a slot that a block reported of."""
    query = _reports(block).where(rounds.c.slot > slot)
    return _first(connection, query.order_by(rounds.c.slot, effects.c.id.desc()))


def last_report(connection: Connection, block: str, upto: datetime) -> dict[str, Any] | None:
    """Read what was last reported of the newest window of a block, none later than a slot."""
    query = _reports(block).where(rounds.c.slot <= upto)
    return _first(connection, query.order_by(rounds.c.slot.desc(), effects.c.id.desc()))


def _reports(block: str) -> Select[Any]:
    return (
        select(effects.c.payload)
        .join(rounds, rounds.c.id == effects.c.round_id)
        .where(
            effects.c.kind == EffectKind.CLASS_AVERAGES,
            effects.c.payload["block"].as_string() == block,
        )
    )


def _first(connection: Connection, query: Select[Any]) -> dict[str, Any] | None:
    payload = connection.execute(query.limit(1)).scalar()
    return None if payload is None else dict(payload)
