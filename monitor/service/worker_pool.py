"""Looking at monitors, a few at a time, so that one slow source does not hold up all others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from monitor.service.change_detection import Idle, last_ones
from monitor.service.shared_scans import SharedScans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.domain.errors import MonitorError
    from monitor.rounds.context import MonitorContext
    from monitor.service.change_detection import Look
    from monitor.service.reading_ahead import Ahead
    from monitor.service.runtime import Running

LANES = 4
"""A source that hangs takes one; a scan may take memory, so there are not many."""


class Lanes:
    """Takes every monitor that may have something to do as far as it gets; none twice at once.

    Safe on SQLite as several processes are: each thread has connections of its own, and one that
    wants to write waits for its turn.

    Parameters
    ----------
    advance
        Does all that is due for a monitor; returns what stopped it.
    news
        Set whenever a look may have left something to deliver.
    """

    def __init__(
        self,
        running: Running,
        advance: Callable[[MonitorContext], MonitorError | None],
        *,
        stop: threading.Event,
        news: threading.Event,
    ) -> None:
        self._running = running
        self._advance = advance
        self._stop, self._news = stop, news
        self._idle = Idle(running.application.database, running.application.clock)
        self._pool = ThreadPoolExecutor(LANES, thread_name_prefix="lane")
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def tick(self) -> None:
        """Begin a look at each monitor that may have something to do and has none under way."""
        with self._lock:
            busy = frozenset(self._busy)
        free = [
            context
            for context in self._running.application.monitors
            if context.settings.name not in busy
        ]
        looks = self._idle.needed(free)
        with self._lock:
            self._busy.update(look.context.settings.name for look in looks)
        others, left = last_ones(looks)
        ahead = self._idle.ahead(looks)
        scans = SharedScans([look.context for look in others])
        for look in others:
            self._pool.submit(self._look, look, ahead, scans)
        if left:
            self._pool.submit(self._one_after_another, left, ahead, scans)
        self._note_if_quiet()

    def close(self) -> None:
        """Begin no further look, and wait for those under way."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _one_after_another(self, looks: Sequence[Look], ahead: Ahead, scans: SharedScans) -> None:
        for look in looks:
            self._look(look, ahead, scans)

    def _look(self, look: Look, ahead: Ahead, scans: SharedScans) -> None:
        name = look.context.settings.name
        pulse, step = self._running.pulse, f"monitor {name}"
        try:
            if self._stop.is_set():
                return
            pulse.begin(step)
            ahead.before(name)
            with scans.shared(look.context):
                error = self._advance(look.context)
            self._idle.looked(look, well=error is None)
            self._running.note(name, fails=error is not None)
        finally:
            pulse.end(step)
            self._news.set()
            with self._lock:
                self._busy.discard(name)
            self._note_if_quiet()

    def _note_if_quiet(self) -> None:
        with self._lock:
            quiet = not self._busy
        if quiet and not self._stop.is_set():
            self._running.note_quiet()
