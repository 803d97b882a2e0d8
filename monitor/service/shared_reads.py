"""Reading once what several monitors of a pass read.

`Prefetcher` tells the labeler of a file with the truth of many monitors which items the others wait
for, before the first of them is looked at. `SharedScans` reads a window once for all monitors of a
block that are about to draw from it. Nothing else depends on either: a monitor for which it does
not hold reads by itself.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import MonitorError
from monitor.domain.ports import Clock, Labeler, PlannedScan, SharesReadings, SharesScans
from monitor.rounds.context import MonitorContext
from monitor.storage.database import Database
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from monitor.rounds.opening.due import NextScan

    Around = Callable[[MonitorContext], AbstractContextManager[object]]
    """The context in which a monitor is looked at."""

log = structlog.get_logger("monitor.service.shared_reads")

MOST = 100_000  # Items read at once, to keep memory small: of more, the next monitors read again
_FEWEST = 2  # Monitors by which a window is shared


def prepared(prefetcher: Prefetcher, scans: SharedScans) -> Around:
    """Have at hand, around a look at a monitor, what it reads in common with others."""

    @contextmanager
    def around(context: MonitorContext) -> Iterator[None]:
        prefetcher.before(context.settings.name)
        with scans.shared(context):
            yield

    return around


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


@dataclass(slots=True)
class _ScanGroup:
    """Monitors of one block that read one table; the first that is looked at reads for all."""

    contexts: list[MonitorContext] = field(default_factory=list)
    is_read: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class SharedScans:
    """Knows which monitors of a pass read the same table, and has it read once."""

    def __init__(self, contexts: Sequence[MonitorContext]) -> None:
        self._groups: dict[str, _ScanGroup] = {}
        by_table: dict[tuple[str, str], _ScanGroup] = {}
        for context in contexts:
            if (table := _table(context)) is not None:
                group = by_table.setdefault(table, _ScanGroup())
                group.contexts.append(context)
                self._groups[context.settings.name] = group

    @contextmanager
    def shared(self, context: MonitorContext) -> Iterator[None]:
        """Check a monitor while its window is at hand, if it shares one."""
        group = self._groups.get(context.settings.name)
        if group is None or len(group.contexts) < _FEWEST:
            yield
            return
        with group.lock:  # others wait for the one reading
            if not group.is_read:
                group.is_read = True
                _read(group.contexts)
        try:
            yield
        finally:
            if isinstance(context.source, SharesScans):
                context.source.release()


def _table(context: MonitorContext) -> tuple[str, str] | None:
    """Name the block of a monitor and the table it reads; None if it shares none."""
    block, source = context.settings.round.block, context.source
    try:
        if block is not None and isinstance(source, SharesScans):
            return block.name, source.table
    except Exception:
        name = context.settings.name
        log.exception("window not shared: stopped by a bug", monitor=name)
    return None


def _read(contexts: Sequence[MonitorContext]) -> None:
    """Read the window that most of them are about to draw from, if several are.

    If anything goes wrong, each reads by itself and reports its own error.
    """
    try:
        _read_window(contexts)
    except MonitorError as error:
        log.info("window not shared", monitors=len(contexts), reason=str(error))
    except Exception:
        log.exception("window not shared: stopped by a bug", monitors=len(contexts))


def _read_window(contexts: Sequence[MonitorContext]) -> None:
    next_scans = [(context.source, _next_scan(context)) for context in contexts]
    counted = Counter((scan.window, scan.seed) for _, scan in next_scans if scan is not None)
    if not counted:
        return
    [((window, seed), readers)] = counted.most_common(1)
    if readers < _FEWEST:
        return
    scans = [
        PlannedScan(source, scan.strata, scan.at_most)
        for source, scan in next_scans
        if scan is not None and (scan.window, scan.seed) == (window, seed)
    ]
    source: SharesScans = scans[0].source
    with outside("read_for"):
        source.read_for(scans, window, seed)


def _next_scan(context: MonitorContext) -> NextScan | None:
    from monitor.rounds.opening.due import next_scan  # noqa: PLC0415  few have blocks

    try:
        return next_scan(context)
    except MonitorError:
        return None  # the look itself meets and tells the same
