"""Status of monitors, read from the store alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from monitor.domain.alerting import LEARNING_ROUNDS, StoredAlert
from monitor.domain.model import EffectKind, WaitingSink, why_untagged
from monitor.domain.notice import Notice
from monitor.domain.report import (
    EstimateRow,
    RecoveryRow,
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
    headline_text,
    provisional_texts,
)
from monitor.presentation.restatements import restated_text
from monitor.rounds.context import gives_up_at
from monitor.rounds.open_rounds import OpenRound, closing_lines, near_deadline
from monitor.rounds.past_limits import is_missed_limit, missed_limits, proposed_limits
from monitor.rounds.status_reading import StoredStatus, read_statuses
from monitor.storage.database import Database
from monitor.storage.outbox import effect_admin

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Overview:
    """Status of one monitor at one moment.

    ``limits`` compares the metrics of the last closed round with its limits. ``worst_case``
    describes the effect of missing answers on the intervals. ``problems`` need action, ``concerns``
    need attention, ``notes`` inform. By the id of each open alert, ``firing_notices`` has the
    notice that was sent, and ``recoveries`` how far the alert is from its end.
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
        """The status, or the metrics beyond a limit if no alert reports them."""
        return headline_text(self.status, self.limits, self._provisional)

    @property
    def colour(self) -> Status:
        """The status whose colour the headline has."""
        return colour_status(self.status, self.limits, self._provisional)

    @property
    def _provisional(self) -> list[str]:
        return provisional_texts((one.round, one.beyond) for one in self.open_rounds)


def overviews(
    database: Database, monitors: Sequence[MonitorSettings], now: datetime
) -> list[Overview]:
    """Return the status of some monitors, in their order."""
    with database.read() as connection:
        return [_overview(connection, one) for one in read_statuses(connection, monitors, now)]


def _overview(connection: Connection, stored: StoredStatus) -> Overview:
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


def _concerns(stored: StoredStatus, missed: Mapping[str, str]) -> list[str]:
    noted = [lines.attention_text(each) for each in stored.attention if not is_missed_limit(each)]
    if stored.last is None:
        return noted
    return [
        *noted,
        *(lines.round_line(stored.last.number, sentence) for sentence in missed.values()),
    ]


def _status(stored: StoredStatus, problems: Sequence[str], concerns: Sequence[str]) -> Status:
    if stored.alerts:
        return Status.ALERT
    if problems:
        return Status.STALE
    if concerns:
        return Status.ATTENTION
    watches = stored.settings.round.limits.bounds and not stored.only_learns
    return Status.OK if watches else Status.LEARNING


def _problems(stored: StoredStatus) -> list[str]:
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
        # label problems that people must fix, and locations that could not be read
        *(problem for notes in stored.labels for problem in notes.problems),
        *(lines.unread_labels_line(notes.obstacle) for notes in stored.labels if notes.obstacle),
    ]


def _late_answers(stored: StoredStatus) -> Iterator[str]:
    """Describe rounds past their deadline, then those that soon end without any answer."""
    for round_ in stored.open_rounds:
        remaining = round_.time_for_labels(stored.now)
        if remaining is not None and remaining < timedelta(0):
            yield lines.overdue_line(round_.round, answered=round_.answered, expected=round_.wanted)
    deadline = stored.settings.round.deadline
    for round_, remaining in near_deadline(stored.open_rounds, deadline, stored.now):
        if not round_.answered:
            yield lines.unanswered_line(round_.round, remaining)


def _notes(stored: StoredStatus) -> list[str]:
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


def _of_last(stored: StoredStatus) -> list[str]:
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
