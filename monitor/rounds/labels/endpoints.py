"""Read the labels of rounds from labeler endpoints, each once for all rounds that use it.

A round keeps the labeler that it was opened with, even if the config changes. It is read from
today's endpoint too, because people may label there.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import MonitorError, StoppedByBug, StoreUnavailable, gravest_of
from monitor.domain.label_parts import ALL, AssignedLabeler
from monitor.domain.model import Collected, Refusal, Task
from monitor.domain.ports import Labeler, Watchable
from monitor.domain.round import Round
from monitor.presentation.labels import refused_line, same_person_reason
from monitor.rounds.censuses import Recounts, recounted
from monitor.rounds.context import MonitorContext
from monitor.rounds.labels.lost_rows import without_lost_rows
from monitor.storage.labels import census_store, label_store, overlap_store
from monitor.storage.labels.label_notes import (
    LabelNotes,
    read_endpoint,
    read_notes,
    write_cursor,
    write_label_notes,
)
from monitor.storage.results import concern_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


log = structlog.get_logger("monitor.labels")

MOST_LOGGED = 10_000
"""Refusals remembered as logged, per endpoint; beyond these, the oldest are logged again."""


@dataclass(slots=True)
class CollectResult:
    """Result of reading labels; ``read`` are the rounds whose every endpoint was read.

    ``unsettled`` are rounds with labels that cannot be taken yet, ``changed`` are rounds with newly
    stored labels. ``unread`` has the errors of endpoints that were not read, by name.
    """

    read: set[int] = field(default_factory=set)
    unsettled: set[int] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    unread: dict[str, MonitorError] = field(default_factory=dict)

    def give_up(self, endpoint: LabelerEndpoint, obstacle: MonitorError) -> None:
        """Note an endpoint that could not be read."""
        self.unread[endpoint.name] = obstacle
        self.read.difference_update(endpoint.rounds)

    def give_up_round(
        self, endpoint: LabelerEndpoint, round_id: int, obstacle: MonitorError
    ) -> None:
        """Note a round whose labels could not be counted at an endpoint; other rounds go on."""
        before = self.unread.get(endpoint.name, obstacle)
        self.unread[endpoint.name] = gravest_of([before, obstacle]) or obstacle
        self.read.discard(round_id)


@dataclass(slots=True)
class LabelerEndpoint:
    """A labeler, its name in the store, and the rounds it labels.

    ``rounds`` maps the id of each round to the labeler's part of it.
    """

    labeler: Labeler
    name: str
    rounds: dict[int, int] = field(default_factory=dict)
    notes: LabelNotes = field(default_factory=LabelNotes)
    """Notes as of the last reading."""


def ask(context: MonitorContext, rounds: Sequence[Round]) -> CollectResult:
    """Read new labels of some rounds at all their endpoints; one that fails stops no other."""
    result = CollectResult(read={round_.id for round_ in rounds})
    endpoints = _endpoints(context, rounds)
    for endpoint in endpoints:
        _ask_endpoint(context, endpoint, result, rounds[0].monitor_id)
    is_store_away = any(isinstance(error, StoreUnavailable) for error in result.unread.values())
    if endpoints and not is_store_away:
        _keep_obstacles(context, endpoints, result, rounds[0].monitor_id)
    return result


def _ask_endpoint(
    context: MonitorContext, endpoint: LabelerEndpoint, result: CollectResult, monitor_id: int
) -> None:
    try:
        collected = _read(context, endpoint, result, monitor_id)
    except MonitorError as error:
        result.give_up(endpoint, error)
    except Exception as error:
        log.exception("labels not read because of a bug", monitor=context.settings.name)
        result.give_up(endpoint, StoppedByBug.of(error))
    else:
        if collected is not None and collected.waits:
            result.unsettled.update(endpoint.rounds)


def _keep_obstacles(
    context: MonitorContext,
    endpoints: Sequence[LabelerEndpoint],
    result: CollectResult,
    monitor_id: int,
) -> None:
    """Store why an endpoint could not be read; `status` shows it until it can."""
    for endpoint in endpoints:
        why = str(result.unread[endpoint.name]) if endpoint.name in result.unread else None
        if _with_obstacle(endpoint, endpoint.notes, why) == endpoint.notes:
            continue
        with context.database.write() as connection:
            # Read again in the writing transaction: another process may have changed the notes.
            notes = read_endpoint(connection, monitor_id, endpoint.name).notes
            after = _with_obstacle(endpoint, notes, why)
            write_label_notes(connection, monitor_id, endpoint.name, after)
    _drop_obstacles(context, endpoints, monitor_id)


def _drop_obstacles(
    context: MonitorContext, endpoints: Sequence[LabelerEndpoint], monitor_id: int
) -> None:
    """Drop the reason why an endpoint could not be read once no round is labeled there."""
    names = {endpoint.name for endpoint in endpoints}
    round_ids = {round_id for endpoint in endpoints for round_id in endpoint.rounds}
    with context.database.read() as connection:
        noted = read_notes(connection, monitor_id)
    for name, notes in noted.items():
        if name not in names and notes.obstacle is not None and round_ids.issuperset(notes.rounds):
            with context.database.write() as connection:
                now = read_endpoint(connection, monitor_id, name).notes
                write_label_notes(connection, monitor_id, name, replace(now, obstacle=None))


def _with_obstacle(endpoint: LabelerEndpoint, notes: LabelNotes, why: str | None) -> LabelNotes:
    after = replace(notes, obstacle=why)
    return after if why is None else replace(after, rounds=tuple(sorted(endpoint.rounds)))


def endpoint_name(assigned: AssignedLabeler) -> str:
    """Return a labeler's name in the store, from its location and role."""
    labeler = assigned.labeler
    described = [labeler.location] if isinstance(labeler, Watchable) else []
    described += [assigned.role] if assigned.role != ALL else []
    if not described:
        return labeler.name
    address = "\n".join(described).encode(errors="replace")
    return f"{labeler.name} {hashlib.sha256(address).hexdigest()[:16]}"


def _endpoints(context: MonitorContext, rounds: Sequence[Round]) -> list[LabelerEndpoint]:
    endpoints: dict[str, LabelerEndpoint] = {}
    for round_ in rounds:
        for one in context.labelers_of(round_.settings):
            name = endpoint_name(one)
            endpoint = endpoints.setdefault(name, LabelerEndpoint(one.labeler, name))
            endpoint.rounds[round_.id] = one.part
    return list(endpoints.values())


def _read(
    context: MonitorContext, endpoint: LabelerEndpoint, result: CollectResult, monitor_id: int
) -> Collected | None:
    with context.database.read() as connection:
        tasks = _own_tasks(connection, endpoint)
        noted = read_endpoint(connection, monitor_id, endpoint.name)
    endpoint.notes = noted.notes
    recounts = _recounted(context, endpoint, result)
    has_recounts = bool(recounts.counted) or _is_new(context, recounts.stale)
    if not tasks and not has_recounts:
        return None
    answer = Collected(cursor=noted.cursor, was_read=False)
    if tasks:
        with outside("collect"):
            answer = endpoint.labeler.collect(tasks, noted.cursor)
        answer = without_lost_rows(context, answer, recounts)
    if not (answer.was_read or has_recounts):
        return answer
    answer = replace(answer, refused=(*answer.refused, *recounts.refused), was_read=True)
    has_copies = any(task.slot > 1 for task in tasks.values())
    collected = without_same_person(context, answer) if has_copies else answer
    after = _noted(noted.notes, collected, endpoint.rounds)
    changes: Counter[int] = Counter()
    with context.database.write() as connection:
        now = context.clock()
        # Waits for the monitor's turn; events and cursor are one transaction, so none is lost.
        round_store.ensure_monitor(connection, context.settings.name, now)
        # A complete answer withdraws all other labels, also ones that another worker read later.
        is_overtaken = bool(collected.complete) and (
            read_endpoint(connection, monitor_id, endpoint.name).cursor != noted.cursor
        )
        if not is_overtaken:
            changes = _store(connection, endpoint, collected, recounts, now)
            if collected.cursor is not None:
                write_cursor(connection, monitor_id, endpoint.name, collected.cursor)
            if after != noted.notes:
                write_label_notes(connection, monitor_id, endpoint.name, after)
    if is_overtaken:
        return _read(context, endpoint, result, monitor_id)
    endpoint.notes = after
    result.changed.update(changes)
    return collected


def _recounted(
    context: MonitorContext, endpoint: LabelerEndpoint, result: CollectResult
) -> Recounts:
    recounts = recounted(context, endpoint.labeler, endpoint.rounds)
    for round_id, obstacle in recounts.obstacles.items():
        result.give_up_round(endpoint, round_id, obstacle)
    return recounts


def _store(
    connection: Connection,
    endpoint: LabelerEndpoint,
    collected: Collected,
    recounts: Recounts,
    now: datetime,
) -> Counter[int]:
    changes = label_store.add_events(
        connection, endpoint.labeler.name, collected.events, now, complete=collected.complete
    )
    for round_id in recounts.matched - recounts.stale.keys():
        concern_store.drop_concern(connection, round_id, concern_store.STALE_COUNT)
    for (round_id, part), census in recounts.counted.items():
        if census_store.change_census(connection, round_id, part, census, now):
            changes[round_id] += 1
    if not recounts.stale:
        return changes
    from monitor.rounds.reporting.concerns import note_stale_count  # noqa: PLC0415  numpy takes 0.2 s

    for round_ in round_store.read_rounds(connection, list(recounts.stale)):
        note_stale_count(connection, round_, recounts.stale[round_.id].reason, now)
    return changes


def _is_new(context: MonitorContext, stale: Mapping[int, Refusal]) -> bool:
    """Whether a round keeps its last count of labels for a reason that is not noted yet."""
    with context.database.read() as connection:
        return any(
            concern_store.read_concerns(connection, round_id).get(concern_store.STALE_COUNT)
            != refusal.reason
            for round_id, refusal in stale.items()
        )


def _own_tasks(connection: Connection, endpoint: LabelerEndpoint) -> dict[str, Task]:
    result: dict[str, Task] = {}
    for part in sorted({*endpoint.rounds.values()}):
        rounds = [round_id for round_id, own in endpoint.rounds.items() if own == part]
        tasks = label_store.all_tasks(connection, rounds)
        result |= {key: task for key, task in tasks.items() if task.part == part}
    return result


def _noted(notes: LabelNotes, collected: Collected, rounds: Collection[int]) -> LabelNotes:
    """Log new refusals, and return the notes with what people should know."""
    logged = set(notes.logged)
    new: dict[str, Refusal] = {}
    for refusal in collected.refused:
        text = f"{refusal.where}|{refusal.reason}|{refusal.version}"
        digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
        if digest not in logged:
            new[digest] = refusal
    rows = [refusal for refusal in collected.refused if not refusal.is_problem]
    for refusal in new.values():
        log.warning("label refused", where=refusal.where, reason=refusal.reason)
    return replace(
        notes,
        logged=(*notes.logged, *new)[-MOST_LOGGED:],
        problems=collected.problems,
        notes=(*collected.waits, *([refused_line(rows)] if rows else [])),
        rounds=tuple(sorted(rounds)),
    )


def without_same_person(context: MonitorContext, collected: Collected) -> Collected:
    """Refuse answers to one copy of an item by someone who answered its other copy."""
    with context.database.read() as connection:
        repeated = overlap_store.same_person_twice(connection, collected.events)
    refused = [
        Refusal(f"task {event.task_key}", same_person_reason(event.annotator)) for event in repeated
    ]
    accepted = tuple(event for event in collected.events if event not in repeated)
    return replace(collected, events=accepted, refused=(*collected.refused, *refused))
