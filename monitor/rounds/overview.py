"""How monitors stand: what people ask first, from the store alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState
from monitor.domain.model import UNTAGGED, EffectKind
from monitor.domain.report import EstimateRow, Notice, Status
from monitor.domain.slots import newest_slot, slots_after
from monitor.domain.state import RoundState
from monitor.rounds.dead import what_to_do
from monitor.rounds.estimate import LEARNING_ROUNDS, propose_limits
from monitor.rounds.report import SHOWN
from monitor.rounds.tally import Tally
from monitor.rounds.tell import LOG, MLFLOW
from monitor.rounds.wording import notice_id
from monitor.storage import (
    alert_store,
    copy_store,
    effect_care,
    effect_store,
    estimate_store,
    frame_store,
    label_store,
    round_store,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.settings import MonitorSettings
    from monitor.storage.alert_store import Alert
    from monitor.storage.database import Database
    from monitor.storage.effect_store import Waiting
    from monitor.storage.round_store import Round


_WAITING = (RoundState.OPEN, RoundState.LABELING)


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that has not ended: what it waits for."""

    round: int
    slot: datetime
    state: RoundState
    wanted: int
    answered: int
    deadline: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Overview:
    """One monitor at one moment; ``problems`` need somebody, ``notes`` are worth knowing.

    ``told`` is what people were told of each open alert, by the alert's id.
    """

    monitor: str
    status: Status
    next_slot: datetime
    closed_rounds: int
    learning_rounds_left: int
    proposed_limits: dict[str, float]
    last_round: int | None
    last_slot: datetime | None
    estimates: list[EstimateRow]
    open_rounds: list[OpenRound]
    alerts: list[Alert]
    waiting: list[Waiting]
    problems: list[str]
    notes: list[str]
    told: dict[str, Notice]


def overview(database: Database, settings: MonitorSettings, now: datetime) -> Overview:
    """Say how one monitor stands."""
    with database.read() as connection:
        rounds = round_store.find_rounds(connection, settings.name)
        waiting = [_open_round(connection, each) for each in rounds if each.state in _WAITING]
        ahead = [each for each in rounds if each.slot > now]
        rounds = [each for each in rounds if each.slot <= now]
        closed = [each for each in rounds if each.state is RoundState.CLOSED]
        last = closed[-1] if closed else None
        alerts = alert_store.find_alerts(connection, monitor=settings.name, state=AlertState.FIRING)
        held_up = effect_store.find_waiting(connection, settings.name)
        problems = _problems(settings, rounds or ahead, waiting, now) + _dead(held_up)
        return Overview(
            monitor=settings.name,
            status=_status(settings, alerts, problems),
            next_slot=next(slots_after(settings.round.schedule, now)),
            closed_rounds=len(closed),
            learning_rounds_left=max(0, LEARNING_ROUNDS - len(closed)),
            proposed_limits=_proposed(connection, settings, last),
            last_round=None if last is None else last.number,
            last_slot=None if last is None else last.slot,
            estimates=[] if last is None else shown_estimates(connection, last),
            open_rounds=waiting,
            alerts=alerts,
            waiting=held_up,
            problems=problems,
            notes=[
                *_ahead(ahead),
                *_due_soon(settings, waiting, now),
                *_notes(connection, rounds),
                *_notices(connection, last),
                *_untagged(connection, settings),
            ],
            told=_told(connection, alerts),
        )


def open_rounds(connection: Connection, monitor: str) -> list[OpenRound]:
    """Read the rounds of a monitor that have not ended."""
    rounds = round_store.find_rounds(connection, monitor, states=_WAITING)
    return [_open_round(connection, each) for each in rounds]


def shown_estimates(
    connection: Connection, found: Round, version: int | None = None
) -> list[EstimateRow]:
    """Read precision and recall of a round, from its labels alone and carried."""
    rows = estimate_store.read_estimates(connection, found.id, version or found.version)
    return [row for row in rows if (row.metric, row.basis, row.estimand) in SHOWN]


def _open_round(connection: Connection, found: Round) -> OpenRound:
    planned = sum(part.planned for part in frame_store.read_strata(connection, found.id))
    labels = label_store.label_counts(connection, found.id)
    copies = copy_store.read_copies(connection, found.id)
    return OpenRound(
        round=found.number,
        slot=found.slot,
        state=found.state,
        wanted=planned + copies.wanted,
        answered=sum(each.labeled + each.declined for each in labels) + copies.answered,
        deadline=found.deadline,
        reason=found.reason,
    )


def _status(settings: MonitorSettings, alerts: Sequence[Alert], problems: Sequence[str]) -> Status:
    if alerts:
        return Status.ALERT
    if problems:
        return Status.STALE
    return Status.OK if settings.round.limits.bounds else Status.LEARNING


def _problems(
    settings: MonitorSettings,
    rounds: Sequence[Round],
    open_rounds: Sequence[OpenRound],
    now: datetime,
) -> list[str]:
    found = []
    newest = newest_slot(settings.round.schedule, now)
    if not rounds or rounds[-1].slot < newest:
        found.append(
            f"the round due {newest:%Y-%m-%d %H:%M} UTC has not been opened; run-once does"
        )
    found += [
        f"round {each.round} waits: {each.reason}"
        for each in open_rounds
        if each.reason is not None
    ]
    found += [
        f"round {each.round} is past its deadline with {each.answered} of {each.wanted} answers"
        for each in open_rounds
        if each.state is RoundState.LABELING and each.deadline is not None and each.deadline < now
    ]
    found += [
        f"round {each.round} has no answer and ends in {_span(each.deadline - now)} without an "
        "estimate, unless some come"
        for each in open_rounds
        if not each.answered and _ends_soon(settings, each, now) and each.deadline is not None
    ]
    if rounds and rounds[-1].state is RoundState.ABANDONED:
        found.append(f"round {rounds[-1].number} gave no estimate: {rounds[-1].reason}")
    return found


def _ahead(rounds: Sequence[Round]) -> list[str]:
    """Say that rounds are there whose time is still to come; none of them is the newest."""
    made = [each for each in rounds if each.state is not RoundState.SKIPPED]
    if not made:
        return []
    names = "round" if len(made) == 1 else f"{len(made)} rounds up to round"
    return [
        f"{names} {made[-1].number}, due {made[-1].slot:%Y-%m-%d %H:%M} UTC, lies ahead of the "
        "clock, which was ahead itself when it was opened"
    ]


def _ends_soon(settings: MonitorSettings, found: OpenRound, now: datetime) -> bool:
    """Whether the last fifth of the time for labels has begun and the deadline has not passed."""
    if found.state is not RoundState.LABELING or found.deadline is None:
        return False
    return timedelta(0) < found.deadline - now <= settings.round.deadline / 5


def _due_soon(
    settings: MonitorSettings, open_rounds: Sequence[OpenRound], now: datetime
) -> list[str]:
    return [
        f"round {each.round} is closed in {_span(each.deadline - now)} with the answers it has; "
        f"{each.wanted - each.answered} are missing"
        for each in open_rounds
        if 0 < each.answered < each.wanted
        and _ends_soon(settings, each, now)
        and each.deadline is not None
    ]


def _span(time: timedelta) -> str:
    """Say how long, to the hour."""
    hours = time.total_seconds() / 3600
    return "less than an hour" if hours < 1 else f"{hours:.0f} hour{'' if hours < 1.5 else 's'}"  # noqa: PLR2004


def _told(connection: Connection, alerts: Sequence[Alert]) -> dict[str, Notice]:
    """Read what the log was told of open alerts; nothing where that is still to come."""
    keys = {f"{notice_id('alert.firing', each.id)}/{LOG}": each.id for each in alerts}
    found = effect_care.with_keys(connection, list(keys)) if keys else {}
    return {keys[key]: Notice.model_validate(payload) for key, payload in found.items()}


def _dead(held_up: Sequence[Waiting]) -> list[str]:
    return [f"{waiting_sentence(each)}. {what_to_do(each.sink)}" for each in held_up if each.dead]


def _proposed(
    connection: Connection, settings: MonitorSettings, last: Round | None
) -> dict[str, float]:
    if settings.round.limits.bounds or last is None or last.history_id is None:
        return {}
    history = frame_store.read_history(connection, last.history_id)
    ids = [each.id for each in round_store.closed_rounds(connection, history.id)]
    stored = estimate_store.read_counts(connection, ids)
    tallies = [Tally(stored[each]) for each in ids]
    return propose_limits(tallies, history.reference, seed=last.sobol_seed)


def _notes(connection: Connection, rounds: Sequence[Round]) -> list[str]:
    if not rounds:
        return []
    issues = frame_store.read_issues(connection, rounds[-1].id)
    bad = ", ".join(f"{count} {why}" for why, (count, is_bad) in issues.items() if is_bad)
    told = [
        why if count == 1 else f"{count} {why}"
        for why, (count, is_bad) in issues.items()
        if not is_bad
    ]
    return [
        f"round {rounds[-1].number}: {text}"
        for text in ([f"bad rows left out: {bad}"] if bad else []) + told
    ]


def _notices(connection: Connection, last: Round | None) -> list[str]:
    """Say what was unusual about the last closed round."""
    if last is None:
        return []
    rows = effect_store.told_notices(connection, last.id, last.version)
    return [f"round {last.number}: {row['sentence']}" for row in rows]


def _untagged(connection: Connection, settings: MonitorSettings) -> list[str]:
    """Say why the model version that the config names was not tagged by the last round."""
    found = effect_care.last_done(connection, settings.name, EffectKind.MODEL_TAGS)
    if found is None or not found[1].startswith(UNTAGGED):
        return []
    report, receipt = found
    return [f"the model is {receipt}"] if report["model"] == settings.round.model else []


def waiting_sentence(waiting: Waiting) -> str:
    """Say what waits: ``3 rounds wait for MLflow since 02:00, next try 02:40: <why>``.

    Of what is dead, with how often it was tried.
    """
    things = f"{waiting.rounds} round{'' if waiting.rounds == 1 else 's'}"
    verb = "waits" if waiting.rounds == 1 else "wait"
    sink = "MLflow" if waiting.sink == MLFLOW else waiting.sink
    why = "" if waiting.last_error is None else f": {waiting.last_error}"
    tried = f", tried {waiting.tries} times in vain" if waiting.dead and waiting.tries else ""
    next_try = f"{waiting.next_try:%Y-%m-%d %H:%M}" if waiting.dead else f"{waiting.next_try:%H:%M}"
    return (
        f"{things} {verb} for {sink} since {waiting.since:%Y-%m-%d %H:%M}{tried}, "
        f"next try {next_try}{why}"
    )
