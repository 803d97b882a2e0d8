"""Alerts in the store."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, select, true

from monitor.domain.alerting import AlertState, StoredAlert
from monitor.domain.model import Window
from monitor.domain.round import Round
from monitor.storage.database import change, insert_all
from monitor.storage.queries import named, picked
from monitor.storage.results import alert_note_store
from monitor.storage.tables import alerts, evidence, monitors, rounds

_CLOSINGS = (
    select(evidence.c.round_id)
    .join(rounds, rounds.c.id == evidence.c.round_id)
    .where(
        rounds.c.monitor_id == alerts.c.monitor_id,
        evidence.c.metric == alerts.c.metric,
        evidence.c.side == alerts.c.side,
    )
)
"""Closings of rounds about the limit of a row of ``alerts``."""
_SAME = ("id", "metric", "side", "limit", "fired_round_id", "fired_at", "ended_at", "ended_why")


def find_alerts(
    connection: Connection, *, monitor: str | None = None, state: AlertState | None = None
) -> list[StoredAlert]:
    """Read alerts, oldest first."""
    in_state = true() if state is None else alerts.c.state == state
    return _alerts(connection, named(monitor), in_state)


def newest_rounds(connection: Connection, alert_ids: Sequence[str]) -> dict[str, int]:
    """Return, for each alert, the last closed round with evidence on its limit."""
    is_frozen = evidence.c.version == rounds.c.first_version
    frozen = _CLOSINGS.where(is_frozen).order_by(evidence.c.order.desc()).limit(1)
    newest = frozen.correlate(alerts).scalar_subquery()
    query = select(alerts.c.id, newest.label("round_id")).where(alerts.c.id.in_(alert_ids))
    return {row.id: row.round_id for row in connection.execute(query) if row.round_id is not None}


def followed_by_closings(connection: Connection, alert_ids: Collection[str]) -> set[str]:
    """Return the alerts after which a round with evidence on their limit has closed."""
    if not alert_ids:
        return set()
    closed = _CLOSINGS.where(rounds.c.closed_at > alerts.c.fired_at).exists()
    return {*connection.scalars(select(alerts.c.id).where(alerts.c.id.in_(alert_ids), closed))}


def fire(
    connection: Connection, *, round_: Round, metric: str, side: str, limit: float, now: datetime
) -> StoredAlert:
    """Open an alert; its id depends on round, first version, metric and side."""
    repeated = "" if round_.first_version == 1 else f"/v{round_.first_version}"
    name = f"{round_.monitor_id}/{round_.seed}/{metric}/{side}{repeated}"
    alert_id = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    row = {"id": alert_id, "monitor_id": round_.monitor_id, "metric": metric, "side": side}
    row |= {"limit": limit, "state": AlertState.FIRING}
    insert_all(connection, alerts, [row | {"fired_round_id": round_.id, "fired_at": now}])
    [alert] = _alerts(connection, alerts.c.id == alert_id)
    return alert


def change_limit(connection: Connection, alert_id: str, limit: float) -> bool:
    """Change the limit of an open alert; False if it has ended."""
    is_open = (alerts.c.id == alert_id) & (alerts.c.state == AlertState.FIRING)
    return change(connection, alerts, is_open, limit=limit) == 1


def end(
    connection: Connection,
    alert_id: str,
    state: AlertState,
    *,
    why: str,
    now: datetime,
    round_id: int | None = None,
) -> bool:
    """End an alert; False if it had ended before."""
    # If two workers end it at once, only one finds it open and sends a notice.
    is_open = (alerts.c.id == alert_id, alerts.c.state == AlertState.FIRING)
    ended = {"ended_at": now, "ended_why": why, "ended_round_id": round_id}
    return change(connection, alerts, *is_open, state=state, **ended) == 1


def _alerts(connection: Connection, *which: ColumnElement[bool]) -> list[StoredAlert]:
    query = (
        select(alerts, monitors.c.name, *rounds.c["number", "slot", "window_start", "window_end"])
        .join(monitors, monitors.c.id == alerts.c.monitor_id)
        .join(rounds, rounds.c.id == alerts.c.fired_round_id)
        .where(*which)
        .order_by(alerts.c.fired_at, rounds.c.number)
    )
    rows = connection.execute(query).all()
    notes = alert_note_store.read_notes(connection, [row.id for row in rows])
    return [
        StoredAlert(
            monitor=row.name,
            fired_in_round=row.number,
            fired_slot=row.slot,
            **picked(row, _SAME),
            state=AlertState(row.state),
            window=Window(row.window_start, row.window_end),
            notes=notes.get(row.id, ()),
        )
        for row in rows
    ]


def unknown_alerts(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return the ids that are not in the store."""
    existing = connection.scalars(select(alerts.c.id).where(alerts.c.id.in_(ids)))
    return set(ids) - set(existing)
