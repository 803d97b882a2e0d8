"""Answers that replace an earlier one of the same person."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from monitor.domain.labels import current_answers
from monitor.storage.label_store import statements_of, task_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from monitor.domain.labels import Statement
    from monitor.domain.model import LabelEvent


def count_changed(connection: Connection, events: Sequence[LabelEvent]) -> int:
    """Count the answers that, once stored, replace what their annotator answered before.

    One with a time before the annotator's last word changes nothing.
    """
    place_of = task_places(connection, sorted({event.task_key for event in events}))
    said: dict[tuple[int, str], list[Statement]] = defaultdict(list)
    for round_id in {round_id for round_id, _ in place_of.values()}:
        for item_id, statements in statements_of(connection, round_id).items():
            said[round_id, item_id] = statements
    return sum(_changes(event, said[place_of[event.task_key]]) for event in events)


def _changes(event: LabelEvent, statements: Sequence[Statement]) -> bool:
    standing = current_answers(statements).get(event.annotator)
    if standing is None or standing == event.answer:
        return False
    own = [statement.at for statement in statements if statement.annotator == event.annotator]
    return event.at is None or event.at > max(own)
