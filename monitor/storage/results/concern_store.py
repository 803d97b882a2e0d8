"""Concerns: problems of a round that need attention, although the round continues."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, select

from monitor.storage.database import change, insert_all, remove
from monitor.storage.queries import by_first
from monitor.storage.tables import concerns, rounds

UNLABELED = "unlabeled"
"""No passed item had a label at the closing; recall is then not estimable."""
UNCHECKED = "unchecked"
"""No check of a column's labels had an answer at the closing."""
STALE_COUNT = "stale count"
"""Changed labels of a round are not counted, since its predictions cannot be read as drawn."""
DOUBT = "restored"
"""The store seems older than the runs in MLflow."""


def add_concern(
    connection: Connection, round_id: int, kind: str, sentence: str, now: datetime
) -> bool:
    """Add a concern about a claimed round; False if it has one of this kind."""
    # The claim on the round prevents others from adding the same concern meanwhile.
    if kind in read_concerns(connection, round_id):
        return False
    row = {"round_id": round_id, "kind": kind, "sentence": sentence, "noted_at": now}
    insert_all(connection, concerns, [row])
    return True


def read_concerns(connection: Connection, round_id: int) -> dict[str, str]:
    """Read the concerns about a round: kind to sentence, oldest first."""
    query = select(concerns).where(concerns.c.round_id == round_id)
    rows = connection.execute(query.order_by(concerns.c.noted_at, concerns.c.kind))
    return {row.kind: row.sentence for row in rows}


def read_kinds(connection: Connection, round_ids: Sequence[int]) -> dict[int, set[str]]:
    """Read the kinds of the concerns about some rounds."""
    query = select(concerns.c.round_id, concerns.c.kind).where(concerns.c.round_id.in_(round_ids))
    return {each: set(kinds) for each, kinds in by_first(connection, query).items()}


def reword_concern(connection: Connection, round_id: int, kind: str, sentence: str) -> None:
    """Update the sentence of a concern; its notice stays as it was sent."""
    change(connection, concerns, *_of_kind(round_id, kind), sentence=sentence)


def drop_concern(connection: Connection, round_id: int, kind: str) -> None:
    """Delete a concern that no longer applies."""
    remove(connection, concerns, *_of_kind(round_id, kind))


def forget_doubt(connection: Connection, monitor_id: int) -> None:
    """Delete a monitor's `DOUBT` concerns, after its rounds were compared with MLflow."""
    own = select(rounds.c.id).where(rounds.c.monitor_id == monitor_id)
    remove(connection, concerns, concerns.c.kind == DOUBT, concerns.c.round_id.in_(own))


def read_doubts(connection: Connection, round_ids: Collection[int]) -> dict[int, str]:
    """Read the `DOUBT` concerns of some rounds, by round."""
    query = select(concerns.c.round_id, concerns.c.sentence).where(
        concerns.c.kind == DOUBT, concerns.c.round_id.in_(round_ids)
    )
    return {row.round_id: row.sentence for row in connection.execute(query)}


def _of_kind(round_id: int, kind: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return concerns.c.round_id == round_id, concerns.c.kind == kind
