"""Doing an abandoned round again, on request, as long as no answer would be lost."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.crashpoint import outside
from monitor.domain.state import RoundState
from monitor.presentation.moves import nothing_to_see_text, stays_text
from monitor.storage.results import redo_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.storage.rounds.round_store import Round


def redo_abandoned(
    context: MonitorContext, slot: datetime, settings: RoundSettings, why: str
) -> None:
    """Open the round of a slot again if it was abandoned and nobody labeled any of it.

    It keeps its seed and why it was first opened, and takes all other settings as they are today.
    What was handed out is taken back first; a process that is killed then leaves the round
    abandoned, with its files closed, as it was.
    """
    with context.database.read() as connection:
        round_ = _round_at(connection, context, slot)
        if round_ is None or not _may_be_repeated(connection, round_):
            return
    for one in context.labelers_of(round_.settings):
        with outside("close"):
            one.labeler.close(round_.name)
    now = context.clock()
    with context.database.write() as connection:
        round_store.ensure_monitor(connection, context.settings.name, now)  # labels wait for it too
        repeated = settings.model_copy(update={"origin": round_.settings.origin})
        redo_store.reopen_abandoned(connection, round_, settings=repeated, now=now, reason=why)


def why_it_stays(context: MonitorContext, slot: datetime) -> str:
    """Return, for a slot that was not opened, how its round ended and why it is not done again."""
    with context.database.read() as connection:
        round_ = _round_at(connection, context, slot)
        if round_ is None or round_.window.is_empty:
            return nothing_to_see_text()
        return stays_text(round_.state, answers=_answers_in_the_way(connection, round_))


def _may_be_repeated(connection: Connection, round_: Round) -> bool:
    abandoned = round_.state is RoundState.ABANDONED
    return abandoned and not _answers_in_the_way(connection, round_)


def _answers_in_the_way(connection: Connection, round_: Round) -> int:
    """Count the answers that doing an abandoned round again would throw away."""
    if round_.state is not RoundState.ABANDONED:
        return 0
    return redo_store.labels_taken(connection, round_.id)


def _round_at(connection: Connection, context: MonitorContext, slot: datetime) -> Round | None:
    monitor_id = round_store.find_monitor(connection, context.settings.name)
    return None if monitor_id is None else round_store.round_at(connection, monitor_id, slot)
