"""Administration of pending effects: list, retry or drop them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select

from monitor.domain.model import Effect, EffectKind
from monitor.storage.database import change
from monitor.storage.outbox.effect_store import (
    DEAD,
    DONE,
    DROPPED,
    OPEN,
    WAITING,
    is_aside,
    is_like,
)
from monitor.storage.queries import named
from monitor.storage.results.report_store import payload_of, with_report
from monitor.storage.tables import effects, monitors, rounds


@dataclass(frozen=True, slots=True)
class OpenEffect:
    """A waiting effect or dead letter; ``first`` if it waits for no other effect of its queue."""

    id: int
    kind: str
    sink: str
    monitor: str
    round: int
    status: str
    since: datetime
    tries: int
    next_try: datetime
    last_error: str | None
    aside: bool = False
    first: bool = False


def find_open(
    connection: Connection,
    *,
    monitor: str | None = None,
    sink: str | None = None,
    number: int | None = None,
) -> list[OpenEffect]:
    """Read the pending effects, each queue in its order."""
    query = (
        select(
            *effects.c["id", "kind", "sink"],
            monitors.c.name,
            rounds.c.number,
            *effects.c["status", "created_at", "tries", "next_try", "last_error"],
            is_aside(effects).label("aside"),
        )
        .join(monitors, monitors.c.id == effects.c.monitor_id)
        .join(rounds, rounds.c.id == effects.c.round_id)
        .where(effects.c.status.in_(OPEN), named(monitor))
        .order_by(monitors.c.name, effects.c.sink, effects.c.id)
    )
    if sink is not None:
        query = query.where(effects.c.sink == sink)
    if number is not None:
        query = query.where(effects.c.id == number)
    effects_ = [OpenEffect(*row) for row in connection.execute(query)]
    heads: dict[tuple[str, str], int] = {}
    for effect in effects_:
        if not effect.aside:
            heads.setdefault((effect.monitor, effect.sink), effect.id)
    return [
        replace(effect, first=effect.aside or heads[effect.monitor, effect.sink] == effect.id)
        for effect in effects_
    ]


def revive(connection: Connection, ids: Collection[int], now: datetime) -> int:
    """Reset pending effects so that they are tried now; returns their number."""
    values = {"status": WAITING, "tries": 0, "next_try": now, "done_at": None}
    return change(connection, effects, *_open(ids), **values)


def drop(connection: Connection, ids: Collection[int], why: str, now: datetime) -> int:
    """Drop pending effects for good; they stay in the store with the reason."""
    values = {"status": DROPPED, "receipt": f"dropped: {why}", "done_at": now}
    return change(connection, effects, *_open(ids), **values)


def _open(ids: Collection[int]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return effects.c.id.in_(ids), effects.c.status.in_(OPEN)


def hold(connection: Connection, sink: str, until: datetime) -> int:
    """Delay all pending effects of a sink at least until a time, as the sink requested."""
    early = (effects.c.sink == sink, effects.c.status.in_(OPEN), effects.c.next_try < until)
    return change(connection, effects, *early, next_try=until)


def orphans(connection: Connection, sinks: Collection[str], before: datetime) -> dict[str, int]:
    """Return the sinks that waiting effects have and ``sinks`` lacks, with the first effect's id.

    Only effects created earlier than ``before`` count.
    """
    query = (
        select(effects.c.id, effects.c.sink)
        .where(
            effects.c.status == WAITING, effects.c.sink.not_in(sinks), effects.c.created_at < before
        )
        .order_by(effects.c.id.desc())
    )
    return {str(row.sink): int(row.id) for row in connection.execute(query)}


def set_dead(connection: Connection, sink: str, why: str, before: datetime, now: datetime) -> int:
    """Turn all waiting effects of a sink into dead letters, due at once if it is served again."""
    waiting = (effects.c.sink == sink, effects.c.status == WAITING, effects.c.created_at < before)
    return change(connection, effects, *waiting, status=DEAD, last_error=why, next_try=now)


def retry_effect(connection: Connection, effect: Effect, now: datetime) -> int:
    """Repeat a delivery that a process without a valid claim may have disturbed.

    All later deliveries are repeated too, in order, so that they overwrite its changes.
    """
    later = [is_like(effect), effects.c.id >= effect.id]
    if effect.kind is EffectKind.ROUND_RUN:
        round_id = select(effects.c.round_id).where(effects.c.id == effect.id).scalar_subquery()
        later.append(effects.c.round_id == round_id)
    # The current worker may have searched before the second run was created, so it loses its claim.
    lost = {"claimed_by": None, "claimed_until": None, "attempt": effects.c.attempt + 1}
    change(connection, effects, effects.c.id == effect.id, effects.c.status.in_(OPEN), **lost)
    error = "a process that had lost its claim may have written into it"
    values = {"status": WAITING, "next_try": now, "done_at": None, "last_error": error}
    return change(connection, effects, *later, effects.c.status == DONE, **values)


def has_dead(connection: Connection, sink: str) -> bool:
    """Whether a sink has dead letters."""
    query = select(effects.c.id).where(effects.c.sink == sink, effects.c.status == DEAD).limit(1)
    return connection.execute(query).first() is not None


def with_keys(connection: Connection, keys: Collection[str]) -> dict[str, dict[str, Any]]:
    """Read the payloads of delivered effects by key."""
    query = select(effects.c.key, effects.c.payload).where(effects.c.key.in_(keys))
    rows = connection.execute(query.where(effects.c.status == DONE))
    return {str(row.key): dict(row.payload) for row in rows}


def notified_since(connection: Connection, begins: str, ends: str) -> list[tuple[int, str]]:
    """Return round and sink of each sink's last ``begins`` notice without a later ``ends`` notice.

    Both arguments are prefixes of keys.
    """
    begun, ended = _last(connection, begins), _last(connection, ends)
    return [
        (row.round_id, sink)
        for sink, row in begun.items()
        if sink not in ended or ended[sink].id < row.id
    ]


def _last(connection: Connection, prefix: str) -> dict[str, Row[Any]]:
    query = (
        select(*effects.c["id", "round_id", "sink"])
        .where(effects.c.key.startswith(prefix, autoescape=True))
        .order_by(effects.c.id)
    )
    return {row.sink: row for row in connection.execute(query)}


def last_done(connection: Connection, monitor: str, kind: str) -> tuple[dict[str, Any], str] | None:
    """Read payload and receipt of the newest delivered effect of a kind, or None."""
    query = (
        select(effects.c.payload, effects.c.receipt)
        .join(monitors, monitors.c.id == effects.c.monitor_id)
        .where(monitors.c.name == monitor, effects.c.kind == kind, effects.c.status == DONE)
        .order_by(effects.c.id.desc())
        .limit(1)
    )
    row = connection.execute(with_report(query)).first()
    return None if row is None else (payload_of(connection, row), str(row.receipt))
