"""Why a window holds no predictions, and which one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.slots import slots_after
from monitor.presentation.numbers import minute_text
from monitor.presentation.rounds import run_command
from monitor.storage import round_store

if TYPE_CHECKING:
    from monitor.rounds.context import MonitorContext
    from monitor.storage.round_store import Round


def why_empty(context: MonitorContext, found: Round) -> str:
    """Say where the predictions end, and how to run the newest window that has any."""
    nothing = f"no predictions from {found.window}"
    span = context.source.span()
    if span is None:
        return f"{nothing}, and none at all yet; is the source up to date?"
    newest = f"{nothing}; the newest is of {minute_text(span[1])} UTC"
    if span[1] >= found.window.end:
        return f"{newest}, after it; is something missing in the source?"
    schedule = found.settings.schedule
    slot = next(slots_after(schedule, span[1] + schedule.lag))
    with context.database.read() as connection:
        is_run = round_store.round_at(connection, found.monitor_id, slot) is not None
    command = run_command(found.monitor, slot)
    hint = "" if is_run else f" The window of that one is run by: {command}"
    return f"{newest}. Is the source up to date?{hint}"
