"""Log of a service: library messages in its own format, and each obstacle once.

An obstacle is logged when it begins, changes or ends, not at every pass.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

OBSTACLES = frozenset(
    {
        "alerts not kept up",
        "monitor not looked at",
        "monitor stopped",
        "not delivered",
        "cannot tell whether rounds were forgotten",
        "round waits",
        "tick stopped",
        "window not shared",
    }
)
"""Events that repeat at every pass while an obstacle lasts, as do all with a traceback."""

ENDS = frozenset({"delivered again", "monitor goes on", "tick goes on"})
"""Events after which the obstacles of a monitor, a sink or a job are over."""

REMINDER = timedelta(hours=1).total_seconds()  # An obstacle that stays is logged again after this
OVER = timedelta(minutes=10).total_seconds()  # An obstacle not seen for this long is over


class ObstacleFilter:
    """A processor of structlog that drops lines on obstacles which were logged already.

    Two lines are of one obstacle if they have the same monitor, sink or job and the same reason,
    regardless of their event: a reason that stops a round stops its monitor, and is logged once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._obstacles: dict[str, dict[str, _Obstacle]] = {}

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """Return the line, with the age in ``minutes`` if it is a reminder.

        Raises `structlog.DropEvent` if the obstacle was logged within the last hour.
        """
        subject = next(
            (f"{name} {event[name]}" for name in ("monitor", "sink", "job") if name in event), ""
        )
        with self._lock:
            if event["event"] in ENDS:
                self._obstacles.pop(subject, None)
            reason = _reason(event)
            if reason is None:
                return event
            now = self._clock()
            seen = self._obstacles.get(subject, {}).items()
            current = {text: one for text, one in seen if now - one.seen < OVER}
            self._obstacles[subject] = current
            if reason not in current:
                current[reason] = _Obstacle(now)
                return event
            obstacle = current[reason]
            obstacle.seen = now
            if now - obstacle.logged < REMINDER:
                raise structlog.DropEvent
            obstacle.logged = now
            return {**event, "minutes": round((now - obstacle.began) / 60)}


class _Obstacle:
    """Times when an obstacle began, was last logged, and was last seen."""

    def __init__(self, now: float) -> None:
        self.began = self.logged = self.seen = now


def _reason(event: EventDict) -> str | None:
    """Return the reason of a line about an obstacle; None for other lines."""
    if event.get("exc_info"):
        return f"{event['event']}: {sys.exc_info()[1]!r}"
    if "exception" in event:  # written by the process that delivers to MLflow
        return str(event["exception"])
    if event["event"] in OBSTACLES:
        return str(event.get("reason", event.get("error")))
    return None


class _LibraryLogs(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        trace = {"exc_info": record.exc_info} if record.exc_info else {}
        logger = structlog.get_logger()
        logger.log(record.levelno, record.getMessage(), logger=record.name, **trace)


def take_in_library_logs() -> None:
    """Send warnings of libraries to this log from now on."""
    logging.basicConfig(handlers=[_LibraryLogs()], level=logging.WARNING, force=True)
    for name in ("apscheduler", "uvicorn"):  # a tick that finds the last one at work is normal
        logging.getLogger(name).setLevel(logging.ERROR)
