"""Monitors that are in the store but not in the config: renamed, removed, or another config's.

Their rounds stay as they are, and their open alerts are ended. Several configs may share a store,
so an alert ends only after a slot has passed that a config with the monitor would have opened.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from monitor.domain.alerting import AlertState, StoredAlert
from monitor.domain.ports import Clock
from monitor.domain.slots import slots_after
from monitor.domain.state import RoundState
from monitor.presentation.status import REMOVED, removed_sentence
from monitor.rounds.reporting.enqueue import enqueue_ended
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from monitor.storage.pages import page_store
from monitor.storage.results import alert_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import payload_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


log = structlog.get_logger("monitor.rounds")

UNWATCHED = timedelta(days=1)
"""Time after an unopened slot from which the monitor counts as run by no config."""


@dataclass(frozen=True, slots=True)
class RemovedMonitor:
    """A monitor that the config does not have, with its open alerts and rounds.

    ``ends_at`` is when its alerts are ended, unless another config runs it meanwhile.
    """

    monitor: str
    alerts: tuple[StoredAlert, ...]
    open_rounds: tuple[int, ...]
    ends_at: datetime

    @property
    def sentence(self) -> str:
        """Describe what is open, and what will happen to it."""
        return removed_sentence(self.monitor, self.alerts, self.open_rounds, self.ends_at)


def removed_monitors(connection: Connection, names: Collection[str]) -> list[RemovedMonitor]:
    """Find the monitors not among ``names`` that have an open alert or round, by name."""
    alerts: dict[str, list[StoredAlert]] = {}
    rounds: dict[str, list[int]] = {}
    for alert in alert_store.find_alerts(connection, state=AlertState.FIRING):
        alerts.setdefault(alert.monitor, []).append(alert)
    for name, number in round_store.numbers_of(connection, _OPEN):
        rounds.setdefault(name, []).append(number)
    return [
        RemovedMonitor(
            monitor=name,
            alerts=tuple(alerts.get(name, ())),
            open_rounds=tuple(rounds.get(name, ())),
            ends_at=_ends_at(connection, name),
        )
        for name in sorted({*alerts, *rounds} - set(names))
    ]


def end_removed_monitors(database: Database, names: Collection[str], clock: Clock) -> None:
    """End the alerts of monitors not among ``names`` that no config has run for long enough."""
    now = clock()
    configured = set(names)
    with database.read() as connection:
        firing = alert_store.find_alerts(connection, state=AlertState.FIRING)
        due = [
            alert
            for alert in firing
            if alert.monitor not in configured and _ends_at(connection, alert.monitor) <= now
        ]
    for alert in due:
        with database.write() as connection:
            ended = alert_store.end(connection, alert.id, AlertState.RESOLVED, why=REMOVED, now=now)
            if ended:  # else another process was faster
                enqueue_ended(connection, alert, REMOVED, now, by_hand=False)
                log.warning(
                    "alert of a removed monitor ended", monitor=alert.monitor, alert=alert.id
                )


def _ends_at(connection: Connection, monitor: str) -> datetime:
    """Return when a monitor counts as removed: ``UNWATCHED`` after its first unopened slot."""
    monitor_id = round_store.find_monitor(connection, monitor)
    newest = None if monitor_id is None else round_store.newest_round(connection, monitor_id)
    if newest is None:
        message = f"{monitor} has an open alert or round, so it has rounds"
        raise AssertionError(message)
    return next(slots_after(newest.settings.schedule, newest.slot)) + UNWATCHED


_OPEN = (RoundState.OPEN, RoundState.LABELING)


def forget_removed_monitors(database: Database, names: Collection[str], clock: Clock) -> None:
    """Delete what people were shown for monitors that the config no longer has, but no files."""
    with database.read() as connection:
        rounds = payload_store.removed_monitors(connection, names, clock())
    for round_ in rounds:
        with database.write() as connection:
            label_store.forget_payloads(connection, round_.id)
            page_store.empty_tasks(connection, round_.name)
        log.info(
            "payloads of a removed monitor deleted", monitor=round_.monitor, round=round_.number
        )
