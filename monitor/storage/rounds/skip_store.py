"""Skipped slots in the store, many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert

from monitor.domain.seeds import seed_of
from monitor.domain.state import RoundState
from monitor.storage.database import insert_all_new
from monitor.storage.schema import store_id
from monitor.storage.tables import round_events, rounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from monitor.domain.model import Window
    from monitor.domain.settings import RoundSettings


def add_skipped(
    connection: Connection,
    *,
    monitor_id: int,
    first_number: int,
    slots: Sequence[datetime],
    windows: Sequence[Window],
    settings: RoundSettings,
    reason: str,
    now: datetime,
) -> None:
    """Record consecutive slots as skipped; a slot that has a round already keeps it."""
    store = store_id(connection)
    shared = {
        "monitor_id": monitor_id,
        "state": RoundState.SKIPPED,
        "reason": reason,
        "settings": settings.model_dump(mode="json"),
        "opened_at": now,
    }
    rows = [
        {
            "number": number,
            "slot": slot,
            "window_start": window.start,
            "window_end": window.end,
            "seed": seed_of(store, monitor_id, slot, settings.block),
            **shared,
        }
        for number, (slot, window) in enumerate(zip(slots, windows, strict=True), first_number)
    ]
    added = insert_all_new(connection, rounds, rows)
    event = {"at": now, "before": None, "after": RoundState.SKIPPED, "reason": reason}
    if added:
        rows = [{"round_id": round_id, **event} for round_id in added]
        connection.execute(insert(round_events), rows)
