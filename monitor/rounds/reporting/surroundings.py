"""What the store holds about the rounds of a batch besides their estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState
from monitor.rounds.reporting.report import TIMELINE
from monitor.rounds.reporting.restated import restated_rows
from monitor.rounds.reporting.timeline import read_timeline
from monitor.storage.overview import attention_store, many_rounds
from monitor.storage.results import concern_store
from monitor.storage.rounds import round_store, round_transitions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.report import RecoveryRow, RestatedRow, TimelinePoint
    from monitor.rounds.estimation.batch import BatchEvidence, HistoryBatch
    from monitor.storage.results.alert_store import StoredAlert
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
    newest = round_store.newest_closed(connection, rounds[0].monitor_id, now)
    return Surroundings(
        alerts=evidence.alerts,
        recoveries=evidence.recoveries,
        issues=many_rounds.read_all_issues(connection, ids),
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
        restated=restated_rows(connection, batch.restated, ids),
    )


def _concerns(
    connection: Connection, round_: Round, newest: int | None, now: datetime
) -> Sequence[str]:
    """Concerns about a round; those about a newer one too where this has the newest estimate."""
    if round_.id == newest:
        return attention_store.newest_concerns(connection, round_, now)
    return list(concern_store.read_concerns(connection, round_.id).values())
