"""Read the current labels of closed rounds, and compare them with the stored ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from monitor.domain.census import Census
from monitor.domain.crashpoint import outside
from monitor.domain.errors import InputRefused
from monitor.domain.label_parts import AssignedLabeler
from monitor.domain.labels import Statement, current_answers
from monitor.domain.model import Answer, Collected, LabelEvent, LabelKind, Refusal, Task
from monitor.domain.round import Round
from monitor.presentation.restatements import not_an_annotator_text
from monitor.rounds.censuses import Recounts, changed_censuses
from monitor.rounds.context import MonitorContext
from monitor.rounds.labels.collect import tasks_of_people
from monitor.rounds.labels.endpoints import without_same_person
from monitor.rounds.labels.lost_rows import without_lost_rows
from monitor.storage.labels import label_store
from monitor.storage.labels.round_labels import RoundLabels

_FROM_FILES = "files"
"""Labeler under which these labels are stored. A round's own labeler does not undo them, even if it
returns its complete labels (`Collected.complete`)."""


@dataclass(frozen=True, slots=True)
class NewLabels:
    """Current labels of some rounds: answers to tasks, and censuses by part.

    ``refused`` are rows that were not taken, and rounds that cannot be counted again.
    """

    events: Mapping[int, Sequence[LabelEvent]]
    censuses: Mapping[int, Mapping[int, Census]]
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class NewAnswers:
    """Changes to store: new rows of label events, and changed censuses."""

    rows: Mapping[int, Sequence[dict[str, Any]]]
    censuses: Mapping[int, Mapping[int, Census]]

    @property
    def rounds(self) -> set[int]:
        """Rounds whose labels change."""
        return {*self.rows, *self.censuses}

    def count(self, round_id: int, before: Mapping[int, Census]) -> int:
        """Count the answers of a round that change."""
        of_censuses = self.censuses.get(round_id, {}).items()
        return len(self.rows.get(round_id, ())) + sum(
            census.changed_since(before[part]) for part, census in of_censuses
        )

    def revisions(self, round_id: int) -> int:
        """Return by how much storing them raises the label revision of a round."""
        return bool(self.rows.get(round_id)) + len(self.censuses.get(round_id, {}))


def labels_in_file(
    context: MonitorContext,
    read: Callable[[Mapping[str, Task]], Collected],
    rounds: Sequence[Round],
) -> tuple[dict[int, list[LabelEvent]], tuple[Refusal, ...]]:
    """Read a label file; its answers count from now on, regardless of the times in it."""
    with context.database.read() as connection:
        tasks = {round_.id: tasks_of_people(connection, context, [round_]) for round_ in rounds}
    round_of = {key: round_id for round_id, round_tasks in tasks.items() for key in round_tasks}
    all_tasks = {key: task for of in tasks.values() for key, task in of.items()}
    collected = without_same_person(context, read(all_tasks))
    events: defaultdict[int, list[LabelEvent]] = defaultdict(list)
    for event in collected.events:
        events[round_of[event.task_key]].append(replace(event, at=None))
    return events, collected.refused


def labels_in_column(
    context: MonitorContext, rounds: Sequence[Round]
) -> tuple[dict[int, list[LabelEvent]], list[Refusal]]:
    """Read the current truth; a round whose items lost all rows keeps its labels."""
    events: dict[int, list[LabelEvent]] = {}
    refused: list[Refusal] = []
    for round_ in rounds:
        with context.database.read() as connection:
            tasks = label_store.all_tasks(connection, [round_.id])
        answers: list[LabelEvent] = []
        for one in readers_of_columns(context, round_):
            own = {key: task for key, task in tasks.items() if task.part == one.part}
            with outside("collect"):
                collected = one.labeler.collect(own, None)
            answers += without_lost_rows(context, collected, recounts := Recounts()).events
            refused += recounts.stale.values()
        events[round_.id] = [
            replace(event, at=None) for event in answers if event.kind is LabelKind.GIVEN
        ]
    return events, refused


def recounted(
    context: MonitorContext, rounds: Sequence[Round]
) -> tuple[dict[int, dict[int, Census]], list[Refusal]]:
    """Take the censuses of rounds again; returns the changed ones, and refusals."""
    censuses: dict[int, dict[int, Census]] = {}
    refused: list[Refusal] = []
    for round_ in rounds:
        changed, why = changed_censuses(context, round_, readers_of_columns(context, round_))
        refused += why
        if changed:
            censuses[round_.id] = changed
    return censuses, refused


def readers_of_columns(context: MonitorContext, round_: Round) -> list[AssignedLabeler]:
    """Return a round's labelers that ask nobody, each with today's settings if it has some."""
    now = {one.role: one.labeler for one in context.today if not one.labeler.asks_people}
    return [
        one._replace(labeler=now.get(one.role, one.labeler))
        for one in context.labelers_of(round_.settings)
        if not one.labeler.asks_people
    ]


def withdrawn_labels(
    context: MonitorContext, rounds: Sequence[Round], annotator: str
) -> dict[int, list[LabelEvent]]:
    """Withdraw the answers of an annotator; raises `InputRefused` if they gave none."""
    ids = [round_.id for round_ in rounds]
    with context.database.read() as connection:
        stored = label_store.all_statements(connection, ids)
        tasks = {id_: label_store.all_tasks(connection, [id_]) for id_ in ids}
    annotators = {
        one.annotator for by_item in stored.values() for each in by_item.values() for one in each
    }
    if rounds and annotator not in annotators:
        raise InputRefused(not_an_annotator_text(context.settings.name, annotator, annotators))
    events: dict[int, list[LabelEvent]] = {}
    for id_ in ids:
        key_of = {task.item_id: key for key, task in tasks[id_].items() if task.slot == 1}
        events[id_] = [
            LabelEvent(key_of[item], annotator, None, kind=LabelKind.WITHDRAWN)
            for item, statements in stored.get(id_, {}).items()
            if item in key_of and annotator in current_answers(statements)
        ]
    return events


def new_answers(context: MonitorContext, rounds: Sequence[Round], labels: NewLabels) -> NewAnswers:
    """Return the changes that new labels of some rounds make to the stored ones."""
    rows: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    with context.database.read() as connection:
        for round_ in rounds:
            of_round = labels.events.get(round_.id, ())
            rows[round_.id] += label_store.new_rows(
                connection, _FROM_FILES, of_round, context.clock()
            )
    ids = {round_.id for round_ in rounds}
    censuses = {id_: of for id_, of in labels.censuses.items() if id_ in ids}
    return NewAnswers({id_: of_round for id_, of_round in rows.items() if of_round}, censuses)


def with_answers(labels: RoundLabels, rows: Sequence[dict[str, Any]]) -> RoundLabels:
    """Add rows of label events to the labels of a round."""
    items = {item.id for item in labels.items}
    answers = {item: list(statements) for item, statements in labels.said.items()}
    checks = {one.id: one for one in labels.checks}
    for row in rows:
        item, answer = row["item_id"], None if row["answer"] is None else Answer(row["answer"])
        statement = Statement(row["at"], row["annotator"], LabelKind(row["kind"]), answer)
        if item in checks:  # people check the column's label
            checks[item] = checks[item].plus(statement)
        elif item in items:
            answers.setdefault(item, []).append(statement)
    return replace(labels, said=answers, checks=tuple(checks.values()))
