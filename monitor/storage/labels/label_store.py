"""Tasks, label events and the counts that follow from them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, TypeAlias

from sqlalchemy import Connection, func, select

from monitor.domain.errors import RoundMoved
from monitor.domain.labels import CLOCK_TOLERANCE, Statement, current_answers, current_label
from monitor.domain.model import Answer, LabelEvent, LabelKind, Task
from monitor.storage.database import change, insert_all, listed, remove
from monitor.storage.queries import picked
from monitor.storage.tables import items, label_events, payloads, rounds, tasks

LabelOf: TypeAlias = "Callable[[Sequence[Statement], str | None], Answer | None]"
"""Function of all statements about an item and the adjudicator; returns the answer that counts."""

_INSTANT = timedelta(microseconds=1)
_STATED = label_events.c["at", "annotator", "kind", "answer"]
_SAME_ITEM = (tasks.c.round_id == label_events.c.round_id) & (
    tasks.c.item_id == label_events.c.item_id
)
_UNCLEAR = "unclear"
_KINDS = {kind.value: kind for kind in LabelKind}
_ANSWERS = {answer.value: answer for answer in Answer}


def tasks_to_send(connection: Connection, round_id: int) -> tuple[list[Task], list[str]]:
    """Read the tasks of a round, and the keys of the tasks that are not sent yet."""
    read = _read_tasks(connection, [round_id])
    return [task for task, _ in read], [task.key for task, sent in read if not sent]


def _sort_keys(rows: Sequence[Any]) -> dict[str, str]:
    """Return sort keys that shuffle tasks across strata, but keep the draw's order in a stratum."""
    similar = defaultdict[tuple[int, str, int], list[str]](list)
    for row in sorted(rows, key=attrgetter("order")):
        similar[row.round_id, row.stratum, row.slot].append(row.key)
    return {
        key: digest
        for keys in similar.values()
        for key, digest in zip(keys, sorted(map(_digest, keys)), strict=True)
    }


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def all_tasks(connection: Connection, round_ids: Sequence[int]) -> dict[str, Task]:
    """Read the tasks of some rounds by key."""
    return {task.key: task for task, _ in _read_tasks(connection, round_ids)}


@dataclass(frozen=True, slots=True)
class UnsentRounds:
    """Rounds with no task sent to its labeler (``none``), or not with all (``not_all``)."""

    none: frozenset[int]
    not_all: frozenset[int]


def read_sent(connection: Connection, round_ids: Sequence[int]) -> UnsentRounds:
    """Find the rounds whose tasks were not all sent."""
    sent = func.count(tasks.c.sent_at).label("sent")
    query = select(tasks.c.round_id, sent, func.count().label("tasks"))
    of_rounds = query.where(tasks.c.round_id.in_(round_ids)).group_by(tasks.c.round_id)
    rows = connection.execute(of_rounds).all()
    return UnsentRounds(
        none=frozenset(row.round_id for row in rows if row.sent == 0),
        not_all=frozenset(row.round_id for row in rows if row.sent < row.tasks),
    )


def set_sent(connection: Connection, keys: Sequence[str], now: datetime) -> None:
    """Record that these tasks were sent."""
    unsent = (tasks.c.key.in_(listed(connection, keys)), tasks.c.sent_at.is_(None))
    change(connection, tasks, *unsent, sent_at=now)


def add_events(
    connection: Connection,
    labeler: str,
    events: Iterable[LabelEvent],
    now: datetime,
    *,
    complete: Collection[str] = (),
) -> Counter[int]:
    """Store new events, raise the label revision of their rounds, and count them by round.

    An event without a time, or with a time in the future, counts only if it changes the annotator's
    current answer, so reading a file or column twice adds nothing. For ``complete`` see
    `Collected`.
    """
    events = list(events)
    if complete:
        events = _with_withdrawals(connection, labeler, events, complete)
    return insert_rows(connection, new_rows(connection, labeler, events, now))


def _with_withdrawals(
    connection: Connection, labeler: str, events: Sequence[LabelEvent], complete: Collection[str]
) -> list[LabelEvent]:
    """Add withdrawals of missing answers, and date each change after the answer that it changes.

    Tools date answers but not deletions, after which an older answer may be current again.
    """
    query = (
        select(label_events.c.external_id, *_STATED)
        .join(tasks, _SAME_ITEM)
        .where(tasks.c.key.in_(listed(connection, sorted(complete))))
        .where(label_events.c.labeler == labeler)
        .order_by(label_events.c.at)
    )
    last: dict[tuple[str, str], Statement] = {}
    for external_id, *stated in connection.execute(query):
        statement = _stored(*stated)
        key = external_id.removesuffix(f"/{statement.annotator}")
        last[key, statement.annotator] = statement
    result = []
    for event in events:
        before = last.pop((event.task_key, event.annotator), None)
        if before is None or event.at is None or event.at > before.at:
            result.append(event)
        elif event.answer != before.answer:
            result.append(replace(event, at=before.at + _INSTANT))
    for (key, annotator), before in last.items():
        if key in complete and before.kind is LabelKind.GIVEN:
            at = before.at + _INSTANT
            result.append(LabelEvent(key, annotator, None, at, LabelKind.WITHDRAWN))
    return result


def insert_rows(connection: Connection, rows: Sequence[dict[str, Any]]) -> Counter[int]:
    """Store the rows of `new_rows`; returns their number by round."""
    insert_all(connection, label_events, rows)
    added = Counter(row["round_id"] for row in rows)
    for round_id in sorted(added):  # in this order, so that two workers cannot deadlock
        raise_label_revision(connection, round_id)
    return added


def raise_label_revision(connection: Connection, round_id: int) -> None:
    """Record that the labels of a round have changed."""
    newer = rounds.c.label_revision + 1
    change(connection, rounds, rounds.c.id == round_id, label_revision=newer)


def new_rows(
    connection: Connection, labeler: str, events: Sequence[LabelEvent], now: datetime
) -> list[dict[str, Any]]:
    """Return the rows of the events that are not stored yet."""
    latest = now + CLOCK_TOLERANCE
    events = [
        replace(event, at=None) if event.at is not None and event.at > latest else event
        for event in events
    ]
    changes = _changed(connection, events)
    keys = sorted({event.task_key for event in changes})
    locations, answer = _stored_statements(connection, keys)
    rows: list[dict[str, Any]] = []
    for event in changes:
        location = locations[event.task_key]
        if event.at is None and not _changes(answer[location].statements, event):
            continue
        at = event.at or _arrival_time(answer[location].statements, event.annotator, now)
        row = {
            "round_id": location[0],
            "item_id": location[1],
            "labeler": labeler,
            # Identifies annotator and task; the revision distinguishes their statements.
            "external_id": f"{event.task_key}/{event.annotator}",
            "revision": event.revision(at),
            **picked(event, ("annotator", "kind", "answer")),
            "at": at,
            "received_at": now,
        }
        identity = (labeler, row["external_id"], row["revision"])
        if identity not in answer[location].identities:
            stated = Statement(at, event.annotator, event.kind, event.answer)
            answer[location].statements.append(stated)
            answer[location].identities.add(identity)
            rows.append(row)
    return rows


def current_labels(connection: Connection, round_id: int) -> dict[str, Answer]:
    """Read the current label of every item of a round that has one."""
    reported = statements_of(connection, round_id)
    adjudicator = adjudicator_of(connection, round_id) if reported else None
    labels = {item: current_label(statements, adjudicator) for item, statements in reported.items()}
    return {item: answer for item, answer in labels.items() if answer is not None}


def statements_of(connection: Connection, round_id: int) -> dict[str, list[Statement]]:
    """Read all statements about each item of a round, in the order of acceptance."""
    return all_statements(connection, [round_id]).get(round_id, {})


def all_statements(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, dict[str, list[Statement]]]:
    """Read all statements about each item of some rounds, in the order of acceptance."""
    query = (
        select(label_events.c.round_id, label_events.c.item_id, *_STATED)
        .where(label_events.c.round_id.in_(round_ids))
        .order_by(label_events.c.id)
    )
    answers: dict[int, dict[str, list[Statement]]] = {}
    for round_id, item, *stated in connection.execute(query):
        answers.setdefault(round_id, defaultdict(list))[item].append(_stored(*stated))
    return answers


def adjudicator_of(connection: Connection, round_id: int) -> str | None:
    """Read the adjudicator of a round, frozen when it opened; None if it has none."""
    query = select(rounds.c.settings).where(rounds.c.id == round_id)
    name: str | None = connection.execute(query).scalar_one().get("adjudicator")
    return name


def forget_payloads(connection: Connection, round_id: int) -> None:
    """Delete the content of a round shown to labelers; labels stay."""
    remove(connection, payloads, payloads.c.round_id == round_id)


def _read_tasks(connection: Connection, round_ids: Sequence[int]) -> list[tuple[Task, bool]]:
    c = payloads.c
    of_task = (c.round_id == tasks.c.round_id) & (c.item_id == tasks.c.item_id)
    query = (
        select(
            *tasks.c["key", "item_id", "slot", "part"],
            tasks.c.sent_at.is_not(None),
            *(payloads.c.shown, rounds.c.window_end, tasks.c.round_id),
            *items.c["stratum", "order"],
        )
        .join(rounds, rounds.c.id == tasks.c.round_id)
        .join(items, (items.c.round_id == tasks.c.round_id) & (items.c.id == tasks.c.item_id))
        .outerjoin(payloads, of_task)
        .where(tasks.c.round_id.in_(round_ids))
        .order_by(tasks.c.key)
    )
    rows: Sequence[Any] = connection.execute(query).all()
    sort_keys = _sort_keys(rows)
    return [
        (Task(key, item, shown or {}, end, slot, part=part, place=sort_keys[key]), bool(sent))
        for key, item, slot, part, sent, shown, end, *_ in rows
    ]


def task_locations(connection: Connection, keys: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return the round and item of tasks by key; raises `RoundMoved` if a task was removed."""
    query = select(tasks.c.key, tasks.c.round_id, tasks.c.item_id).where(
        tasks.c.key.in_(listed(connection, keys))
    )
    rows = connection.execute(query) if keys else ()
    locations = {row.key: (row.round_id, row.item_id) for row in rows}
    _refuse_removed(keys, locations)
    return locations


def _refuse_removed(keys: Sequence[str], existing: Collection[str]) -> None:
    if removed := sorted(set(keys) - set(existing)):
        message = (
            f"{len(removed)} of {len(keys)} tasks, such as {removed[0]}, were taken back while "
            "their answers were read; nothing was written, run it again"
        )
        raise RoundMoved(message)


@dataclass(slots=True)
class _StoredEvent:
    """The stored statements about one item, and the identities of their rows."""

    statements: list[Statement] = field(default_factory=list)
    identities: set[tuple[str, str, str]] = field(default_factory=set)


def _changed(connection: Connection, events: Sequence[LabelEvent]) -> list[LabelEvent]:
    """Drop events without a time that certainly repeat the current answer, as nearly all do."""
    if all(event.at is not None for event in events):
        return list(events)
    locations, current = _only_statements(connection, sorted({event.task_key for event in events}))
    changes = []
    for event in events:
        of_item = current[locations[event.task_key]]
        answer = event.answer if event.kind is LabelKind.GIVEN else None
        if event.at is None and of_item.get(event.annotator) == answer:
            continue
        of_item[event.annotator] = _UNCLEAR  # a later event may undo it
        changes.append(event)
    return changes


def _only_statements(
    connection: Connection, keys: Sequence[str]
) -> tuple[dict[str, tuple[int, str]], dict[tuple[int, str], dict[str, str | None]]]:
    """Return the round and item of tasks, and the answer of each annotator of an item.

    The answer is `_UNCLEAR` if it depends on several statements, or on two tasks of an item.
    """
    answers = label_events.c["annotator", "kind", "answer"]
    query = (
        select(*tasks.c["key", "round_id", "item_id"], *answers)
        .outerjoin(label_events, _SAME_ITEM)
        .where(tasks.c.key.in_(listed(connection, keys)))
    )
    locations: dict[str, tuple[int, str]] = {}
    current: dict[tuple[int, str], dict[str, str | None]] = {}
    for key, round_id, item, annotator, kind, answer in connection.execute(query):
        location = locations[key] = (round_id, item)
        of_item = current.setdefault(location, {})
        if annotator is not None:
            is_only = annotator not in of_item and kind == LabelKind.GIVEN
            of_item[annotator] = answer if is_only else _UNCLEAR
    _refuse_removed(keys, locations)
    return locations, current


def _stored_statements(
    connection: Connection, keys: Sequence[str]
) -> tuple[dict[str, tuple[int, str]], defaultdict[tuple[int, str], _StoredEvent]]:
    locations: dict[str, tuple[int, str]] = {}
    answer: defaultdict[tuple[int, str], _StoredEvent] = defaultdict(_StoredEvent)
    query = (
        select(
            *tasks.c["key", "round_id", "item_id"],
            *label_events.c["id", "labeler", "external_id", "revision"],
            *_STATED,
        )
        .outerjoin(label_events, _SAME_ITEM)
        .where(tasks.c.key.in_(listed(connection, keys)))
        .order_by(label_events.c.id)
    )
    seen: set[int] = set()  # both copies of an item bring the same rows
    rows = connection.execute(query) if keys else ()
    for key, round_id, item, event, labeler, external_id, revision, *stated in rows:
        locations[key] = (round_id, item)
        if event is not None and event not in seen:
            seen.add(event)
            stored = answer[round_id, item]
            stored.statements.append(_stored(*stated))
            stored.identities.add((labeler, external_id, revision))
    _refuse_removed(keys, locations)
    return locations, answer


def _stored(at: datetime, annotator: str, kind: str, answer: str | None) -> Statement:
    return Statement(at, annotator, _KINDS[kind], None if answer is None else _ANSWERS[answer])


def _changes(statements: Iterable[Statement], event: LabelEvent) -> bool:
    stored_answer = current_answers(statements).get(event.annotator)
    return stored_answer != (event.answer if event.kind is LabelKind.GIVEN else None)


def _arrival_time(statements: Iterable[Statement], annotator: str, now: datetime) -> datetime:
    """Return the time for an event without one: now, but after the annotator's other statements.

    Otherwise, after a clock is set back, every reading would store the event again.
    """
    earliest = (
        statement.at + _INSTANT for statement in statements if statement.annotator == annotator
    )
    return max([now, *earliest])
