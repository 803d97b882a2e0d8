"""Rounds that wait for their predictions: when they were first looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, update

from monitor.storage.tables import rounds

if TYPE_CHECKING:
    from datetime import datetime

    from monitor.storage.rounds.round_claims import Claim


def note_first_scan(connection: Connection, claim: Claim, at: datetime) -> None:
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
