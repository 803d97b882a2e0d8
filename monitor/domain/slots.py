"""Slots (when rounds are due) and windows (the time range of a round's predictions)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import merge
from itertools import islice, pairwise, takewhile, tee
from zoneinfo import ZoneInfo

from cronsim import CronSim

from monitor.domain.model import Window
from monitor.domain.settings import Schedule

_MANY = 366  # a year of days, seven of weeks
_FIRST = datetime.fromisoformat("2024-01-01")  # a Monday
_LONGEST_CHANGE = timedelta(days=1)  # of a clock: Apia left out a day in 2011


def slots_after(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    """Every slot later than ``after``, in UTC, ascending and never twice.

    Daylight saving works as in Debian's cron. If minute and hour are both fixed, a slot in the
    skipped hour moves to its end, and a slot in the repeated hour comes once. If either begins with
    ``*``, slots come whenever the clock shows their time.
    """
    return _instants(schedule.cron, schedule.time_zone, after, reverse=False)


def slots_before(schedule: Schedule, before: datetime) -> Iterator[datetime]:
    """Every slot earlier than ``before``, in UTC, descending and never twice."""
    return _instants(schedule.cron, schedule.time_zone, before, reverse=True)


def _instants(cron: str, time_zone: str, start: datetime, *, reverse: bool) -> Iterator[datetime]:
    # cronsim parses the cron line, but clock changes are handled here: it skips whole hours and so
    # loses slots in zones that change by half an hour.
    zone = ZoneInfo(time_zone)
    walls = CronSim(cron, _first_wall(zone, start, reverse=reverse), reverse=reverse)
    moments = (
        (_after_the_gap(wall, zone) for wall in walls)
        if _is_at_set_times(cron)
        else _whenever_shown(walls, zone, reverse=reverse)
    )
    last = start
    for slot in moments:
        if slot < last if reverse else slot > last:
            yield slot
            last = slot


def _is_at_set_times(cron: str) -> bool:
    return not any(part.startswith("*") for part in cron.split()[:2])


def _first_wall(zone: ZoneInfo, start: datetime, *, reverse: bool) -> datetime:
    """Return the wall time to start from, so that repeated wall times lose no instant."""
    local = start.astimezone(zone)
    beyond = (start - _LONGEST_CHANGE if reverse else start + _LONGEST_CHANGE).astimezone(zone)
    change = (_offset(beyond) - _offset(local)) * (1 if reverse else -1)
    back = max(change, timedelta(0))
    return local.replace(tzinfo=None, fold=0) + (back if reverse else -back)


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta(0)


def _after_the_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant of a wall time, or the end of the gap that skips it."""
    while not _is_shown(wall, zone):
        wall += timedelta(minutes=1)
    return _instant(wall, zone)


def _whenever_shown(
    walls: Iterator[datetime], zone: ZoneInfo, *, reverse: bool
) -> Iterator[datetime]:
    """Yield all instants of these wall times in order; a repeated wall time has two."""
    first, repeated = tee(wall for wall in walls if _is_shown(wall, zone))
    return merge(
        (_instant(wall, zone) for wall in first),
        (_instant(wall.replace(fold=1), zone) for wall in repeated),
        reverse=reverse,
    )


def _is_shown(wall: datetime, zone: ZoneInfo) -> bool:
    return _instant(wall, zone).astimezone(zone).replace(tzinfo=None, fold=0) == wall


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    return wall.replace(tzinfo=zone).astimezone(UTC)


def slots_between(schedule: Schedule, after: datetime, until: datetime) -> list[datetime]:
    """Slots with ``after < slot <= until``, ascending."""
    return list(takewhile(lambda slot: slot <= until, slots_after(schedule, after)))


def rounds_per(schedule: Schedule, span: timedelta) -> float:
    """Return the mean number of rounds in a time span."""
    minute, hour, *days = schedule.cron.split()
    # Hundreds of monitors differ in their time of day, but hardly in their days.
    time = "0 0" if minute.isdigit() and hour.isdigit() else f"{minute} {hour}"
    return span / _mean_gap(f"{time} {' '.join(days)}")


@lru_cache(maxsize=4096)
def _mean_gap(cron: str) -> timedelta:
    """Return the mean time between slots on the wall clock, independent of today's date."""
    walls = list(islice(CronSim(cron, _FIRST), _MANY))
    return (walls[-1] - walls[0]) / (len(walls) - 1)


def newest_slot(schedule: Schedule, now: datetime) -> datetime:
    """Return the latest slot that is due at ``now``."""
    after = now + timedelta(microseconds=1)
    return _nearest(schedule.cron, schedule.time_zone, after, reverse=True)


def next_slot(schedule: Schedule, now: datetime) -> datetime:
    """Return the first slot that is not yet due at ``now``."""
    return _nearest(schedule.cron, schedule.time_zone, now, reverse=False)


@lru_cache(maxsize=4096)  # many monitors have one schedule, and are asked about at one moment
def _nearest(cron: str, time_zone: str, start: datetime, *, reverse: bool) -> datetime:
    return next(_instants(cron, time_zone, start, reverse=reverse))


def window_of(schedule: Schedule, slot: datetime) -> Window:
    """Return the window of a slot: from the previous slot to this one, shifted back by the lag."""
    previous = next(slots_before(schedule, slot))
    return Window(start=previous - schedule.lag, end=slot - schedule.lag)


def windows_of(schedule: Schedule, slots: Sequence[datetime]) -> list[Window]:
    """Return the windows of consecutive slots."""
    first = window_of(schedule, slots[0])
    ends = [slot - schedule.lag for slot in slots]
    return [first, *(Window(start, end) for start, end in pairwise(ends))]


def slots_of_windows(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    """Return the slots whose whole windows lie in ``[start, end]``."""
    boundaries = slots_between(
        schedule, start + schedule.lag - timedelta(microseconds=1), end + schedule.lag
    )
    return [after for _, after in pairwise(boundaries)]
