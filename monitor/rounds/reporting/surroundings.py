"""What the store holds about the rounds of a batch besides their estimates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState
from monitor.domain.label_parts import column_classes
from monitor.domain.report import ProvisionalRow, RecoveryRow, RestatedRow, TimelinePoint
from monitor.rounds.reporting.report import SHOWN, TIMELINE, timeline_point
from monitor.storage.labels import provisional_store
from monitor.storage.overview import attention_store
from monitor.storage.results import alert_store, concern_store, estimate_store
from monitor.storage.results.restatement_store import RestatedVersion, read_restated
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.alerting import StoredAlert
    from monitor.rounds.estimation.batch import BatchEvidence, HistoryBatch
    from monitor.storage.rounds.round_store import Round


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What reports of a batch share, read once for all of its rounds."""

    alerts: Sequence[StoredAlert]
    recoveries: Mapping[str, RecoveryRow]
    issues: Mapping[int, Mapping[str, tuple[int, bool]]]
    reasons: Mapping[int, str]
    concerns: Mapping[int, Sequence[str]]
    timeline: Sequence[tuple[datetime, TimelinePoint]]
    newest: int | None
    restated: Mapping[int, Sequence[RestatedRow]]
    provisional: Mapping[int, ProvisionalRow]

    def points(self, round_: Round) -> list[TimelinePoint]:
        """Choose the points of the figure that ends with a round."""
        return [point for slot, point in self.timeline if slot <= round_.slot][-TIMELINE:]

    def shown_alerts(self, round_: Round) -> list[StoredAlert]:
        """Choose the alerts that are open, and those that a round fired."""
        return [
            alert
            for alert in self.alerts
            if alert.state is AlertState.FIRING or alert.fired_round_id == round_.id
        ]


def read_surroundings(
    connection: Connection, batch: HistoryBatch, evidence: BatchEvidence, reason: str, now: datetime
) -> Surroundings:
    """Read them; ``reason`` is why the due round has a new version."""
    rounds = [member.round for member in batch.affected]
    due, *later = ids = [round_.id for round_ in rounds]
    newest = round_store.newest_closed_id(connection, rounds[0].monitor, now)
    late = [round_.id for round_ in rounds if column_classes(round_.settings.labeling)]
    return Surroundings(
        alerts=evidence.alerts,
        recoveries=evidence.recoveries,
        issues=frame_store.read_all_issues(connection, ids),
        reasons={due: reason}
        | (round_transitions.last_reasons(connection, later) if later else {}),
        concerns={round_.id: _concerns(connection, round_, newest, now) for round_ in rounds},
        timeline=read_timeline(
            connection,
            rounds[0].monitor_id,
            (rounds[0].slot, rounds[-1].slot),
            evidence.alerts,
            batch.restated,
        ),
        newest=newest,
        restated=_restated_rows(connection, batch.restated, ids),
        provisional=provisional_store.first_estimates(connection, late) if late else {},
    )


def _concerns(
    connection: Connection, round_: Round, newest: int | None, now: datetime
) -> Sequence[str]:
    """Concerns about a round; those about a newer one too where this has the newest estimate."""
    if round_.id == newest:
        return attention_store.newest_concerns(connection, round_, now)
    return list(concern_store.read_concerns(connection, round_.id).values())


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


def _restated_rows(
    connection: Connection, restated: Sequence[RestatedVersion], round_ids: Collection[int]
) -> dict[int, list[RestatedRow]]:
    named: defaultdict[int, list[int]] = defaultdict(list)
    for version in restated:
        if version.own:
            named[version.restatement].append(version.number)
    rows: defaultdict[int, list[RestatedRow]] = defaultdict(list)
    for version in restated:
        if version.round_id in round_ids:
            rows[version.round_id].append(_row(connection, version, named[version.restatement]))
    return dict(rows)


def read_restated_rows(
    connection: Connection, round_ids: Collection[int]
) -> dict[int, list[RestatedRow]]:
    """Read the restatements of some rounds, regardless of their monitors, by round."""
    restated = read_restated(connection, round_ids=sorted(round_ids))
    return _restated_rows(connection, restated, round_ids)


def _row(connection: Connection, version: RestatedVersion, rounds: list[int]) -> RestatedRow:
    replaced = estimate_store.read_estimates(connection, version.round_id, version.before)
    before = [row for row in replaced if (row.metric, row.basis, row.estimand) in SHOWN]
    return RestatedRow.taken_from(version, replaces=version.before, rounds=rounds, before=before)


def read_monitor_timeline(connection: Connection, name: str, now: datetime) -> list[TimelinePoint]:
    """Read what the figure of a monitor shows, in slot order."""
    monitor_id = round_store.find_monitor(connection, name)
    if monitor_id is None:
        return []
    alerts = alert_store.find_alerts(connection, monitor=name)
    restated = read_restated(connection, monitor_id=monitor_id)
    result = read_timeline(connection, monitor_id, (now, now), alerts, restated)
    return [point for _, point in result]
