"""The report of a round: everything that MLflow and the pages show about it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import (
    AlertState,
    LimitReading,
    StoredAlert,
    evidence_state,
    only_learns,
)
from monitor.domain.bands import bands_of
from monitor.domain.label_parts import column_classes
from monitor.domain.model import Stratum, Verdict
from monitor.domain.report import (
    ESTIMAND_OF,
    AlertRow,
    AnswersRow,
    EstimateRow,
    EvidenceRow,
    NextRoundRow,
    ProvisionalRow,
    RecoveryRow,
    ReportedEstimate,
    RestatedRow,
    RoundReport,
    Row,
    Status,
    StratumRow,
    TimelinePoint,
    find_row,
)
from monitor.domain.round import Round
from monitor.domain.sample_settings import Sample
from monitor.domain.slots import slots_after
from monitor.presentation import rounds
from monitor.presentation.parts.registry import NO_PARTS
from monitor.storage.labels import provisional_store
from monitor.storage.overview import attention_store
from monitor.storage.results import alert_store, concern_store, estimate_store
from monitor.storage.results.estimate_store import EstimatedRound
from monitor.storage.results.restatement_store import RestatedVersion, read_restated
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.samples import frame_store
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.rounds.estimation.tally import Tally
    from monitor.rounds.estimation.types import (
        BatchEvidence,
        HistoryBatch,
        Member,
        RoundEstimate,
        Side,
    )
    from monitor.rounds.parts.registry import VersionParts


TIMELINE = 104  # Rounds shown in the figure: two years of weeks

_FIRST = ("precision", "recall")
SHOWN = tuple(
    (metric, basis, estimand) for metric in _FIRST for basis, estimand in ESTIMAND_OF.items()
)
"""The estimates people see first."""

_MOST = 0.9  # the last answers depend on one person more than on the deadline
_COUNTED = ("size", "planned", "labeled", "positive", "declined")


def _timeline_point(past: EstimatedRound, *, alert: bool, restated: bool) -> TimelinePoint:
    """Reduce a round to what the figure needs."""
    shown = {
        f"{metric}_{basis}": None if row is None else row.ends
        for basis in ("round", "pooled")
        for metric, row in _first_rows(past.rows, basis).items()
    }
    return TimelinePoint(
        round=past.number,
        slot=past.slot,
        history=past.history_id,
        alert=alert,
        restated=restated,
        **shown,
    )


def closed_report(
    batch: HistoryBatch,
    member: Member,
    estimate: RoundEstimate,
    readings: Mapping[Side, LimitReading],
    parts: VersionParts,
    report_context: ReportContext,
    *,
    round_key: str,
) -> RoundReport:
    """Report one version of a closed round."""
    round_, tally = member.round, member.tally
    state_of = partial(evidence_state, is_compared=batch.is_compared(member))
    evidence = [
        EvidenceRow.taken_from(reading, metric=metric, side=side, state=state_of(reading))
        for (metric, side), reading in readings.items()
    ]
    alerts, concerns = report_context.shown_alerts(round_), report_context.concerns[round_.id]
    cells = [] if round_.settings.sample.cells is None else tally.strata
    issues = report_context.issues.get(round_.id, {})
    return RoundReport(
        **_frame_fields(round_, issues),
        store_id=batch.store_id,
        round_key=round_key,
        version=member.version,
        state="closed",
        reason=report_context.reasons[round_.id],
        status=_status(alerts, [*concerns, *_undefined(estimate.rows)], evidence),
        model_version=batch.history.model_version,
        strata=band_rows(tally.strata, round_.settings.sample),
        cells=[_row(part.stratum, [part]) for part in cells],
        estimates=list(estimate.rows),
        evidence=evidence,
        alerts=[alert_row(alert, report_context.recoveries.get(alert.id)) for alert in alerts],
        concerns=list(concerns),
        proposed_limits=dict(estimate.proposed_limits),
        proposed_unlabeled=estimate.proposed_unlabeled,
        timeline=report_context.points(round_),
        notices=[*estimate.notices, *parts.notices],
        answers=_answers_row(round_, batch.labels[round_.id].first_answers(), tally),
        # Measured without a judge: with one, few labels decide more of an estimate.
        pooled_coverage=None if tally.is_judged else round_.settings.pooling.measured_coverage(),
        **NO_PARTS | parts.rows,
        restated=list(report_context.restated.get(round_.id, ())),
        provisional=report_context.provisional.get(round_.id),
        recurring=len(batch.recurring[round_.id]),
        program=_release(),
        sentence=_sentence(round_, estimate.rows, alerts, estimate.proposed_limits),
    )


def bare_report(
    round_: Round,
    issues: Mapping[str, tuple[int, bool]],
    state: str,
    reason: str,
    *,
    ended: bool,
    **names: str,
) -> RoundReport:
    """Report a round that needs attention, or that ``ended`` without an estimate."""
    outcome: dict[str, Any] = {
        "status": Status.ATTENTION,
        "concerns": [reason],
        "sentence": rounds.check_sentence(round_.number, reason),
    }
    if ended:
        sentence = rounds.no_estimate_sentence(round_.number, reason)
        outcome = {"status": Status.STALE, "sentence": sentence}
    version = round_.version + 1
    lists = ("strata", "estimates", "evidence", "alerts", "timeline")
    nothing: dict[str, Any] = {name: [] for name in lists}
    nothing |= {"proposed_limits": {}, "model_version": None} | NO_PARTS
    fields = nothing | _frame_fields(round_, issues) | names | outcome
    return RoundReport(**fields, version=version, state=state, reason=reason)


@cache
def _release() -> str:
    """Return the release whose methods compute the numbers."""
    return f"pr-monitor {metadata.version('mlflow-pr-monitor')}"


def _frame_fields(round_: Round, issues: Mapping[str, tuple[int, bool]]) -> dict[str, Any]:
    return {
        "monitor": round_.monitor,
        "history": round_.history_id or 0,
        "round": round_.number,
        "slot": round_.slot,
        "window_start": round_.window.start,
        "window_end": round_.window.end,
        "model": round_.settings.model,
        "registered": round_.registered,
        "threshold": round_.settings.threshold,
        "snapshot": round_.snapshot,
        "false_alarm_every": round_.settings.limits.false_alarm_every,
        "bad_rows": {reason: count for reason, (count, bad) in issues.items() if bad},
        "notes": {note: count for note, (count, bad) in issues.items() if not bad},
        "next_round": _next_round(round_),
    }


def _status(
    alerts: Sequence[StoredAlert], concerns: Sequence[str], evidence: Sequence[EvidenceRow]
) -> Status:
    if any(alert.state == "firing" for alert in alerts):
        return Status.ALERT
    if concerns:
        return Status.ATTENTION
    return Status.LEARNING if only_learns([row.state for row in evidence]) else Status.OK


def _undefined(rows: Sequence[EstimateRow]) -> list[str]:
    first_rows = _first_rows(rows, "round").items()
    return [metric for metric, row in first_rows if row is None or row.point is None]


def alert_row(alert: StoredAlert, recovery: RecoveryRow | None = None) -> AlertRow:
    """Report an alert, and how far it is from its end."""
    window = {"window_start": alert.window.start, "window_end": alert.window.end}
    return AlertRow.taken_from(alert, **window, recovery=recovery)


def _sentence(
    round_: Round,
    rows: Sequence[ReportedEstimate],
    alerts: Sequence[StoredAlert],
    proposed: Mapping[str, float],
) -> str:
    firing = [alert for alert in alerts if alert.state == "firing"]
    learns = not firing and not round_.settings.limits.bounds
    own = _first_rows(rows, "round")
    return rounds.round_sentence(
        round_.window,
        own,
        _first_rows(rows, "pooled"),
        # a handful of labels decides these
        few=[metric for metric, row in own.items() if row is not None and row.caution],
        alerts=rounds.learning_text(proposed) if learns else rounds.alerts_text(firing),
    )


def _first_rows(rows: Sequence[Row], basis: str) -> dict[str, Row | None]:
    return {metric: find_row(rows, metric, basis) for metric in _FIRST}


def _next_round(round_: Round) -> NextRoundRow | None:
    settings = round_.settings
    slot = next(slots_after(settings.schedule, round_.slot), None)
    if slot is None:
        return None
    return NextRoundRow(
        slot=slot,
        max_labels=settings.sample.budget,
        margins=settings.sample.margin.wanted(),
        hours=settings.deadline / timedelta(hours=1),
    )


def _answers_row(round_: Round, times: Sequence[datetime], tally: Tally) -> AnswersRow:
    """Return the answers of a version and when they came; ``times`` are ascending."""
    came = {
        "half_hours": _share_of(times, 0.5),
        "most_hours": _share_of(times, _MOST),
        "last_hours": _share_of(times, 1.0),
        "open_hours": round_.closed_at,
    }
    hours = {name: _hours(round_.opened_at, at) for name, at in came.items()}
    return tally.answers.model_copy(update=hours)


def _share_of(times: Sequence[datetime], share: float) -> datetime | None:
    return times[math.ceil(share * len(times)) - 1] if times else None


def _hours(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round(max(0.0, (end - start).total_seconds() / 3600), 2)


def band_rows(parts: Sequence[StratumTally], sample: Sample) -> list[StratumRow]:
    """Report the bands of a round; if strata are score cells, a band is the sum of its cells."""
    bands = bands_of([part.stratum for part in parts], sample)
    members: dict[Stratum, list[StratumTally]] = {}
    for part, band in zip(parts, bands, strict=True):
        if part.size or band.verdict is not Verdict.MISSING:  # a judge mostly answers
            members.setdefault(band, []).append(part)
    return [_row(band, cells) for band, cells in members.items()]


def _row(stratum: Stratum, parts: Sequence[StratumTally]) -> StratumRow:
    counted = [[getattr(part, name) for name in _COUNTED] for part in parts]
    return StratumRow(
        stratum=stratum.name,
        flagged=stratum.flagged,
        low=stratum.low,
        high=stratum.high,
        **dict(zip(_COUNTED, map(sum, zip(*counted, strict=True)), strict=True)),
    )


@dataclass(frozen=True, slots=True)
class ReportContext:
    """Data that the reports of a batch share, read once for all of its rounds."""

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
        """Return the points of the figure that ends with a round."""
        return [point for slot, point in self.timeline if slot <= round_.slot][-TIMELINE:]

    def shown_alerts(self, round_: Round) -> list[StoredAlert]:
        """Return the alerts that a round fired, and open ones that an earlier round fired."""
        return [
            alert
            for alert in self.alerts
            if alert.fired_round_id == round_.id
            or (alert.state is AlertState.FIRING and alert.fired_slot < round_.slot)
        ]


def read_surroundings(
    connection: Connection, batch: HistoryBatch, evidence: BatchEvidence, reason: str, now: datetime
) -> ReportContext:
    """Read the context of a batch's reports; ``reason`` is why the due round has a new version."""
    rounds = [member.round for member in batch.affected]
    due, *later = ids = [round_.id for round_ in rounds]
    newest = round_store.newest_closed_id(connection, rounds[0].monitor, now)
    late = [round_.id for round_ in rounds if column_classes(round_.settings.labeling)]
    return ReportContext(
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
    """Read a round's concerns; for the newest closed round, concerns about newer ones too."""
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
        (past.slot, _timeline_point(past, alert=past.id in fired, restated=past.id in own))
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
            rows[version.round_id].append(
                _restated_row(connection, version, named[version.restatement])
            )
    return dict(rows)


def read_restated_rows(
    connection: Connection, round_ids: Collection[int]
) -> dict[int, list[RestatedRow]]:
    """Read the restatements of some rounds, regardless of their monitors, by round."""
    restated = read_restated(connection, round_ids=sorted(round_ids))
    return _restated_rows(connection, restated, round_ids)


def _restated_row(
    connection: Connection, version: RestatedVersion, rounds: list[int]
) -> RestatedRow:
    replaced = estimate_store.read_estimates(connection, version.round_id, version.before)
    before = [row for row in replaced if (row.metric, row.basis, row.estimand) in SHOWN]
    return RestatedRow.taken_from(version, replaces=version.before, rounds=rounds, before=before)


def read_monitor_timeline(connection: Connection, name: str, now: datetime) -> list[TimelinePoint]:
    """Read the points of a monitor's figure, in slot order."""
    monitor_id = round_store.find_monitor(connection, name)
    if monitor_id is None:
        return []
    alerts = alert_store.find_alerts(connection, monitor=name)
    restated = read_restated(connection, monitor_id=monitor_id)
    result = read_timeline(connection, monitor_id, (now, now), alerts, restated)
    return [point for _, point in result]
