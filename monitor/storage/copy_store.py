"""Second copies: tasks that ask a second person about an item, and what several people said."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from monitor.domain.labels import current_answers, current_label
from monitor.domain.model import Answer, LabelKind
from monitor.domain.report import AgreementRow
from monitor.storage.label_store import CHUNK, adjudicator_of, statements_of
from monitor.storage.tables import agreements, items, label_events, tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from monitor.domain.model import LabelEvent


@dataclass(frozen=True, slots=True)
class Copies:
    """How many second copies of a round there are, and how many are answered."""

    wanted: int
    answered: int

    @property
    def missing(self) -> int:
        """Second copies that still wait."""
        return self.wanted - self.answered


@dataclass(frozen=True, slots=True)
class SeveralAnswers:
    """What the annotators of one item said, 1 or 0; the adjudicator's answer is not among them."""

    item_id: str
    stratum: str
    answers: Mapping[str, Answer]


def read_copies(connection: Connection, round_id: int) -> Copies:
    """Count the second copies of a round."""
    query = select(tasks.c.key).where(tasks.c.round_id == round_id, tasks.c.slot > 1)
    keys = set(connection.execute(query).scalars())
    return Copies(len(keys), len(keys & answered_tasks(connection, [round_id])) if keys else 0)


def answered_tasks(connection: Connection, round_ids: Sequence[int]) -> set[str]:
    """Keys of the tasks of some rounds to which an answer stands."""
    query = (
        select(label_events.c.external_id, label_events.c.kind)
        .where(label_events.c.round_id.in_(round_ids))
        .order_by(label_events.c.at, label_events.c.kind.desc())  # an answer after a withdrawal
    )
    latest = {row.external_id: row.kind for row in connection.execute(query)}
    return {_task_key(of) for of, kind in latest.items() if kind == LabelKind.GIVEN}


def several_answers(connection: Connection, round_id: int) -> list[SeveralAnswers]:
    """Read the items that two people or more answered with 1 or 0, in the order of their ids."""
    adjudicator = adjudicator_of(connection, round_id)
    stratum_of = _strata_of_items(connection, round_id)
    found = []
    for item_id, said in sorted(statements_of(connection, round_id).items()):
        answers = {
            name: answer
            for name, answer in current_answers(said).items()
            if name != adjudicator and answer is not Answer.CANNOT_TELL
        }
        if len(answers) > 1:
            found.append(SeveralAnswers(item_id, stratum_of[item_id], answers))
    return found


def disputed_items(connection: Connection, round_id: int) -> dict[str, set[str]]:
    """Items on which people contradict each other and nobody has decided, by stratum."""
    adjudicator = adjudicator_of(connection, round_id)
    stratum_of = _strata_of_items(connection, round_id)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for item_id, said in statements_of(connection, round_id).items():
        answers = set(current_answers(said).values())
        both = {Answer.POSITIVE, Answer.NEGATIVE} <= answers
        if both and current_label(said, adjudicator) is Answer.CANNOT_TELL:
            found[stratum_of[item_id]].add(item_id)
    return dict(found)


def _strata_of_items(connection: Connection, round_id: int) -> dict[str, str]:
    query = select(items.c.id, items.c.stratum).where(items.c.round_id == round_id)
    return {row.id: row.stratum for row in connection.execute(query)}


def write_agreement(
    connection: Connection, round_id: int, version: int, found: AgreementRow
) -> None:
    """Store how far people agreed by a version."""
    connection.execute(
        insert(agreements).values(round_id=round_id, version=version, **found.model_dump())
    )


def read_agreement(connection: Connection, round_id: int, version: int) -> AgreementRow | None:
    """Read how far people agreed by a version; None where no item had two answers."""
    query = select(*(agreements.c[name] for name in AgreementRow.model_fields)).where(
        agreements.c.round_id == round_id, agreements.c.version == version
    )
    row = connection.execute(query).mappings().first()
    return None if row is None else AgreementRow.model_validate(dict(row))


def same_person_again(connection: Connection, events: Iterable[LabelEvent]) -> list[LabelEvent]:
    """Find the answers to one copy of an item by someone who answered its other copy.

    Of two such answers that come together the one to the second copy is found. The adjudicator
    may answer any copy.
    """
    given = [event for event in events if event.kind is LabelKind.GIVEN]
    keys = sorted({event.task_key for event in given})
    place_of = _places_with_copies(connection, keys)
    said: defaultdict[tuple[int, str, str], set[str]] = defaultdict(set)
    rounds = {round_id for round_id, _, _ in place_of.values()}
    for round_id in sorted(rounds):
        query = select(label_events).where(label_events.c.round_id == round_id)
        for row in connection.execute(query):
            said[round_id, row.item_id, row.annotator].add(_task_key(row.external_id))
    judges = {round_id: adjudicator_of(connection, round_id) for round_id in rounds}
    again = []
    doubled = [event for event in given if event.task_key in place_of]
    for event in sorted(doubled, key=lambda event: place_of[event.task_key][2]):
        round_id, item_id, _ = place_of[event.task_key]
        copies = said[round_id, item_id, event.annotator]
        if copies - {event.task_key} and event.annotator != judges[round_id]:
            again.append(event)
        else:
            copies.add(event.task_key)
    return again


def _places_with_copies(
    connection: Connection, keys: Sequence[str]
) -> dict[str, tuple[int, str, int]]:
    """Round, item and slot of those tasks whose item has a second copy."""
    second = tasks.alias()
    pairs = (second.c.round_id == tasks.c.round_id) & (second.c.item_id == tasks.c.item_id)
    query = select(tasks.c.key, tasks.c.round_id, tasks.c.item_id, tasks.c.slot).join(
        second, pairs & (second.c.slot > 1)
    )
    found = {}
    for start in range(0, len(keys), CHUNK):
        mine = query.where(tasks.c.key.in_(keys[start : start + CHUNK]))
        for row in connection.execute(mine):
            found[row.key] = (row.round_id, row.item_id, row.slot)
    return found


def _task_key(external_id: str) -> str:
    return external_id.partition("/")[0]
