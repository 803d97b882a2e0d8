"""Answers that replace an earlier one of the same person, and those that come too late to."""

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
    position_of = task_locations(connection, sorted({event.task_key for event in events}))
    answer: dict[tuple[int, str], list[Statement]] = defaultdict(list)
    for round_id in {round_id for round_id, _ in position_of.values()}:
        for item_id, statements in statements_of(connection, round_id).items():
            answer[round_id, item_id] = statements
    results = [_is_later(event, answer[position_of[event.task_key]]) for event in events]
    return ChangedAnswers(results.count(True), results.count(False))


def _is_later(event: LabelEvent, statements: Sequence[Statement]) -> bool | None:
    """Whether an answer is later than a different one that stands; None if none differs."""
    own = [statement for statement in statements if statement.annotator == event.annotator]
    current = current_answers(own).get(event.annotator)
    is_stored = (event.at, event.answer) in {(one.at, one.answer) for one in own}
    if current is None or current == event.answer or is_stored:
        return None
    return event.at is None or event.at > max(statement.at for statement in own)
