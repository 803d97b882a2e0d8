"""The log of a service names an obstacle when it begins, changes or ends, not at every pass."""

from __future__ import annotations

from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import structlog

from monitor.domain.ports import Clock, utc_now

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger


OBSTACLES = frozenset(
    {
        "alerts not kept up",
        "monitor not looked at",
        "monitor stopped",
        "not delivered",
        "round waits",
        "tick stopped",
    }
)
"""Events that come again at every pass until what they name is over."""

ENDS = frozenset({"delivered again", "monitor goes on", "tick goes on"})
"""Events after which the obstacles of a monitor, a sink or a job are over."""

REMINDER = timedelta(hours=1)
"""An obstacle that stays is logged again after this."""


class _Logged(NamedTuple):
    first: datetime
    last: datetime


class ObstacleFilter:
    """A processor of structlog that drops lines on obstacles which were logged already.

    Two lines are of one obstacle if they have the same monitor, sink or job and the same reason,
    regardless of their event.
    """

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock = Lock()
        self._logged: dict[str, dict[str, _Logged]] = {}

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """Return the line, with ``since`` where it is a reminder.

        Raises
        ------
        structlog.DropEvent
            If the obstacle was logged within the last hour.
        """
        subject = next(
            (f"{name} {event[name]}" for name in ("monitor", "sink", "job") if name in event), ""
        )
        with self._lock:
            if event["event"] in ENDS:
                self._logged.pop(subject, None)
            if event["event"] not in OBSTACLES:
                return event
            now = self._clock()
            earlier = self._logged.get(subject, {}).items()
            reasons = {reason: own for reason, own in earlier if now - own.last < 2 * REMINDER}
            self._logged[subject] = reasons
            reason = str(event.get("reason", event.get("error")))
            logged = reasons.get(reason)
            if logged is None:
                reasons[reason] = _Logged(now, now)
                return event
            if now - logged.last < REMINDER:
                raise structlog.DropEvent
            reasons[reason] = _Logged(logged.first, now)
            return {**event, "since": logged.first.isoformat(timespec="minutes")}
