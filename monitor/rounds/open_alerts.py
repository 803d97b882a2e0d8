"""Notices of open alerts: when they fired, and at the last closing since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.notice import Notice
from monitor.domain.report import AlertRow, RecoveryRow
from monitor.domain.sinks import LOG
from monitor.rounds.reporting.notices import notice_id
from monitor.storage.outbox import effect_admin
from monitor.storage.overview import many_rounds
from monitor.storage.results import alert_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from monitor.storage.results.alert_store import StoredAlert


def firing_notices(connection: Connection, alerts: Sequence[StoredAlert]) -> dict[str, Notice]:
    """Read the notices of open alerts as the log has them, without notices still to be written."""
    keys = {f"{notice_id('alert.firing', alert.id)}/{LOG}": alert.id for alert in alerts}
    result = effect_admin.with_keys(connection, list(keys)) if keys else {}
    return {keys[key]: Notice.model_validate(payload) for key, payload in result.items()}


def recoveries(connection: Connection, alerts: Sequence[StoredAlert]) -> dict[str, RecoveryRow]:
    """Read how far open alerts are from their end, by their ids.

    Omits an alert if no round has closed since the upgrade from an older version.
    """
    if not alerts:
        return {}
    newest = alert_store.newest_rounds(connection, [alert.id for alert in alerts])
    reported = many_rounds.read_alert_rows(connection, sorted(set(newest.values())))
    rows = {
        (round_id, row["id"]): AlertRow.model_validate(row).recovery
        for round_id, result in reported.items()
        for row in result
    }
    now = {alert_id: rows.get((round_id, alert_id)) for alert_id, round_id in newest.items()}
    return {alert_id: recovery for alert_id, recovery in now.items() if recovery is not None}
