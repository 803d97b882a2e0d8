"""Open rounds: when their slot is due, by hand, for a backfill, or again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from itertools import dropwhile
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import structlog

from monitor.domain.block import seed_of
from monitor.domain.errors import ConfigRefused, DeliveryFailed
from monitor.domain.model import Stratum, Window
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings, Schedule
from monitor.domain.slots import newest_slot, slots_between, window_of, windows_of
from monitor.domain.state import ENDED, RoundState
from monitor.presentation import moves
from monitor.presentation.numbers import minute_text
from monitor.rounds.context import MonitorContext
from monitor.rounds.reporting.concerns import note
from monitor.rounds.sampling.aliases import with_alias
from monitor.rounds.sampling.window_scan import first_scan
from monitor.storage.results.concern_store import DOUBT
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.rounds.round_transitions import add_rounds
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection


log = structlog.get_logger("monitor.rounds")

AT_ONCE = 1000  # Slots per transaction: about a tenth of a second, for which other writers can wait
_LOST = "lost"
_slot = attrgetter("slot")


def why_it_stays(context: MonitorContext, slot: datetime) -> str:
    """Return how the round of an unopened slot ended, and why it is not done again."""
    with context.database.read() as connection:
        round_ = _round_at(connection, context, slot)
        if round_ is None or round_.window.is_empty:
            return moves.NOTHING_TO_SEE
        if round_.is_lost:
            return moves.LOST_STAYS
        return moves.stays_text(round_.state)


def _round_at(connection: Connection, context: MonitorContext, slot: datetime) -> Round | None:
    monitor_id = round_store.find_monitor(connection, context.settings.name)
    return None if monitor_id is None else round_store.round_at(connection, monitor_id, slot)


def open_due(context: MonitorContext) -> None:
    """Open the newest due slot; record older ones that were missed as skipped.

    If the monitor has no scheduled round, only the newest slot is due: `backfill` fills the past.
    """
    with context.database.read() as connection:
        due = due_slots(connection, context, context.clock())
        newest = round_store.newest_slot(connection, context.settings.name)
    lost = context.newest_seen.lost(newest)
    if due[:-1] or lost:
        refuse_if_forgotten(context, newest, lost)
    if due:
        record_missed(context, due[:-1], due[-1])
        _open(context, due[-1], with_alias(context, context.settings.round), moves.DUE)
    context.newest_seen.note(newest, *due[-1:])


def due_slots(connection: Connection, context: MonitorContext, now: datetime) -> list[datetime]:
    """Return the consecutive slots to run or record; some may have a round already.

    Starts after the newest scheduled round: rounds requested by hand or backfilled do not count. If
    the clock was set back to before the first round, no slot is due.
    """
    schedule = context.settings.round.schedule
    last = round_store.newest_scheduled(connection, context.settings.name, now)
    if last is None:
        return _first_due(connection, context, newest_slot(schedule, now))
    due = slots_between(schedule, last.slot, now)
    if not due:
        # Recorded as missed by a clock that was ahead of this one.
        return [last.slot] if last.state is RoundState.SKIPPED and last.opened_at > now else []
    opened = round_store.slots_with_rounds(connection, last.monitor_id, last.slot)
    return list(dropwhile(opened.__contains__, due))


def _first_due(connection: Connection, context: MonitorContext, newest: datetime) -> list[datetime]:
    """Return the newest slot if the monitor has no scheduled round, not even in the future."""
    monitor_id = round_store.find_monitor(connection, context.settings.name)
    if monitor_id is None:
        return [newest]
    begun = round_store.newest_scheduled(connection, context.settings.name) is not None
    return [] if begun or round_store.round_at(connection, monitor_id, newest) else [newest]


def open_slot(context: MonitorContext, slot: datetime, *, backfill: bool) -> int | None:
    """Open the round of one slot; None if it has ended already, or its window is empty."""
    why = moves.BACKFILLED if backfill else moves.REQUESTED
    origin = {"origin": "backfill" if backfill else "by_hand"}
    settings = with_alias(context, context.settings.round.model_copy(update=origin))
    return _open(context, slot, settings, why)


def _open(context: MonitorContext, slot: datetime, settings: RoundSettings, why: str) -> int | None:
    now = context.clock()
    with context.database.write() as connection:
        monitor_id = round_store.ensure_monitor(connection, context.settings.name, now)
        round_ = round_store.round_at(connection, monitor_id, slot)
        if round_ is None:
            return _add(connection, context, monitor_id, slot, settings, why)
        if _is_reopened(round_, settings.origin):
            if round_.state is RoundState.ABANDONED:  # it may be the newest scheduled round
                settings = settings.model_copy(update={"origin": round_.settings.origin})
            round_transitions.reopen(connection, round_, settings=settings, now=now, reason=why)
            return round_.id
        return None if round_.state in ENDED else round_.id


def _is_reopened(round_: Round, origin: str) -> bool:
    """Whether to open an ended round again: it has no items, and is not lost."""
    if round_.window.is_empty or round_.is_lost:
        return False
    is_undrawn = round_.state is RoundState.ABANDONED and round_.deadline is None
    return round_.state is RoundState.SKIPPED or (is_undrawn and origin == "by_hand")


def _add(
    connection: Connection,
    context: MonitorContext,
    monitor_id: int,
    slot: datetime,
    settings: RoundSettings,
    why: str,
) -> int | None:
    now = context.clock()
    window = free_window(connection, monitor_id, settings.schedule, slot)
    if window.is_empty and settings.origin != "schedule":
        return None
    added = round_transitions.add_rounds(
        connection,
        monitor_id=monitor_id,
        first_number=number_of(connection, settings.schedule, monitor_id, slot),
        slots=[slot],
        windows=[window],
        state=RoundState.SKIPPED if window.is_empty else RoundState.OPEN,
        settings=settings,
        now=now,
        reason=moves.NOTHING_REMAINS if window.is_empty else why,
    )
    return None if window.is_empty else next(iter(added), None)


class NextScan(NamedTuple):
    """A window to scan, the seed of its round, and the strata and most candidates of the scan."""

    window: Window
    seed: str
    strata: Sequence[Stratum]
    at_most: int


def next_scan(context: MonitorContext) -> NextScan | None:
    """Predict the scan of the next pass: of the open round, else of the due slot."""
    now = context.clock()
    with context.database.read() as connection:
        rounds = round_store.unfinished_rounds(connection, context.settings.name, now)
        waiting = [each for each in rounds if each.state is RoundState.OPEN and each.slot <= now]
        if waiting:
            newest = waiting[-1]
            is_remaining = newest.claimed_until is not None
            if is_remaining or context.tries.still(newest, now) is not None:
                return None
            first = first_scan(connection, newest.monitor_id, newest.settings)
            return NextScan(newest.window, newest.seed, *first)
        due = due_slots(connection, context, now)
        return _of_slot(connection, context, due[-1]) if due else None


def _of_slot(connection: Connection, context: MonitorContext, slot: datetime) -> NextScan | None:
    settings = context.settings.round
    monitor_id = round_store.find_monitor(connection, context.settings.name)
    if monitor_id is None:
        # Only a block's seed is known before the monitor is in the store.
        window = window_of(settings.schedule, slot)
        seed_id = None if settings.block is None else 0
    else:
        window = free_window(connection, monitor_id, settings.schedule, slot)
        seed_id = monitor_id
    if seed_id is None or window.is_empty:
        return None
    seed = seed_of(store_id(connection), seed_id, slot, settings.block)
    return NextScan(window, seed, *first_scan(connection, monitor_id, settings))


def refuse_if_forgotten(
    context: MonitorContext, newest: datetime | None, lost: datetime | None
) -> None:
    """Refuse to go on if the store has lost rounds that MLflow shows.

    The store was restored from a backup, or a failover lost commits. If MLflow does not answer,
    rounds go on: `pr-monitor db restored` opens recorded skips too. ``lost`` is a slot that this
    process has seen and that is newer than the store's ``newest``; hooks are notified of it.

    Raises `ConfigRefused` if MLflow shows a run of this store for a slot that it does not know.
    """
    name, store = context.settings.name, context.database.shown
    shown = _shown_by_mlflow(context)
    if shown is not None and (newest is None or newest < shown):
        message = (
            f"MLflow shows a round of {name} due {minute_text(shown)} UTC that the store {store} "
            "does not know: it was restored from an older backup, or is a copy of another store. "
            "If it was restored, stop all that uses it and run: pr-monitor db restored. If it is "
            "a copy, give it an MLflow of its own (mlflow.tracking_uri)"
        )
        _note(context, DOUBT, message)
        raise ConfigRefused(message)
    if lost is not None:
        message = (
            f"the store {store} has lost the round of {name} due {minute_text(lost)} UTC: a "
            "failover or a restore took back what was committed. Its slot is done again with "
            "other items, so labels of the lost round do not count. If MLflow or a hook has that "
            "round, stop all that uses the store and run: pr-monitor db restored"
        )
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
        log.warning("cannot tell whether rounds were forgotten", monitor=name, reason=str(error))
        return None


def _note(context: MonitorContext, kind: str, sentence: str) -> None:
    """Note a concern about the store's newest round, which notifies the hooks."""
    now = context.clock()
    with context.database.write() as connection:
        # its turn keeps others from it
        monitor_id = round_store.ensure_monitor(connection, context.settings.name, now)
        last = round_store.newest_round(connection, monitor_id)
        if last is not None:
            note(connection, last, kind, sentence, now)


def record_missed(context: MonitorContext, missed: Sequence[datetime], newest: datetime) -> None:
    """Record consecutive slots as skipped, oldest first, in several transactions if many."""
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
                reason=moves.missed_reason(newest),
                now=now,
            )


def number_of(connection: Connection, schedule: Schedule, monitor_id: int, slot: datetime) -> int:
    """Return a slot's number: its position in the schedule from the monitor's first round on.

    A backfill of earlier slots counts down, so that numbers are in order of time.
    """
    previous = round_store.round_before(connection, monitor_id, slot)
    if previous is not None:
        return previous.number + len(slots_between(schedule, previous.slot, slot))
    following = round_store.round_after(connection, monitor_id, slot)
    if following is not None:
        return following.number - len(slots_between(schedule, slot, following.slot))
    return 1


def free_windows(
    connection: Connection, monitor_id: int, schedule: Schedule, slots: Sequence[datetime]
) -> list[Window]:
    """Return the windows of consecutive slots, without the time that other rounds cover."""
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
    """Return the window of one slot, without the time that other rounds cover."""
    return free_windows(connection, monitor_id, schedule, [slot])[0]


def _start(
    schedule: Schedule, usual: Window, before: Sequence[Round], opened: Sequence[Window]
) -> datetime:
    """Return the start of a window: the end of the last one if no slot lies between the two."""
    ends = [round_.window.end for round_ in before[-1:]] + [window.end for window in opened[-1:]]
    slot_before = usual.start + schedule.lag
    is_next = bool(opened) or any(slot_before <= round_.slot for round_ in before[-1:])
    return max(ends) if is_next else max([usual.start, *ends])


def _own(taken: Sequence[Round], slot: datetime) -> Window | None:
    index = bisect_left(taken, slot, key=_slot)
    has_one = index < len(taken) and taken[index].slot == slot
    return taken[index].window if has_one else None
