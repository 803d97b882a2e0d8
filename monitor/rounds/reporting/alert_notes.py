"""Notes on alerts: a person writes down what was done, and MLflow shows it with the rounds."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertNote, StoredAlert
from monitor.domain.state import RoundState
from monitor.rounds.reporting.enqueue import resend
from monitor.storage.results import alert_note_store, report_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


def note_alert(connection: Connection, alert: StoredAlert, note: AlertNote) -> bool:
    """Add a note to an alert in any state; false if it already has one with this text."""
    is_new = alert_note_store.add_note(connection, alert.id, note)
    if is_new:
        _resend_rounds(connection, alert, note.at)
    return is_new


def delete_notes(connection: Connection, alert: StoredAlert, now: datetime) -> int:
    """Delete the notes on an alert, here and in MLflow; returns how many there were."""
    count = alert_note_store.delete_notes(connection, alert.id)
    if count:
        _resend_rounds(connection, alert, now)
    return count


def _resend_rounds(connection: Connection, alert: StoredAlert, now: datetime) -> None:
    """Send the newest round, and all others that name the alert, to MLflow again."""
    newest = round_store.newest_closed_id(connection, alert.monitor, now)
    closed = round_store.find_rounds(connection, alert.monitor, states=[RoundState.CLOSED])
    reports = report_store.read_parts(connection, [round_.id for round_ in closed], "alerts")
    for round_ in closed:
        is_newest, rows = round_.id == newest, reports.get(round_.id, {}).get("alerts") or ()
        if is_newest or any(row["id"] == alert.id for row in rows):
            resend(connection, round_, now, newest=is_newest)
