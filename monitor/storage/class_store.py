"""What a block of classes has: the rounds of its monitors for a window, and its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from monitor.domain.model import EffectKind
from monitor.domain.state import RoundState
from monitor.storage import round_store
from monitor.storage.tables import effects, monitors, rounds

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.storage.round_store import Round

_ENDED = (RoundState.CLOSED, RoundState.ABANDONED, RoundState.SKIPPED)


def has_ended(round_: Round) -> bool:
    """Whether a round has ended, and its estimate is of the labels that it has."""
    if round_.state is RoundState.CLOSED:
        return round_.label_revision == round_.estimated_revision
    return round_.state in _ENDED


def rounds_of_slot(
    connection: Connection, names: Collection[str], slot: datetime
) -> dict[str, Round]:
    """Read the round of each of these monitors that was due at a slot, by monitor."""
    query = (
        select(rounds.c.id)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name.in_(names), rounds.c.slot == slot)
    )
    ids = list(connection.execute(query).scalars())
    found = round_store.read_rounds(connection, ids) if ids else []
    return {round_.monitor: round_ for round_ in found}


def newest_slots(connection: Connection, names: Collection[str]) -> dict[str, datetime]:
    """Read when the newest round of each of these monitors was due, by monitor."""
    query = (
        select(monitors.c.name, func.max(rounds.c.slot))
        .join(rounds, rounds.c.monitor_id == monitors.c.id)
        .where(monitors.c.name.in_(names))
        .group_by(monitors.c.name)
    )
    return {str(name): slot for name, slot in connection.execute(query)}


def last_slots(connection: Connection, name: str, count: int) -> list[datetime]:
    """Read when the newest rounds of a monitor were due, newest first."""
    query = (
        select(rounds.c.slot)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name == name)
        .order_by(rounds.c.slot.desc())
        .limit(count)
    )
    return list(connection.execute(query).scalars())


def is_written(connection: Connection, key: str) -> bool:
    """Whether there is an effect of this key."""
    query = select(effects.c.id).where(effects.c.key == key)
    return connection.execute(query).first() is not None


def report_of_block(connection: Connection, block: str, slot: datetime) -> dict[str, Any] | None:
    """Read what was last reported of a window of a block; None where nothing was."""
    query = (
        select(effects.c.payload)
        .join(rounds, rounds.c.id == effects.c.round_id)
        .where(rounds.c.slot == slot, effects.c.kind == EffectKind.CLASS_AVERAGES)
        .order_by(effects.c.id.desc())
    )
    payloads = (dict(payload) for payload in connection.execute(query).scalars())
    return next((payload for payload in payloads if payload["block"] == block), None)


def last_report(connection: Connection, names: Collection[str]) -> dict[str, Any] | None:
    """Read what was last reported of the newest window of a block; None where nothing was."""
    query = (
        select(effects.c.payload)
        .join(rounds, rounds.c.id == effects.c.round_id)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name.in_(names), effects.c.kind == EffectKind.CLASS_AVERAGES)
        .order_by(rounds.c.slot.desc(), effects.c.id.desc())
        .limit(1)
    )
    payload = connection.execute(query).scalar()
    return None if payload is None else dict(payload)
