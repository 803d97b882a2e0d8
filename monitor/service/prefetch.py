"""Telling labelers that read one file for many monitors what a pass will ask about.

A file with the truth of many monitors is read whole by each that asks. So before the first of them
is looked at, its labeler learns which items the others wait for, and reads for all of them.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import MonitorError
from monitor.domain.ports import Clock, Labeler, SharesReadings
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from monitor.storage.database import Database

log = structlog.get_logger("monitor.service.prefetch")

MOST = 100_000  # Items read at once, to keep memory small: of more, the next monitors read again


class Prefetcher:
    """Knows which monitors of a pass will read the same, and tells each labeler once."""

    def __init__(
        self, database: Database, clock: Clock, labelers: Mapping[str, Sequence[Labeler]]
    ) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._readings = {
            name: _readings(name, of_monitor) for name, of_monitor in labelers.items()
        }
        self._untold: dict[str, dict[str, None]] = defaultdict(dict)
        for name, readings in self._readings.items():
            for reading in readings:
                self._untold[reading][name] = None

    def before(self, name: str) -> None:
        """Notify the labelers of a monitor, unless they were with another monitor's."""
        for reading, labeler in self._readings[name].items():
            with self._lock:
                untold = self._untold[reading]
                if name not in untold:
                    continue
                del untold[name]
                if not untold:
                    continue  # the last one reads for itself
                items, readers = self._take(name, untold)
            labeler.expect(items, readers)

    def _take(self, first: str, untold: dict[str, None]) -> tuple[set[str], int]:
        """Gather the items of the next monitors, and how many of these wait for any."""
        waiting = self._waiting(first)
        items, readers = set(waiting), int(bool(waiting))
        while untold and len(items) < MOST:
            name = next(iter(untold))
            del untold[name]
            waiting = self._waiting(name)
            items |= waiting
            readers += bool(waiting)  # who waits for nothing never asks
        return items, readers

    def _waiting(self, name: str) -> set[str]:
        try:
            with self._database.read() as connection:
                return round_store.waiting_items(connection, name, self._clock())
        except MonitorError:
            return set()  # the look itself meets and tells the same; here nothing is lost


def _readings(monitor: str, labelers: Sequence[Labeler]) -> dict[str, SharesReadings]:
    try:
        shares = [labeler for labeler in labelers if isinstance(labeler, SharesReadings)]
        return {labeler.reading: labeler for labeler in shares}
    except Exception:
        log.exception("labels not shared: stopped by a bug", monitor=monitor)
        return {}  # it reads by itself
