"""Why a window holds no predictions, and which one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.slots import slots_after
from monitor.presentation.windows import ended_before_sentence, gap_sentence, never_any_sentence
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from monitor.rounds.context import MonitorContext
    from monitor.storage.rounds.round_store import Round


def why_empty(context: MonitorContext, round_: Round) -> str:
    """Describe where the predictions end, and how to run the newest window that has any."""
    window, span = round_.window, context.source.span()
    if span is None:
        return never_any_sentence(window)
    newest = span[1]
    if newest >= window.end:
        return gap_sentence(window, newest)
    schedule = round_.settings.schedule
    slot = next(slots_after(schedule, newest + schedule.lag))
    with context.database.read() as connection:
        is_run = round_store.round_at(connection, round_.monitor_id, slot) is not None
    return ended_before_sentence(window, newest, None if is_run else (round_.monitor, slot))
