"""Notes on the last reading of each place that labels come from, as JSON beside its cursor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, select

from monitor.domain.labels import Statement, current_answers
from monitor.domain.model import LabelEvent
from monitor.domain.state import RoundState
from monitor.storage.database import put_all
from monitor.storage.labels.label_store import statements_of, task_locations
from monitor.storage.queries import named
from monitor.storage.tables import labeler_cursors, monitors, rounds

_SUFFIX = " notes"


class ChangedAnswers(NamedTuple):
    """Numbers of answers that differ from their annotator's stored one.

    ``changed`` answers are later than it and replace it, ``older`` ones are not.
    """

    changed: int = 0
    older: int = 0


def count_changes(connection: Connection, events: Sequence[LabelEvent]) -> ChangedAnswers:
    """Count answers that differ from their annotator's stored one, newer and older separately."""
    location_of = task_locations(connection, sorted({event.task_key for event in events}))
    by_location: dict[tuple[int, str], list[Statement]] = defaultdict(list)
    for round_id in {round_id for round_id, _ in location_of.values()}:
        for item_id, statements in statements_of(connection, round_id).items():
            by_location[round_id, item_id] = statements
    is_later = [_is_later(event, by_location[location_of[event.task_key]]) for event in events]
    return ChangedAnswers(is_later.count(True), is_later.count(False))


def _is_later(event: LabelEvent, statements: Sequence[Statement]) -> bool | None:
    """Whether an answer is later than the different one that is stored; None if none differs."""
    by_annotator = [statement for statement in statements if statement.annotator == event.annotator]
    stored_answer = current_answers(by_annotator).get(event.annotator)
    is_stored = (event.at, event.answer) in {(one.at, one.answer) for one in by_annotator}
    if stored_answer is None or stored_answer == event.answer or is_stored:
        return None
    return event.at is None or event.at > max(statement.at for statement in by_annotator)


@dataclass(frozen=True, slots=True)
class LabelNotes:
    """Result of the last reading of a place, apart from its labels."""

    logged: tuple[str, ...] = ()  # Digests of the refusals that were logged, the newest last.
    problems: tuple[str, ...] = ()  # Sentences on problems that somebody has to fix.
    notes: tuple[str, ...] = ()  # Sentences for information.
    rounds: tuple[int, ...] = ()  # The rounds whose labels were requested.
    obstacle: str | None = None  # Why the last reading failed; None if it succeeded.


_NOTES = TypeAdapter(LabelNotes)


@dataclass(frozen=True, slots=True)
class NotedEndpoint:
    """The cursor of a place that labels come from, and the notes on its last reading."""

    cursor: str | None
    notes: LabelNotes


def read_endpoint(connection: Connection, monitor_id: int, location: str) -> NotedEndpoint:
    """Read the cursor and notes of a place."""
    notes = f"{location}{_SUFFIX}"
    query = select(*labeler_cursors.c["labeler", "cursor"]).where(
        labeler_cursors.c.monitor_id == monitor_id, labeler_cursors.c.labeler.in_((location, notes))
    )
    cursors: dict[str, str] = dict(connection.execute(query).all())
    return NotedEndpoint(cursors.get(location), _notes(cursors.get(notes)))


def read_notes(connection: Connection, monitor_id: int) -> dict[str, LabelNotes]:
    """Read the notes on all places of a monitor, by name."""
    are_notes = labeler_cursors.c.labeler.endswith(_SUFFIX, autoescape=True)
    query = select(*labeler_cursors.c["labeler", "cursor"]).where(
        labeler_cursors.c.monitor_id == monitor_id, are_notes
    )
    return {name.removesuffix(_SUFFIX): _notes(text) for name, text in connection.execute(query)}


def write_label_notes(
    connection: Connection, monitor_id: int, location: str, notes: LabelNotes
) -> None:
    """Store the notes on a reading of a place and replace the previous ones."""
    write_cursor(connection, monitor_id, f"{location}{_SUFFIX}", _NOTES.dump_json(notes).decode())


def notes_of_open_rounds(
    connection: Connection, monitor: str | None = None, ended: Sequence[int] = ()
) -> dict[str, list[LabelNotes]]:
    """Read the notes on the places of rounds that wait for labels, by monitor.

    For the ``ended`` rounds (ids), only sentences for information, such as on refused labels.
    """
    waiting = select(rounds.c.id).where(rounds.c.state == RoundState.LABELING)
    ids = set(connection.scalars(waiting))
    query = (
        select(monitors.c.name, labeler_cursors.c.cursor)
        .join(monitors, monitors.c.id == labeler_cursors.c.monitor_id)
        .where(named(monitor), labeler_cursors.c.labeler.endswith(_SUFFIX, autoescape=True))
        .order_by(labeler_cursors.c.labeler)
    )
    result: dict[str, list[LabelNotes]] = {}
    for name, cursor in connection.execute(query):
        notes = _notes(cursor)
        if ids & set(notes.rounds):
            result.setdefault(name, []).append(notes)
        elif notes.notes and not set(ended).isdisjoint(notes.rounds):
            result.setdefault(name, []).append(LabelNotes(notes=notes.notes))
    return result


def _notes(text: str | None) -> LabelNotes:
    """Parse notes; return empty ones if another version wrote them in another format."""
    try:
        return _NOTES.validate_json(text or "{}")
    except ValidationError:
        return LabelNotes()


def write_cursor(connection: Connection, monitor_id: int, labeler: str, cursor: str) -> None:
    """Store the cursor of a labeler."""
    row = {"monitor_id": monitor_id, "labeler": labeler, "cursor": cursor}
    put_all(connection, labeler_cursors, [row])
