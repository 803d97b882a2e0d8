"""Check monitors, a few at a time, so that one slow source does not hold up all others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import MonitorError, StoppedByBug
from monitor.rounds.context import MonitorContext
from monitor.service.change_detection import ChangeDetector, MonitorScan, last_ones
from monitor.service.imports import broken_import, end_for
from monitor.service.shared_reads import SharedScans

if TYPE_CHECKING:
    from monitor.service.runtime import Running
    from monitor.service.shared_reads import Around

log = structlog.get_logger("monitor.service.loop")

WORKERS = 4  # A source that hangs takes one; a scan may take memory, so there are not many


class MonitorPool:
    """Checks every monitor that may have work; never one monitor twice at a time.

    advance: Runs a monitor inside a context manager; returns the error that stopped it.
    changes: Set whenever a check may have left something to deliver.
    """

    def __init__(
        self,
        running: Running,
        advance: Callable[[MonitorContext, Around], MonitorError | None],
        *,
        stop: threading.Event,
        changes: threading.Event,
    ) -> None:
        self._running = running
        self._advance = advance
        self._stop, self._changed = stop, changes
        self._idle = ChangeDetector(running.application.database, running.application.clock)
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="lane")
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._broken: str | None = None

    def tick(self) -> None:
        """Start a check of each monitor that may have work and is not being checked."""
        self._end_if_broken()
        with self._lock:
            busy = frozenset(self._busy)
        free = [
            context
            for context in self._running.application.monitors
            if context.settings.name not in busy
        ]
        checks = self._idle.needed(free)
        others, interrupted = last_ones(checks)
        around = SharedScans([scan.context for scan in others]).shared
        for some in filter(None, (*([scan] for scan in others), interrupted)):
            self._begin(some, around)
        self._note_if_quiet()

    def close(self) -> None:
        """Start no further check, and wait for the running ones."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self, checks: Sequence[MonitorScan], around: Around) -> None:
        names = {scan.context.settings.name for scan in checks}
        with self._lock:
            self._busy |= names
        try:
            self._pool.submit(self._one_after_another, checks, around)
        except RuntimeError:  # no thread can be started
            with self._lock:
                self._busy -= names
            raise

    def _one_after_another(self, checks: Sequence[MonitorScan], around: Around) -> None:
        for scan in checks:
            self._check(scan, around)

    def _check(self, scan: MonitorScan, around: Around) -> None:
        name = scan.context.settings.name
        heartbeat, step = self._running.heartbeat, f"monitor {name}"
        try:
            if self._stop.is_set():
                return
            heartbeat.begin(step)
            self._note(scan, self._advanced(scan, around))
        except BaseException as error:  # else it ends with the future, which nobody reads
            log.exception("monitor stopped by a bug", monitor=name)
            self._running.note(name, StoppedByBug.of(error))
        finally:
            heartbeat.end(step)
            self._changed.set()
            with self._lock:
                self._busy.discard(name)
            self._note_if_quiet()

    def _advanced(self, scan: MonitorScan, around: Around) -> MonitorError | None:
        try:
            self._running.check_store()
        except MonitorError as error:
            name = scan.context.settings.name
            log.warning("monitor not looked at", monitor=name, reason=str(error))
            return error
        return self._advance(scan.context, around)

    def _note(self, scan: MonitorScan, error: MonitorError | None) -> None:
        """Record the result of a check, for the next tick and for the service's health."""
        self._idle.record_check(scan, well=error is None)
        self._running.note(scan.context.settings.name, error)
        if isinstance(error, StoppedByBug):
            self._broken = self._broken or broken_import(error)

    def _note_if_quiet(self) -> None:
        with self._lock:
            quiet = not self._busy
        if quiet and not self._stop.is_set():
            self._running.note_quiet()
            self._end_if_broken()

    def _end_if_broken(self) -> None:
        """End the process if an import is broken: after the other checks, or at the next tick."""
        if self._broken is not None:
            self._running.end(end_for(self._broken))
