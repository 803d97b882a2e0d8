"""Which window a look at a monitor will draw from, seen before anything is opened."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.seeds import seed_of
from monitor.domain.slots import window_of
from monitor.domain.state import RoundState
from monitor.rounds.opening.due import due_slots
from monitor.rounds.opening.windows import free_window
from monitor.rounds.sampling.window_scan import first_scan
from monitor.storage.rounds import round_store
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.model import Stratum, Window
    from monitor.rounds.context import MonitorContext


class NextScan(NamedTuple):
    """A window that is about to be scanned, by which strata, and the seed of its round."""

    window: Window
    seed: str
    strata: Sequence[Stratum]
    at_most: int


def next_scan(context: MonitorContext) -> NextScan | None:
    """Find what a pass will draw: the open round, else the round of the due slot.

    It is a guess: anyone who opens the round decides. None if nothing is drawn, or soon again
    what was refused just now, or another worker has it.
    """
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
