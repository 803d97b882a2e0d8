"""How monitors stand: what people ask first, from the store alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from monitor.domain.alerting import AlertState
from monitor.domain.model import EffectKind
from monitor.domain.receipts import why_untagged
from monitor.domain.report import EstimateRow, Notice, Status
from monitor.domain.sinks import LOG
from monitor.domain.slots import newest_slot, slots_after
from monitor.domain.state import RoundState
from monitor.presentation.attention import attention_text
from monitor.presentation.delivery import dead_to_do, waiting_sentence
from monitor.presentation.numbers import minute_text
from monitor.rounds.estimation.limit_proposals import LEARNING_ROUNDS, proposed_limits
from monitor.rounds.grace import gives_up_at, until_text
from monitor.rounds.reporting.notices import notice_id
from monitor.rounds.reporting.report import SHOWN
from monitor.storage import (
    alert_store,
    attention_store,
    effect_admin,
    effect_store,
    estimate_store,
    label_notes,
    many_rounds,
    restored_store,
    round_store,
)
from monitor.storage.many_rounds import MonitorRounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.attention import Attention
    from monitor.domain.settings import MonitorSettings
    from monitor.storage.alert_store import Alert
    from monitor.storage.database import Database
    from monitor.storage.effect_store import Waiting
    from monitor.storage.label_notes import LabelNotes
    from monitor.storage.many_rounds import Progress
    from monitor.storage.round_store import Round

NOTHING_SEEN = MonitorRounds()
"""A monitor that has no round yet."""


class _OfMonitor(Protocol):
    """Anything that belongs to a monitor."""

    @property
    def monitor(self) -> str:
        """Name of the monitor."""


Of = TypeVar("Of", bound=_OfMonitor)


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
    waits_until: datetime | None = None
    """When it gives up on predictions that cannot be used yet."""


@dataclass(frozen=True, slots=True)
class Overview:
    """One monitor at one moment.

    ``problems`` need somebody, ``concerns`` need a look, ``notes`` are worth knowing.

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
    concerns: list[str]
    notes: list[str]
    told: dict[str, Notice]


@dataclass(frozen=True, slots=True)
class _Read:
    """What the store says of all monitors that are asked about, by name or by round."""

    seen: Mapping[str, MonitorRounds]
    progress: Mapping[int, Progress]
    estimates: Mapping[int, list[EstimateRow]]
    alerts: Mapping[str, list[Alert]]
    held_up: Mapping[str, list[Waiting]]
    issues: Mapping[int, Mapping[str, tuple[int, bool]]]
    notices: Mapping[int, list[dict[str, Any]]]
    told: Mapping[str, Notice]
    gave_none: Mapping[str, list[Attention]]
    attention: Mapping[str, list[Attention]]
    labels: Mapping[str, list[LabelNotes]]
    doubts: Mapping[int, str]
    learning: set[int]


def overview(database: Database, settings: MonitorSettings, now: datetime) -> Overview:
    """Say how one monitor stands."""
    return overviews(database, [settings], now)[0]


def overviews(
    database: Database, monitors: Sequence[MonitorSettings], now: datetime
) -> list[Overview]:
    """Say how some monitors stand, in as many queries as for one."""
    only = monitors[0].name if len(monitors) == 1 else None
    with database.read() as connection:
        read = _read(connection, only, now)
        return [_overview(connection, settings, read, now) for settings in monitors]


def _read(connection: Connection, monitor: str | None, now: datetime) -> _Read:
    seen = many_rounds.read_monitor_rounds(connection, now, monitor)
    alerts = alert_store.find_alerts(connection, monitor=monitor, state=AlertState.FIRING)
    newest = [each.newest.id for each in seen.values() if each.newest is not None]
    closed = [each.closed.id for each in seen.values() if each.closed is not None]
    waiting = [found.id for each in seen.values() for found in each.waiting]
    return _Read(
        seen=seen,
        progress=many_rounds.read_progress(connection, waiting),
        estimates=many_rounds.read_shown(connection, closed),
        alerts=_by_monitor(alerts),
        held_up=_by_monitor(effect_store.find_waiting(connection, monitor)),
        issues=many_rounds.read_all_issues(connection, newest),
        notices=many_rounds.read_notices(connection, closed),
        told=_told(connection, alerts),
        gave_none=_by_monitor(attention_store.without_estimate(connection, now, monitor)),
        attention=_by_monitor(attention_store.read_attention(connection, now, monitor)),
        labels=label_notes.notes_of_open_rounds(connection, monitor),
        doubts=restored_store.read_doubts(connection, newest),
        learning=many_rounds.learning_rounds(connection, closed),
    )


def _overview(
    connection: Connection, settings: MonitorSettings, read: _Read, now: datetime
) -> Overview:
    seen = read.seen.get(settings.name, NOTHING_SEEN)
    newest, last = seen.newest, seen.closed
    waiting = [_open_round(each, read.progress[each.id]) for each in seen.waiting]
    alerts = read.alerts.get(settings.name, [])
    held_up = read.held_up.get(settings.name, [])
    labels = read.labels.get(settings.name, [])
    problems = [
        *_problems(settings, seen, waiting, now),
        *(
            f"round {each.round} gave no estimate: {each.reason}"
            for each in read.gave_none.get(settings.name, [])
        ),
        *([read.doubts[newest.id]] if newest is not None and newest.id in read.doubts else []),
        *_dead(held_up),
        *(problem for each in labels for problem in each.problems),
        *(f"labels cannot be read: {each.obstacle}" for each in labels if each.obstacle),
    ]
    attention = read.attention.get(settings.name, [])
    learns = last is None or last.id in read.learning
    return Overview(
        monitor=settings.name,
        status=_status(settings, alerts, problems, attention, learns=learns),
        next_slot=next(slots_after(settings.round.schedule, now)),
        closed_rounds=seen.closed_rounds,
        learning_rounds_left=max(0, LEARNING_ROUNDS - seen.closed_rounds),
        proposed_limits=proposed_limits(connection, settings, last),
        last_round=None if last is None else last.number,
        last_slot=None if last is None else last.slot,
        estimates=[] if last is None else _shown(read.estimates.get(last.id, [])),
        open_rounds=waiting,
        alerts=alerts,
        waiting=held_up,
        problems=problems,
        concerns=[attention_text(each) for each in attention],
        notes=[
            *_ahead(seen.ahead),
            *_due_soon(settings, waiting, now),
            *(note for each in labels for note in each.notes),
            *([] if newest is None else _notes(newest, read.issues.get(newest.id, {}))),
            *_unwatched(settings, last, read.learning),
            *([] if last is None else _notices(last, read.notices.get(last.id, []))),
            *_untagged(connection, settings),
        ],
        told={each.id: read.told[each.id] for each in alerts if each.id in read.told},
    )


def open_rounds(connection: Connection, monitor: str) -> list[OpenRound]:
    """Read the rounds of a monitor that have not ended."""
    return all_open_rounds(connection, monitor).get(monitor, [])


def all_open_rounds(
    connection: Connection, monitor: str | None = None
) -> dict[str, list[OpenRound]]:
    """Read the rounds of a monitor, or of all, that have not ended, by the monitor's name."""
    rounds = round_store.find_rounds(connection, monitor, states=many_rounds.WAITING)
    progress = many_rounds.read_progress(connection, [each.id for each in rounds])
    return {
        name: [_open_round(each, progress[each.id]) for each in found]
        for name, found in _by_monitor(rounds).items()
    }


def _by_monitor(found: Iterable[Of]) -> dict[str, list[Of]]:
    by_name: dict[str, list[Of]] = {}
    for each in found:
        by_name.setdefault(each.monitor, []).append(each)
    return by_name


def shown_estimates(
    connection: Connection, found: Round, version: int | None = None
) -> list[EstimateRow]:
    """Read precision and recall of a round, from its labels alone and pooled."""
    return _shown(estimate_store.read_estimates(connection, found.id, version or found.version))


def _shown(rows: Iterable[EstimateRow]) -> list[EstimateRow]:
    """Choose what people see first, in a fixed order."""
    named = {(row.metric, row.basis, row.estimand): row for row in rows}
    return [named[each] for each in SHOWN if each in named]


def _open_round(found: Round, progress: Progress) -> OpenRound:
    return OpenRound(
        round=found.number,
        slot=found.slot,
        state=found.state,
        wanted=progress.wanted,
        answered=progress.answered,
        deadline=found.deadline,
        reason=found.reason,
        waits_until=gives_up_at(found),
    )


def _status(
    settings: MonitorSettings,
    alerts: Sequence[Alert],
    problems: Sequence[str],
    attention: Sequence[Attention],
    *,
    learns: bool,
) -> Status:
    if alerts:
        return Status.ALERT
    if problems:
        return Status.STALE
    if attention:
        return Status.ATTENTION
    return Status.LEARNING if learns or not settings.round.limits.bounds else Status.OK


def _problems(
    settings: MonitorSettings,
    seen: MonitorRounds,
    open_rounds: Sequence[OpenRound],
    now: datetime,
) -> list[str]:
    found = []
    due = newest_slot(settings.round.schedule, now)
    newest = seen.newest or next(iter(seen.ahead), None)
    if newest is None or newest.slot < due:
        found.append(f"the round due {minute_text(due)} UTC has not been opened; run-once does")
    found += [
        f"round {each.number} waits{until_text(gives_up_at(each))}: {each.reason}"
        for each in seen.kept_from_going_on
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
    return found


def _unwatched(settings: MonitorSettings, last: Round | None, learning: set[int]) -> list[str]:
    """Say that the limits are set, and that the last round could not watch them."""
    if last is None or last.id not in learning or not settings.round.limits.bounds:
        return []
    return [
        f"round {last.number} watches no limit: with nothing before it to compare with, it only "
        "learns; a reference in the config has limits watched from the first round on"
    ]


def _ahead(rounds: Sequence[Round]) -> list[str]:
    """Say that rounds are there whose time is still to come; none of them is the newest."""
    made = [each for each in rounds if each.state is not RoundState.SKIPPED]
    if not made:
        return []
    names = "round" if len(made) == 1 else f"{len(made)} rounds up to round"
    return [
        f"{names} {made[-1].number}, due {minute_text(made[-1].slot)} UTC, lies ahead of the "
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
    found = effect_admin.with_keys(connection, list(keys)) if keys else {}
    return {keys[key]: Notice.model_validate(payload) for key, payload in found.items()}


def _dead(held_up: Sequence[Waiting]) -> list[str]:
    return [f"{waiting_sentence(each)}. {dead_to_do(each.sink)}" for each in held_up if each.dead]


def _notes(newest: Round, issues: Mapping[str, tuple[int, bool]]) -> list[str]:
    bad = ", ".join(f"{count} {why}" for why, (count, is_bad) in issues.items() if is_bad)
    told = [
        why if count == 1 else f"{count} {why}"
        for why, (count, is_bad) in issues.items()
        if not is_bad
    ]
    return [
        f"round {newest.number}: {text}"
        for text in ([f"bad rows left out: {bad}"] if bad else []) + told
    ]


def _notices(last: Round, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say what was unusual about the last closed round."""
    return [f"round {last.number}: {row['sentence']}" for row in rows]


def _untagged(connection: Connection, settings: MonitorSettings) -> list[str]:
    """Say why the model version that the config names was not tagged by the last round."""
    if settings.round.model is None:
        return []
    found = effect_admin.last_done(connection, settings.name, EffectKind.MODEL_TAGS)
    if found is None:
        return []
    report, receipt = found
    why = why_untagged(receipt)
    if why is None or report["model"] != settings.round.model:
        return []
    return [f"the model is not tagged: {why}"]
