"""The rounds of a timeline: the figures in MLflow and on the pages show the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState
from monitor.rounds.reporting.report import TIMELINE, timeline_point
from monitor.storage.results import alert_store, estimate_store
from monitor.storage.results.restatement_store import read_restated
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.report import TimelinePoint
    from monitor.storage.database import Database
    from monitor.storage.results.alert_store import StoredAlert
    from monitor.storage.results.restatement_store import RestatedVersion


def read_timeline(
    connection: Connection,
    monitor_id: int,
    slots: tuple[datetime, datetime],
    alerts: Iterable[StoredAlert],
    restated: Iterable[RestatedVersion],
) -> list[tuple[datetime, TimelinePoint]]:
    """Read points of the figures that end with each round between two slots, in slot order."""
    shown = estimate_store.read_timeline(
        connection, monitor_id, slots, TIMELINE, ("precision", "recall")
    )
    fired = {alert.fired_round_id for alert in alerts if alert.state is not AlertState.REVISED}
    own = {version.round_id for version in restated if version.own}
    return [
        (past.slot, timeline_point(past, alert=past.id in fired, restated=past.id in own))
        for past in shown
    ]


def monitor_timeline(database: Database, name: str, now: datetime) -> list[TimelinePoint]:
    """Read what the figure of a monitor shows, in slot order; nothing where it has no rounds."""
    with database.read() as connection:
        monitor_id = round_store.find_monitor(connection, name)
        if monitor_id is None:
            return []
        alerts = alert_store.find_alerts(connection, monitor=name)
        restated = read_restated(connection, monitor_id=monitor_id)
        result = read_timeline(connection, monitor_id, (now, now), alerts, restated)
    return [point for _, point in result]
