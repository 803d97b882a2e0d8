"""Second copies: tasks that ask a second person about an item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from monitor.domain.model import LabelEvent, LabelKind
from monitor.storage.database import listed
from monitor.storage.labels.label_store import adjudicator_of
from monitor.storage.tables import label_events, tasks


@dataclass(frozen=True, slots=True)
class Copies:
    """Number of second copies of a round, of answered ones, and the items of the others."""

    wanted: int
    answered: int
    waiting: frozenset[str] = frozenset()

    @property
    def missing(self) -> int:
        """Number of unanswered second copies."""
        return self.wanted - self.answered


def read_copies(connection: Connection, round_id: int) -> Copies:
    """Count the second copies of a round."""
    query = select(tasks.c.key, tasks.c.item_id).where(
        tasks.c.round_id == round_id, tasks.c.slot > 1
    )
    items = {row.key: row.item_id for row in connection.execute(query)}
    answered = items.keys() & answered_tasks(connection, [round_id]) if items else set()
    waiting = frozenset(item for key, item in items.items() if key not in answered)
    return Copies(len(items), len(answered), waiting)


def answered_tasks(connection: Connection, round_ids: Sequence[int]) -> set[str]:
    """Return the keys of tasks in some rounds that have a current answer."""
    query = (
        select(label_events.c.external_id, label_events.c.kind)
        .where(label_events.c.round_id.in_(round_ids))
        .order_by(label_events.c.at, label_events.c.kind.desc())  # an answer after a withdrawal
    )
    latest = {row.external_id: row.kind for row in connection.execute(query)}
    return {_task_key(of) for of, kind in latest.items() if kind == LabelKind.GIVEN}


def same_person_twice(connection: Connection, events: Iterable[LabelEvent]) -> list[LabelEvent]:
    """Return answers to one copy of an item by an annotator who also answered the other copy.

    If both are new, it returns the second copy's answer. The adjudicator may answer both.
    """
    answers = [event for event in events if event.kind is LabelKind.GIVEN]
    locations = _locations_with_copies(connection, sorted({event.task_key for event in answers}))
    doubled = [event for event in answers if event.task_key in locations]
    rounds = {locations[event.task_key].round_id for event in doubled}
    answered = _answered_copies(connection, rounds)
    judges = {round_id: adjudicator_of(connection, round_id) for round_id in rounds}
    repeated: list[LabelEvent] = []
    for event in sorted(doubled, key=lambda event: locations[event.task_key].slot):
        location = locations[event.task_key]
        copies = answered[location.round_id, location.item_id, event.annotator]
        if copies - {event.task_key} and event.annotator != judges[location.round_id]:
            repeated.append(event)
        else:
            copies.add(event.task_key)
    return repeated


def _answered_copies(
    connection: Connection, round_ids: Iterable[int]
) -> defaultdict[tuple[int, str, str], set[str]]:
    copies: defaultdict[tuple[int, str, str], set[str]] = defaultdict(set)
    for round_id in sorted(round_ids):
        query = select(label_events).where(label_events.c.round_id == round_id)
        for row in connection.execute(query):
            copies[round_id, row.item_id, row.annotator].add(_task_key(row.external_id))
    return copies


def _locations_with_copies(connection: Connection, keys: Sequence[str]) -> dict[str, Row[Any]]:
    second = tasks.alias()
    pairs = (second.c.round_id == tasks.c.round_id) & (second.c.item_id == tasks.c.item_id)
    query = select(*tasks.c["key", "round_id", "item_id", "slot"]).join(
        second, pairs & (second.c.slot > 1)
    )
    of_tasks = query.where(tasks.c.key.in_(listed(connection, keys)))
    return {row.key: row for row in connection.execute(of_tasks)}


def _task_key(external_id: str) -> str:
    # An event's external id is "task/annotator" (see `label_store`); task keys have no slash.
    return external_id.partition("/")[0]
