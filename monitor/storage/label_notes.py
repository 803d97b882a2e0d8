"""What a reading of a labeler's place met: refusals that were logged, and what people should know.

It stands beside the cursor of that place, as JSON under a name of its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from monitor.domain.state import RoundState
from monitor.storage.label_store import read_cursor, write_cursor
from monitor.storage.tables import labeler_cursors, rounds

if TYPE_CHECKING:
    from sqlalchemy import Connection

_SUFFIX = " notes"


@dataclass(frozen=True, slots=True)
class LabelNotes:
    """What the last reading of a place met.

    Parameters
    ----------
    logged
        Digests of the refusals that were logged, the newest last.
    problems
        Sentences about what somebody has to put right.
    notes
        Sentences worth knowing.
    rounds
        The rounds whose labels were asked for.
    """

    logged: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rounds: tuple[int, ...] = ()


def read_label_notes(connection: Connection, monitor_id: int, place: str) -> LabelNotes:
    """Read what the last reading of a place met."""
    return _notes(read_cursor(connection, monitor_id, f"{place}{_SUFFIX}"))


def write_label_notes(
    connection: Connection, monitor_id: int, place: str, notes: LabelNotes
) -> None:
    """Store what a reading of a place met, in place of what the one before did."""
    write_cursor(connection, monitor_id, f"{place}{_SUFFIX}", json.dumps(asdict(notes)))


def notes_of_open_rounds(connection: Connection, monitor_id: int) -> list[LabelNotes]:
    """Read what was met at the places that rounds which wait for labels are read from."""
    waiting = select(rounds.c.id).where(
        rounds.c.monitor_id == monitor_id, rounds.c.state == RoundState.LABELING
    )
    ids = set(connection.execute(waiting).scalars())
    if not ids:
        return []
    query = (
        select(labeler_cursors.c.cursor)
        .where(
            labeler_cursors.c.monitor_id == monitor_id,
            labeler_cursors.c.labeler.endswith(_SUFFIX, autoescape=True),
        )
        .order_by(labeler_cursors.c.labeler)
    )
    found = [_notes(each) for each in connection.execute(query).scalars()]
    return [each for each in found if ids & set(each.rounds)]


def _notes(text: str | None) -> LabelNotes:
    if text is None:
        return LabelNotes()
    plain = json.loads(text)
    return LabelNotes(
        logged=tuple(plain["logged"]),
        problems=tuple(plain["problems"]),
        notes=tuple(plain["notes"]),
        rounds=tuple(plain["rounds"]),
    )
