"""Reading a window once for the monitors of one block that are about to draw from it.

Nothing is shared across blocks, and nothing depends on it: a monitor for which it does not hold
reads by itself.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import MonitorError
from monitor.domain.ports import PlannedScan, SharesScans
from monitor.rounds.context import MonitorContext

if TYPE_CHECKING:
    from monitor.rounds.opening.due import NextScan

    Around = Callable[[MonitorContext], AbstractContextManager[object]]
    """The context in which a monitor is looked at."""

log = structlog.get_logger("monitor.service.shared_reads")

_FEWEST = 2  # Monitors by which a window is shared


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
