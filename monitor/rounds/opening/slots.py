"""Slots: their numbers and windows, and those that nobody ran, which are recorded as skipped.

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

import structlog

from monitor.domain.errors import ConfigRefused, DeliveryFailed
from monitor.domain.model import Window
from monitor.domain.slots import slots_between, windows_of
from monitor.domain.state import RoundState
from monitor.presentation.moves import missed_reason
from monitor.presentation.status import lost_round_line, restored_line
from monitor.rounds.reporting.concerns import note
from monitor.storage.results.concern_store import DOUBT
from monitor.storage.rounds import round_store
from monitor.storage.rounds.round_transitions import add_rounds
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.settings import Schedule
    from monitor.rounds.context import MonitorContext
    from monitor.storage.rounds.round_store import Round


log = structlog.get_logger("monitor.rounds")

AT_ONCE = 1000  # Slots per transaction: about a tenth of a second, for which other writers can wait

_LOST = "lost"


def refuse_if_forgotten(
    context: MonitorContext, newest: datetime | None, lost: datetime | None
) -> None:
    """Refuse to go on from a store that has forgotten rounds which MLflow shows.

    It was restored from a backup, or a failover lost what was committed. MLflow is asked only when
    slots were missed or a round is gone, and one that does not answer holds nothing up:
    `pr-monitor db restored` opens recorded skips too.

    newest: Slot of the store's newest round.
    lost: Slot of a newer one that this process has seen there: hooks are notified of it, and its
        slot is opened again.

    Raises `ConfigRefused` if MLflow shows a run of this store for a slot that the store does not
    know.
    """
    name, store = context.settings.name, context.database.shown
    shown = _shown_by_mlflow(context)
    if shown is not None and (newest is None or newest < shown):
        message = restored_line(name, shown, store=store)
        _note(context, DOUBT, message)
        raise ConfigRefused(message)
    if lost is not None:
        message = lost_round_line(name, lost, store=store)
        log.warning("round lost", monitor=name, reason=message)
        _note(context, _LOST, message)


def _shown_by_mlflow(context: MonitorContext) -> datetime | None:
    """Ask MLflow for the latest slot that it shows of this store; None if it does not answer."""
    if context.runs is None:
        return None
    name = context.settings.name
    with context.database.read() as connection:
        store = store_id(connection)
    try:
        return context.runs.newest_slot(store, name)
    except DeliveryFailed as error:
        log.warning("not known whether rounds were forgotten", monitor=name, reason=str(error))
        return None


def _note(context: MonitorContext, kind: str, sentence: str) -> None:
    """Note a concern about the newest round that is left, which notifies the hooks."""
    now = context.clock()
    with context.database.write() as connection:
        # its turn keeps others from it
        monitor_id = round_store.ensure_monitor(connection, context.settings.name, now)
        last = round_store.newest_round(connection, monitor_id)
        if last is not None:
            note(connection, last, kind, sentence, now)


def record_missed(context: MonitorContext, missed: Sequence[datetime], newest: datetime) -> None:
    """Record consecutive slots as skipped, oldest first.

    In several transactions if there are many: anyone who is stopped in between goes on from there,
    and nobody else waits long for the store.
    """
    schedule = context.settings.round.schedule
    now = context.clock()
    for start in range(0, len(missed), AT_ONCE):
        slots = missed[start : start + AT_ONCE]
        with context.database.write() as connection:
            monitor_id = round_store.ensure_monitor(connection, context.settings.name, now)
            add_rounds(
                connection,
                monitor_id=monitor_id,
                first_number=number_of(connection, schedule, monitor_id, slots[0]),
                slots=slots,
                windows=free_windows(connection, monitor_id, schedule, slots),
                state=RoundState.SKIPPED,
                settings=context.settings.round,
                reason=missed_reason(newest),
                now=now,
            )


def number_of(connection: Connection, schedule: Schedule, monitor_id: int, slot: datetime) -> int:
    """Give a slot its number: its place in the schedule, counted from the monitor's first round.

    A backfill of slots before the first one counts down, so that a chart over round numbers is
    in the order of time, even if a backfill filled some later.
    """
    previous = round_store.round_before(connection, monitor_id, slot)
    if previous is not None:
        return previous.number + len(slots_between(schedule, previous.slot, slot))
    following = round_store.round_after(connection, monitor_id, slot)
    if following is not None:
        return following.number - len(slots_between(schedule, slot, following.slot))
    return 1


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
    index = bisect_left(taken, slot, key=_slot)
    has_one = index < len(taken) and taken[index].slot == slot
    return taken[index].window if has_one else None
