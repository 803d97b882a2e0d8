"""Doing an abandoned round again, on request, while nobody's answer would be lost by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.crashpoint import outside
from monitor.domain.state import RoundState
from monitor.rounds.opening.windows import NOTHING_LEFT
from monitor.storage import redo_store, round_store

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.storage.round_store import Round


def redo_abandoned(
    context: MonitorContext, slot: datetime, settings: RoundSettings, why: str
) -> None:
    """Open the round of a slot again if it was abandoned and nobody labeled any of it.

    It keeps its seed and why it was first opened, and takes all other settings as they are today.
    What was handed out is taken back first; a process that is killed then leaves the round
    abandoned, with its files closed, as it was.
    """
    with context.database.read() as connection:
        found = _round_at(connection, context, slot)
        if found is None or why_it_stays(connection, found) is not None:
            return
    for labeler in context.labelers_of(found.settings):
        with outside("close"):
            labeler.close(found.name)
    now = context.clock()
    with context.database.write() as connection:
        round_store.ensure_monitor(connection, context.settings.name, now)  # labels wait for it too
        again = settings.model_copy(update={"origin": found.settings.origin})
        redo_store.reopen_abandoned(connection, found, settings=again, now=now, reason=why)


def said_of_ended(context: MonitorContext, slot: datetime) -> str:
    """Say how the round of a slot ended, and why it is not done again."""
    with context.database.read() as connection:
        found = _round_at(connection, context, slot)
        if found is None or found.window.is_empty:
            return f"has nothing to look at: {NOTHING_LEFT}"
        return why_it_stays(connection, found) or "has ended; it stays as it is"


def why_it_stays(connection: Connection, found: Round) -> str | None:
    """Say why a round cannot be done again; None if it can."""
    if found.state is not RoundState.ABANDONED:
        return f"is {found.state}; it stays as it is"
    labels = redo_store.labels_taken(connection, found.id)
    if not labels:
        return None
    items = "1 item has" if labels == 1 else f"{labels} items have"
    return (
        f"was abandoned, and {items} an answer that was taken; it stays as it is, since doing it "
        "again would throw the answers away"
    )


def _round_at(connection: Connection, context: MonitorContext, slot: datetime) -> Round | None:
    monitor_id = round_store.find_monitor(connection, context.settings.name)
    return None if monitor_id is None else round_store.round_at(connection, monitor_id, slot)
