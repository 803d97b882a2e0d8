"""Rounds that wait for their predictions: when they were first looked at, and what is usual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from monitor.domain.model import Window
from monitor.storage.tables import rounds

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.storage.round_claims import Claim
    from monitor.storage.round_store import Round


@dataclass(frozen=True, slots=True)
class Drawn:
    """A window that was drawn, and the rows that were found in it."""

    slot: datetime
    window: Window
    rows: int


def note_first_look(connection: Connection, claim: Claim, at: datetime) -> None:
    """Record when the predictions of a claimed round were looked at, unless they were before."""
    connection.execute(
        update(rounds)
        .where(
            rounds.c.id == claim.round_id,
            rounds.c.attempt == claim.attempt,
            rounds.c.first_look_at.is_(None),
        )
        .values(first_look_at=at)
    )


def drawn_before(connection: Connection, found: Round, at_most: int) -> list[Drawn]:
    """Read the windows of a monitor that were drawn before a round's, newest first."""
    columns = rounds.c.slot, rounds.c.window_start, rounds.c.window_end, rounds.c.rows
    query = (
        select(*columns)
        .where(
            rounds.c.monitor_id == found.monitor_id,
            rounds.c.slot < found.slot,
            rounds.c.history_id.is_not(None),
            rounds.c.rows.is_not(None),
        )
        .order_by(rounds.c.slot.desc())
        .limit(at_most)
    )
    return [
        Drawn(row.slot, Window(row.window_start, row.window_end), int(row.rows))
        for row in connection.execute(query)
    ]
