"""Answers that replace an earlier one of the same person, and those that come too late for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.labels import Statement, current_answers
from monitor.storage.labels.label_store import statements_of, task_locations

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.model import LabelEvent


class ChangedAnswers(NamedTuple):
    """How many answers replace one of their annotator, and how many differ from a later one."""

    changed: int = 0
    older: int = 0


def count_changes(connection: Connection, events: Sequence[LabelEvent]) -> ChangedAnswers:
    """Count what becomes of answers once they are stored, of those whose annotator answered before.

    One with a time before the annotator's last word changes nothing. What is stored already is
    neither.
    """
    location_of = task_locations(connection, sorted({event.task_key for event in events}))
    by_location: dict[tuple[int, str], list[Statement]] = defaultdict(list)
    for round_id in {round_id for round_id, _ in location_of.values()}:
        for item_id, statements in statements_of(connection, round_id).items():
            by_location[round_id, item_id] = statements
    is_later = [_is_later(event, by_location[location_of[event.task_key]]) for event in events]
    return ChangedAnswers(is_later.count(True), is_later.count(False))


def _is_later(event: LabelEvent, statements: Sequence[Statement]) -> bool | None:
    """Whether an answer is later than a different one that stands; None if none differs."""
    by_annotator = [statement for statement in statements if statement.annotator == event.annotator]
    stored_answer = current_answers(by_annotator).get(event.annotator)
    is_stored = (event.at, event.answer) in {(one.at, one.answer) for one in by_annotator}
    if stored_answer is None or stored_answer == event.answer or is_stored:
        return None
    return event.at is None or event.at > max(statement.at for statement in by_annotator)
