"""Local times as instants in SQL, by the rules for time zones that Python has.

DuckDB brings rules from another date: where the two differ, a window of the schedule, which
Python computes, would hold rows of another hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

FIRST, LAST = datetime(1970, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001  local times
_DAY, _SECOND = timedelta(days=1), timedelta(seconds=1)

Changes = tuple[tuple[datetime, int], ...]


@lru_cache(maxsize=256)
def clock_changes(zone: str, first: datetime, last: datetime) -> tuple[int, Changes]:
    """Return by how many seconds a zone is ahead of UTC, and each local time when that changes.

    A time that comes twice on the clock is the later of both.
    """
    zone_info = ZoneInfo(zone)
    first_offset = offset = _upcoming(first, zone_info)
    changes = []
    day = first
    while day < last:
        if (next_offset := _upcoming(day + _DAY, zone_info)) != offset:
            changes.append((_change(day, zone_info), next_offset))
            offset = next_offset
        day += _DAY
    return first_offset, tuple(changes)


def instant_sql(local: str, zone: str, first: datetime, last: datetime) -> str:
    """Write a local time between two as an instant."""
    first_offset, changes = clock_changes(zone, first, last)
    seconds = [first_offset, *(after for _, after in changes)]
    shift = _halved(local, [at for at, _ in changes], seconds)
    return f"cast({local} - to_seconds({shift}) as timestamptz)"


def _upcoming(local: datetime, zone: ZoneInfo) -> int:
    offset = local.replace(tzinfo=zone, fold=1).utcoffset() or timedelta()
    return offset // _SECOND


def _change(day: datetime, zone: ZoneInfo) -> datetime:
    """Find the first second from which the clock of the next day counts."""
    after = _upcoming(day + _DAY, zone)
    low, high = day, day + _DAY
    while high - low > _SECOND:
        middle = low + (high - low) // 2 // _SECOND * _SECOND
        low, high = (low, middle) if _upcoming(middle, zone) == after else (middle, high)
    return high


def _halved(local: str, ends: Sequence[datetime], seconds: Sequence[int]) -> str:
    if not ends:
        return str(seconds[0])
    middle = len(ends) // 2
    below = _halved(local, ends[:middle], seconds[: middle + 1])
    above = _halved(local, ends[middle + 1 :], seconds[middle + 1 :])
    return f"case when {local} < timestamp '{ends[middle]}' then {below} else {above} end"
