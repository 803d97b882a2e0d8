"""Slots that nobody ran when they were due: recorded as skipped, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.slots import slots_between
from monitor.domain.state import RoundState
from monitor.rounds.windows import free_windows
from monitor.storage import round_store, skip_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.settings import Schedule
    from monitor.rounds.parts import Parts
    from monitor.storage.round_store import Round

AT_ONCE = 1000
"""Slots per transaction: about a tenth of a second, for which other writers wait gladly."""


def record_missed(parts: Parts, missed: Sequence[datetime], newest: datetime) -> None:
    """Record consecutive slots as skipped, oldest first.

    In several transactions if there are many: whoever is stopped in between goes on from there,
    and nobody else waits long for the store.
    """
    schedule = parts.settings.round.schedule
    now = parts.clock()
    for start in range(0, len(missed), AT_ONCE):
        slots = missed[start : start + AT_ONCE]
        with parts.database.write() as connection:
            monitor_id = round_store.ensure_monitor(connection, parts.settings.name, now)
            skip_store.add_skipped(
                connection,
                monitor_id=monitor_id,
                first_number=number_of(connection, schedule, monitor_id, slots[0]),
                slots=slots,
                windows=free_windows(connection, monitor_id, schedule, slots),
                settings=parts.settings.round,
                reason=f"missed: the newest due slot is {newest:%Y-%m-%d %H:%M} UTC",
                now=now,
            )


def was_skipped_ahead(found: Round, now: datetime) -> bool:
    """Whether a slot was recorded as missed by a clock that was ahead of this one."""
    return found.state is RoundState.SKIPPED and found.opened_at > now


def number_of(connection: Connection, schedule: Schedule, monitor_id: int, slot: datetime) -> int:
    """Give a slot its number: its place in the schedule, counted from the monitor's first round.

    A backfill of slots before the first one counts down, so that a chart over round numbers is
    in the order of time whatever was filled when.
    """
    before, after = round_store.neighbours(connection, monitor_id, slot)
    if before is not None:
        return before.number + len(slots_between(schedule, before.slot, slot))
    if after is not None:
        return after.number - len(slots_between(schedule, slot, after.slot))
    return 1
