"""How monitors stand: what people ask first, from the store alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from monitor.domain.alerting import LEARNING_ROUNDS, AlertState, StoredAlert, only_learns
from monitor.domain.model import LOG, EffectKind, WaitingSink, why_untagged
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
    Status,
)
from monitor.domain.round import Round
from monitor.domain.settings import MonitorSettings
from monitor.domain.slots import newest_slot, next_slot
from monitor.domain.state import RoundState
from monitor.presentation import status as lines
from monitor.presentation.delivery import dead_line
from monitor.presentation.estimates import worst_case_text
from monitor.presentation.limit_comparisons import (
    LimitComparison,
    colour_status,
    compare_limits,
    headline_text,
    provisional_texts,
)
from monitor.presentation.restatements import restated_text
from monitor.rounds.context import gives_up_at
from monitor.rounds.open_rounds import OpenRound, closing_lines, near_deadline
from monitor.rounds.past_limits import is_missed_limit, missed_limits, proposed_limits
from monitor.rounds.reporting.enqueue import notice_id
from monitor.rounds.reporting.report import SHOWN, read_restated_rows
from monitor.storage.database import Database, in_chunks
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
NO_ROUND = 0  # Stands for the id of a round that there is none of; ids begin at 1


Of = TypeVar("Of", "StoredAlert", "WaitingSink", "Attention")
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Overview:
    """One monitor at one moment.

    ``limits`` compares the metrics of the last round that closed with its limits.
    ``worst_case`` says what missing answers make of the intervals. ``problems`` need somebody,
    ``concerns`` need a look, ``notes`` are worth knowing. By the id of each open alert:
    ``firing_notices`` has the notice that was sent, ``recoveries`` how far it is from its end.
    """

    monitor: str
    status: Status
    next_slot: datetime
    closed_rounds: int
    learning_rounds_remaining: int
    proposed_limits: dict[str, float]
    last_round: int | None
    last_slot: datetime | None
    last_partial: bool
    worst_case: str | None
    estimates: list[EstimateRow]
    limits: list[LimitComparison]
    open_rounds: list[OpenRound]
    alerts: list[StoredAlert]
    waiting: list[WaitingSink]
    problems: list[str]
    concerns: list[str]
    notes: list[str]
    firing_notices: dict[str, Notice]
    recoveries: dict[str, RecoveryRow]

    @property
    def headline(self) -> str:
        """The status, or what is beyond a limit where no alert tells it."""
        return headline_text(self.status, self.limits, self._provisional)

    @property
    def colour(self) -> Status:
        """The status that lends the headline its colour."""
        return colour_status(self.status, self.limits, self._provisional)

    @property
    def _provisional(self) -> list[str]:
        return provisional_texts((one.round, one.beyond) for one in self.open_rounds)


@dataclass(frozen=True, slots=True)
class _StatusOfOne:
    """What the store has on one monitor.

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


def overviews(
    database: Database, monitors: Sequence[MonitorSettings], now: datetime
) -> list[Overview]:
    """Return how some monitors stand, in as many queries as for one."""
    with database.read() as connection:
        return [_overview(connection, one) for one in _read(connection, monitors, now)]


def _read(
    connection: Connection, monitors: Sequence[MonitorSettings], now: datetime
) -> Iterator[_StatusOfOne]:
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
        yield _StatusOfOne(
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


def _overview(connection: Connection, stored: _StatusOfOne) -> Overview:
    settings, last = stored.settings, stored.last
    problems = _problems(stored)
    concerns = _concerns(stored, missed_limits(connection, settings, last))
    proposal = proposed_limits(connection, settings, last)
    return Overview(
        monitor=settings.name,
        status=_status(stored, problems, concerns),
        next_slot=next_slot(settings.round.schedule, stored.now),
        closed_rounds=stored.seen.closed_rounds,
        learning_rounds_remaining=0
        if settings.round.limits.bounds
        else max(0, LEARNING_ROUNDS - stored.seen.closed_rounds),
        proposed_limits=proposal[0],
        last_round=None if last is None else last.number,
        last_slot=None if last is None else last.slot,
        last_partial=last is not None and last.partial,
        worst_case=worst_case_text(stored.estimates, stored.answers),
        estimates=stored.estimates,
        limits=stored.limits,
        open_rounds=stored.open_rounds,
        alerts=stored.alerts,
        waiting=stored.held_up,
        problems=problems,
        concerns=concerns,
        notes=[
            *_notes(stored),
            *lines.proposal_cautions(*proposal),
            *_untagged(connection, settings),
        ],
        firing_notices=stored.firing_notices,
        recoveries=stored.recoveries,
    )


def _concerns(stored: _StatusOfOne, missed: Mapping[str, str]) -> list[str]:
    noted = [lines.attention_text(each) for each in stored.attention if not is_missed_limit(each)]
    if stored.last is None:
        return noted
    return [
        *noted,
        *(lines.round_line(stored.last.number, sentence) for sentence in missed.values()),
    ]


def _of_alerts(facts: Mapping[str, ValueT], alerts: Sequence[StoredAlert]) -> dict[str, ValueT]:
    return {alert.id: facts[alert.id] for alert in alerts if alert.id in facts}


def _by_monitor(rows: Iterable[Of]) -> dict[str, list[Of]]:
    by_name: dict[str, list[Of]] = {}
    for row in rows:
        by_name.setdefault(row.monitor, []).append(row)
    return by_name


def first_shown(rows: Iterable[EstimateRow]) -> list[EstimateRow]:
    """Choose what people see first, in a fixed order."""
    named = {(row.metric, row.basis, row.estimand): row for row in rows}
    return [named[each] for each in SHOWN if each in named]


def _status(stored: _StatusOfOne, problems: Sequence[str], concerns: Sequence[str]) -> Status:
    if stored.alerts:
        return Status.ALERT
    if problems:
        return Status.STALE
    if concerns:
        return Status.ATTENTION
    watches = stored.settings.round.limits.bounds and not stored.only_learns
    return Status.OK if watches else Status.LEARNING


def _problems(stored: _StatusOfOne) -> list[str]:
    due = newest_slot(stored.settings.round.schedule, stored.now)
    newest = stored.newest or next(iter(stored.seen.future), None)
    is_unopened = newest is None or newest.slot < due
    return [
        *([lines.unopened_line(due)] if is_unopened else []),
        *(
            lines.waiting_line(round_.number, gives_up_at(round_), round_.reason)
            for round_ in stored.seen.blocked
        ),
        *_late_answers(stored),
        *(lines.no_estimate_line(each.round, each.reason) for each in stored.without_estimate),
        *([] if stored.doubt is None else [stored.doubt]),
        *(dead_line(effect) for effect in stored.held_up if effect.dead),
        # what somebody has to put right about labels, and which places could not be read
        *(problem for notes in stored.labels for problem in notes.problems),
        *(lines.unread_labels_line(notes.obstacle) for notes in stored.labels if notes.obstacle),
    ]


def _late_answers(stored: _StatusOfOne) -> Iterator[str]:
    """Describe rounds past their deadline, then those that soon end without any answer."""
    for round_ in stored.open_rounds:
        remaining = round_.time_for_labels(stored.now)
        if remaining is not None and remaining < timedelta(0):
            yield lines.overdue_line(round_.round, answered=round_.answered, expected=round_.wanted)
    deadline = stored.settings.round.deadline
    for round_, remaining in near_deadline(stored.open_rounds, deadline, stored.now):
        if not round_.answered:
            yield lines.unanswered_line(round_.round, remaining)


def _notes(stored: _StatusOfOne) -> list[str]:
    return [
        *_upcoming(stored.seen.future),
        *closing_lines(stored.open_rounds, stored.settings.round.deadline, stored.now),
        *(note for notes in stored.labels for note in notes.notes),
        *(
            lines.round_line(stored.newest.number, text)
            for text in lines.row_lines(stored.issues)
            if stored.newest is not None
        ),
        *_of_last(stored),
    ]


def _upcoming(rounds: Sequence[Round]) -> list[str]:
    made = [round_ for round_ in rounds if round_.state is not RoundState.SKIPPED]
    return [lines.upcoming_line(len(made), made[-1].number, made[-1].slot)] if made else []


def _of_last(stored: _StatusOfOne) -> list[str]:
    """Report limits the last closed round could not watch, its restatement and irregular rows."""
    if stored.last is None:
        return []
    number, watches = stored.last.number, stored.settings.round.limits.bounds
    had_limits = bool(stored.last.settings.limits.bounds)
    unlike = stored.only_learns and watches
    unwatched = [lines.unwatched_line(number, had_limits=had_limits)] if unlike else []
    sentences = [
        *map(restated_text, stored.restated[-1:]),
        *(row["sentence"] for row in stored.notices),
    ]
    return [*unwatched, *(lines.round_line(number, sentence) for sentence in sentences)]


def _untagged(connection: Connection, settings: MonitorSettings) -> list[str]:
    """Describe why the model version that the config names was not tagged by the last round."""
    if settings.round.model is None:
        return []
    last_done = effect_admin.last_done(connection, settings.name, EffectKind.MODEL_TAGS)
    if last_done is None:
        return []
    report, receipt = last_done
    why = why_untagged(receipt)
    if why is None or report["model"] != settings.round.model:
        return []
    return [lines.untagged_line(why)]


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
