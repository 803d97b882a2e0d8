"""Notes on alerts. Stored reports and effects contain none; notes are added when they are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, select

from monitor.domain.alerting import AlertNote
from monitor.storage.database import in_chunks, insert_all_new, remove
from monitor.storage.queries import picked
from monitor.storage.tables import alert_notes

_NOTE = ("at", "by", "text")


def read_notes(
    connection: Connection, alert_ids: Collection[str]
) -> dict[str, tuple[AlertNote, ...]]:
    """Read the notes on some alerts, the oldest first; omits alerts without notes."""
    return in_chunks(connection, sorted(alert_ids), _read)


def _read(connection: Connection, alert_ids: Collection[str]) -> dict[str, tuple[AlertNote, ...]]:
    query = select(alert_notes).where(alert_notes.c.alert_id.in_(alert_ids))
    notes: dict[str, tuple[AlertNote, ...]] = {}
    for row in connection.execute(query.order_by(alert_notes.c.id)):
        note = AlertNote(**picked(row, _NOTE))
        notes[row.alert_id] = (*notes.get(row.alert_id, ()), note)
    return notes


def add_note(connection: Connection, alert_id: str, note: AlertNote) -> bool:
    """Store a note; False if the alert already has one with this text."""
    return bool(insert_all_new(connection, alert_notes, [asdict(note) | {"alert_id": alert_id}]))


def delete_notes(connection: Connection, alert_id: str) -> int:
    """Delete the notes on an alert; returns their number."""
    return remove(connection, alert_notes, alert_notes.c.alert_id == alert_id)


def with_notes(connection: Connection, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored report with the notes on its alerts, ready for JSON."""
    rows = report.get("alerts") or []
    notes = read_notes(connection, [row["id"] for row in rows])
    if not notes:
        return dict(report)
    noted = [
        row | {"notes": [asdict(note) | {"at": note.at.isoformat()} for note in notes[row["id"]]]}
        if row["id"] in notes
        else row
        for row in rows
    ]
    return {**report, "alerts": noted}
