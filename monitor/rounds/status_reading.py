"""Read the status of monitors from the store, in as many statements for all as for one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from monitor.domain.alerting import AlertState, StoredAlert, only_learns
from monitor.domain.model import LOG, WaitingSink
from monitor.domain.notice import Notice
from monitor.domain.report import (
    AlertRow,
    AnswersRow,
    Attention,
    EstimateRow,
    EvidenceRow,
    RecoveryRow,
    ReportedEstimate,
    RestatedRow,
)
from monitor.domain.round import Round
from monitor.domain.settings import MonitorSettings
from monitor.presentation.limit_comparisons import (
    LimitComparison,
    compare_limits,
)
from monitor.rounds.open_rounds import OpenRound
from monitor.rounds.reporting.enqueue import notice_id
from monitor.rounds.reporting.report import SHOWN, read_restated_rows
from monitor.storage.database import in_chunks
from monitor.storage.labels import label_notes, provisional_store
from monitor.storage.labels.label_notes import LabelNotes
from monitor.storage.outbox import effect_admin, effect_store
from monitor.storage.overview import attention_store, many_rounds
from monitor.storage.overview.many_rounds import MonitorRounds
from monitor.storage.results import alert_store, concern_store, report_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

NOTHING_SEEN = MonitorRounds()  # A monitor that has no round yet
NO_ROUND = 0  # Placeholder for the id of a round if there is none; ids begin at 1

Of = TypeVar("Of", "StoredAlert", "WaitingSink", "Attention")
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class StoredStatus:
    """Stored status of one monitor.

    ``issues`` are of its newest round, ``estimates`` and ``notices`` of the last that closed.
    """

    settings: MonitorSettings
    now: datetime
    seen: MonitorRounds
    open_rounds: list[OpenRound]
    alerts: list[StoredAlert]
    held_up: list[WaitingSink]
    without_estimate: list[Attention]
    attention: list[Attention]
    labels: list[LabelNotes]
    estimates: list[EstimateRow]
    limits: list[LimitComparison]
    issues: Mapping[str, tuple[int, bool]]
    notices: list[dict[str, Any]]
    answers: AnswersRow | None
    doubt: str | None
    restated: list[RestatedRow]
    firing_notices: dict[str, Notice]
    recoveries: dict[str, RecoveryRow]
    only_learns: bool
    """Whether the last round watched no limit, though it has some; also before there is one."""

    @property
    def newest(self) -> Round | None:
        """The newest round, regardless of its state."""
        return self.seen.newest

    @property
    def last(self) -> Round | None:
        """The newest round that closed."""
        return self.seen.closed


def read_statuses(
    connection: Connection, monitors: Sequence[MonitorSettings], now: datetime
) -> Iterator[StoredStatus]:
    """Read the stored status of some monitors, in their order."""
    only = monitors[0].name if len(monitors) == 1 else None
    seen = many_rounds.read_monitor_rounds(connection, now, only)
    alerts = alert_store.find_alerts(connection, monitor=only, state=AlertState.FIRING)
    newest = [of_monitor.newest.id for of_monitor in seen.values() if of_monitor.newest is not None]
    closed = [of_monitor.closed.id for of_monitor in seen.values() if of_monitor.closed is not None]
    waiting = [round_.id for of_monitor in seen.values() for round_ in of_monitor.waiting]
    progress = many_rounds.read_progress(connection, waiting)
    provisional = in_chunks(connection, waiting, provisional_store.newest_rows)
    alerts_of = _by_monitor(alerts)
    held_up = _by_monitor(effect_store.find_waiting(connection, only))
    issues = frame_store.read_all_issues(connection, newest)
    parts = ("estimates", "evidence", "notices", "answers")
    reports = report_store.read_parts(connection, closed, *parts)
    notices_of_alerts = firing_notices(connection, alerts)
    recoveries_of_alerts = recoveries(connection, alerts)
    without_estimate = _by_monitor(attention_store.without_estimate(connection, now, only))
    attention = _by_monitor(attention_store.read_attention(connection, now, only))
    labels = label_notes.notes_of_open_rounds(connection, only, ended=newest)
    doubts = concern_store.read_doubts(connection, newest)
    restated = read_restated_rows(connection, closed)
    for settings in monitors:
        name = settings.name
        monitor_rounds = seen.get(name, NOTHING_SEEN)
        first = monitor_rounds.newest.id if monitor_rounds.newest else NO_ROUND
        last = monitor_rounds.closed.id if monitor_rounds.closed else NO_ROUND
        report = reports.get(last, {})
        answers = report.get("answers")
        estimates = [ReportedEstimate.model_validate(row) for row in report.get("estimates") or ()]
        evidence = [EvidenceRow.model_validate(row) for row in report.get("evidence") or ()]
        own_alerts = alerts_of.get(name, [])
        yield StoredStatus(
            settings=settings,
            now=now,
            seen=monitor_rounds,
            open_rounds=[
                OpenRound.of(round_, progress[round_.id], provisional.get(round_.id))
                for round_ in monitor_rounds.waiting
            ],
            alerts=own_alerts,
            held_up=held_up.get(name, []),
            without_estimate=without_estimate.get(name, []),
            attention=attention.get(name, []),
            labels=labels.get(name, []),
            estimates=first_shown(estimates),
            limits=compare_limits(
                evidence, estimates, {(alert.metric, alert.side) for alert in own_alerts}
            ),
            issues=issues.get(first, {}),
            notices=report.get("notices") or [],
            answers=answers and AnswersRow.model_validate(answers),
            doubt=doubts.get(first),
            restated=restated.get(last, []),
            firing_notices=_of_alerts(notices_of_alerts, own_alerts),
            recoveries=_of_alerts(recoveries_of_alerts, own_alerts),
            only_learns=only_learns([row.state for row in evidence]),
        )


def _of_alerts(facts: Mapping[str, ValueT], alerts: Sequence[StoredAlert]) -> dict[str, ValueT]:
    return {alert.id: facts[alert.id] for alert in alerts if alert.id in facts}


def _by_monitor(rows: Iterable[Of]) -> dict[str, list[Of]]:
    by_name: dict[str, list[Of]] = {}
    for row in rows:
        by_name.setdefault(row.monitor, []).append(row)
    return by_name


def first_shown(rows: Iterable[EstimateRow]) -> list[EstimateRow]:
    """Select the estimates that people see first, in a fixed order."""
    named = {(row.metric, row.basis, row.estimand): row for row in rows}
    return [named[each] for each in SHOWN if each in named]


def firing_notices(connection: Connection, alerts: Sequence[StoredAlert]) -> dict[str, Notice]:
    """Read the notices of open alerts as the log has them, without notices still to be written."""
    keys = {f"{notice_id('alert.firing', alert.id)}/{LOG}": alert.id for alert in alerts}
    payloads = effect_admin.with_keys(connection, list(keys)) if keys else {}
    return {keys[key]: Notice.model_validate(payload) for key, payload in payloads.items()}


def recoveries(connection: Connection, alerts: Sequence[StoredAlert]) -> dict[str, RecoveryRow]:
    """Read how far open alerts are from their end, by their ids, as of the last closing."""
    if not alerts:
        return {}
    newest = alert_store.newest_rounds(connection, [alert.id for alert in alerts])
    reported = report_store.read_parts(connection, sorted(set(newest.values())), "alerts")
    rows = {
        (round_id, row["id"]): AlertRow.model_validate(row).recovery
        for round_id, report in reported.items()
        for row in report["alerts"]
    }
    now = {alert_id: rows.get((round_id, alert_id)) for alert_id, round_id in newest.items()}
    return {alert_id: recovery for alert_id, recovery in now.items() if recovery is not None}
