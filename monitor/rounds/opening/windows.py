"""The window of each round: its slot's window, less what other rounds have.

By one schedule windows touch and never overlap (`monitor.domain.slots.window_of`). Where the
schedule was another before or after a slot, the window begins where the round before ended and
ends where the round after begins; it may be empty then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING

from monitor.domain.model import Window
from monitor.domain.slots import windows_of
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.settings import Schedule
    from monitor.storage.rounds.round_store import Round

_slot = attrgetter("slot")


def free_windows(
    connection: Connection, monitor_id: int, schedule: Schedule, slots: Sequence[datetime]
) -> list[Window]:
    """Windows of consecutive slots without what other rounds of the monitor have."""
    taken = round_store.rounds_around(connection, monitor_id, slots[0], slots[-1])
    windows: list[Window] = []
    for slot, usual in zip(slots, windows_of(schedule, slots), strict=True):
        before = taken[: bisect_left(taken, slot, key=_slot)]
        after = taken[bisect_right(taken, slot, key=_slot) :]
        start = _start(schedule, usual, before, windows)
        end = usual.end
        if after:
            start, end = min(start, after[0].window.start), min(end, after[0].window.start)
        windows.append(_own(taken, slot) or Window(start, max(start, end)))
    return windows


def free_window(
    connection: Connection, monitor_id: int, schedule: Schedule, slot: datetime
) -> Window:
    """Window of one slot without what other rounds of the monitor have."""
    return free_windows(connection, monitor_id, schedule, [slot])[0]


def _start(
    schedule: Schedule, usual: Window, before: Sequence[Round], opened: Sequence[Window]
) -> datetime:
    """Where a window begins: at the end of the last one, if no slot lies between the two."""
    ends = [round_.window.end for round_ in before[-1:]] + [window.end for window in opened[-1:]]
    slot_before = usual.start + schedule.lag
    is_next = bool(opened) or any(slot_before <= round_.slot for round_ in before[-1:])
    return max(ends) if is_next else max([usual.start, *ends])


def _own(taken: Sequence[Round], slot: datetime) -> Window | None:
    """Window of the round that a slot has already."""
    index = bisect_left(taken, slot, key=_slot)
    has_one = index < len(taken) and taken[index].slot == slot
    return taken[index].window if has_one else None
