"""Concerns: what about a round needs somebody's attention, though the round goes on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, select

from monitor.storage.database import change, insert_all, remove
from monitor.storage.queries import by_first
from monitor.storage.tables import concerns, rounds

UNLABELED = "unlabeled"
"""No passed item had a label at the closing; that recall is not estimable says it, too."""
UNCHECKED = "unchecked"
"""No item of a column that people were to check had an answer at the closing."""
STALE_COUNT = "stale count"
"""Changed labels of a round are not counted: its predictions cannot be read again as drawn."""
DOUBT = "restored"
"""The store looks older than what MLflow shows."""


def add_concern(
    connection: Connection, round_id: int, kind: str, sentence: str, now: datetime
) -> bool:
    """Note a concern about a claimed round, once per kind; false if there was one of this kind."""
    # The claim on the round keeps others from adding the same in between.
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
    """Let a concern say how things are now; its notice said how they were when it was noted."""
    change(connection, concerns, *_of_kind(round_id, kind), sentence=sentence)


def drop_concern(connection: Connection, round_id: int, kind: str) -> None:
    """Delete a concern that no longer holds."""
    remove(connection, concerns, *_of_kind(round_id, kind))


def forget_doubt(connection: Connection, monitor_id: int) -> None:
    """Delete concerns that the store looks restored, once the matter was looked into."""
    own = select(rounds.c.id).where(rounds.c.monitor_id == monitor_id)
    remove(connection, concerns, concerns.c.kind == DOUBT, concerns.c.round_id.in_(own))


def read_doubts(connection: Connection, round_ids: Collection[int]) -> dict[int, str]:
    """Read the rounds, of some, whose concern says why the store looks restored."""
    query = select(concerns.c.round_id, concerns.c.sentence).where(
        concerns.c.kind == DOUBT, concerns.c.round_id.in_(round_ids)
    )
    return {row.round_id: row.sentence for row in connection.execute(query)}


def _of_kind(round_id: int, kind: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return concerns.c.round_id == round_id, concerns.c.kind == kind
