"""Slots (when rounds are due) and windows (which predictions each looks at)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from cronsim import CronSim

from monitor.domain.model import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.domain.settings import Schedule


_MANY = 366  # a year of days, seven of weeks


def slots_after(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    """Every slot later than ``after``, in UTC, ascending and never twice.

    Slots are wall-clock times of ``schedule.time_zone`` and follow daylight saving as Debian's
    cron does: a slot inside the skipped hour runs at its end, one inside the repeated hour once.
    """
    return _instants(schedule, after, reverse=False)


def slots_before(schedule: Schedule, before: datetime) -> Iterator[datetime]:
    """Every slot earlier than ``before``, in UTC, descending and never twice."""
    return _instants(schedule, before, reverse=True)


def _instants(schedule: Schedule, start: datetime, *, reverse: bool) -> Iterator[datetime]:
    local = start.astimezone(ZoneInfo(schedule.time_zone))
    last: datetime | None = None
    for found in CronSim(schedule.cron, local, reverse=reverse):
        slot = found.astimezone(UTC)
        beyond = slot < start if reverse else slot > start
        fresh = last is None or (slot < last if reverse else slot > last)
        if beyond and fresh:
            yield slot
            last = slot


def slots_between(schedule: Schedule, after: datetime, until: datetime) -> list[datetime]:
    """Slots with ``after < slot <= until``, ascending."""
    return list(takewhile(lambda slot: slot <= until, slots_after(schedule, after)))


def rounds_per(schedule: Schedule, span: timedelta) -> float:
    """How many rounds fall into a time of this length, in the mean over many rounds.

    Counted from one fixed Monday on, so that the answer never depends on today.
    """
    first = datetime(2024, 1, 1, tzinfo=UTC)
    slots = list(islice(slots_after(schedule, first), _MANY))
    return span / ((slots[-1] - slots[0]) / (len(slots) - 1))


def newest_slot(schedule: Schedule, now: datetime) -> datetime:
    """Latest slot that is due at ``now``."""
    return next(slots_before(schedule, now + timedelta(microseconds=1)))


def window_of(schedule: Schedule, slot: datetime) -> Window:
    """Window of a slot: from the previous slot to this one, both shifted back by the lag."""
    previous = next(slots_before(schedule, slot))
    return Window(start=previous - schedule.lag, end=slot - schedule.lag)


def slots_of_windows(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    """Slots whose windows lie in ``[start, end]`` once the last begun window is counted whole."""
    boundaries = slots_between(
        schedule, start + schedule.lag - timedelta(microseconds=1), end + schedule.lag
    )
    return [after for _, after in pairwise(boundaries)]
