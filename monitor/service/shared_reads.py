"""Read a window once for the monitors of one block that are about to draw from it.

Nothing is shared across blocks, and nothing depends on it: a monitor without a shared window reads
by itself.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import MonitorError
from monitor.domain.model import Window
from monitor.domain.ports import PlannedScan, SharesScans
from monitor.rounds.context import MonitorContext

if TYPE_CHECKING:
    Around = Callable[[MonitorContext], AbstractContextManager[object]]
    """Context manager for the check of a monitor."""

log = structlog.get_logger("monitor.service.shared_reads")


@dataclass(slots=True)
class _ScanGroup:
    """Monitors of one block; the first that is checked reads for all."""

    contexts: list[MonitorContext] = field(default_factory=list)
    is_read: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class SharedScans:
    """Groups the monitors of a pass by block, and reads their windows once."""

    def __init__(self, contexts: Sequence[MonitorContext]) -> None:
        self._groups = defaultdict[str, _ScanGroup](_ScanGroup)
        for context in contexts:
            if (block := context.settings.round.block) is not None:
                self._groups[block.name].contexts.append(context)

    @contextmanager
    def shared(self, context: MonitorContext) -> Iterator[None]:
        """Read the shared window of a monitor, if it has one, and release it at the end."""
        block, source = context.settings.round.block, context.source
        if block is None or not isinstance(source, SharesScans):
            yield
            return
        group = self._groups[block.name]
        with group.lock:  # others wait for the one reading
            if not group.is_read:
                group.is_read = True
                _read(group.contexts)
        try:
            yield
        finally:
            source.release()


def _read(contexts: Sequence[MonitorContext]) -> None:
    """Read each window that several monitors are about to draw from.

    If anything goes wrong, each reads by itself and reports its own error.
    """
    try:
        for (_, window, seed), scans in _next_scans(contexts).items():
            if len(scans) > 1:
                with outside("read_for"):
                    scans[0].source.read_for(scans, window, seed)
    except MonitorError as error:
        log.info("window not shared", monitors=len(contexts), reason=str(error))
    except Exception:
        log.exception("window not shared: stopped by a bug", monitors=len(contexts))


def _next_scans(
    contexts: Sequence[MonitorContext],
) -> dict[tuple[str, Window, str], list[PlannedScan]]:
    """Group what several monitors are about to read by table, window and seed."""
    from monitor.rounds.opening.due import next_scan  # noqa: PLC0415  few have blocks

    result = defaultdict[tuple[str, Window, str], list[PlannedScan]](list)
    for context in contexts if len(contexts) > 1 else ():
        source, scan = context.source, next_scan(context)
        if scan is not None and isinstance(source, SharesScans):
            planned = PlannedScan(source, scan.strata, scan.at_most)
            result[source.table, scan.window, scan.seed].append(planned)
    return result
