"""Liveness and readiness of the service."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from monitor.domain.errors import MonitorError
from monitor.storage import schema

if TYPE_CHECKING:
    from monitor.storage.database import Database

SILENT = 15 * 60.0  # seconds: a loop beats at each tick and each delivery, minutes apart at most
STUCK = 3600.0  # seconds: longer than any scan that was measured: a step may just be slow


class Heartbeat:
    """Signs of life of the service's loops, all alive at first, and their running steps."""

    def __init__(self, *loops: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._beats = dict.fromkeys(loops, clock())
        self._steps: dict[str, float] = {}
        self._bugs: dict[str, Exception] = {}

    def beat(self, loop: str) -> None:
        """Record a sign of life of a loop."""
        with self._lock:
            self._beats[loop] = self._clock()

    def note_bug(self, loop: str, bug: Exception | None) -> None:
        """Record the bug that stopped the last run of a loop; None if it finished."""
        with self._lock:
            self._bugs.pop(loop, None)
            if bug is not None:
                self._bugs[loop] = bug

    def begin(self, step: str) -> None:
        """Record the start of a step that may take long."""
        with self._lock:
            self._steps[step] = self._clock()

    def end(self, step: str) -> None:
        """Record the end of a step."""
        with self._lock:
            self._steps.pop(step, None)

    def steps(self) -> list[str]:
        """Return the running steps, the longest first."""
        with self._lock:
            return sorted(self._steps, key=self._steps.__getitem__)

    def complaint(self) -> str | None:
        """Report steps that hang, and loops that a bug stops; None if there are none."""
        now = self._clock()
        with self._lock:
            complaints = [
                f"the loop of {loop} has been silent for {(now - at) / 60:.0f} minutes"
                for loop, at in self._beats.items()
                if now - at > SILENT
            ]
            complaints += [
                f"{step} has been under way for {(now - at) / 60:.0f} minutes"
                for step, at in self._steps.items()
                if now - at > STUCK
            ]
            complaints += [
                f"the loop of {loop} is stopped by a bug ({type(bug).__name__}); the log has the "
                "traceback"
                for loop, bug in self._bugs.items()
            ]
        return "; ".join(complaints) or None


def unready(database: Database) -> str | None:
    """Report why the store cannot be used now; None if it can."""
    try:
        schema.check(database)
    except MonitorError as error:
        return str(error)
    return None
