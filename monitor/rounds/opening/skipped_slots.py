"""Slots that nobody ran when they were due: recorded as skipped, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import ConfigRefused, DeliveryFailed
from monitor.domain.slots import slots_between
from monitor.domain.state import RoundState
from monitor.presentation.moves import missed_reason
from monitor.presentation.status import lost_round_line, restored_line
from monitor.rounds.opening.windows import free_windows
from monitor.rounds.reporting.concerns import note
from monitor.storage.rounds import restored_store, round_store
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
        _note(context, restored_store.DOUBT, message)
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


def newest_recorded(connection: Connection, context: MonitorContext) -> datetime | None:
    """Read the slot of the store's newest round of a monitor."""
    return round_store.newest_slot(connection, context.settings.name)


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


def was_already_skipped(round_: Round, now: datetime) -> bool:
    """Whether a slot was recorded as missed by a clock that was ahead of this one."""
    return round_.state is RoundState.SKIPPED and round_.opened_at > now


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
