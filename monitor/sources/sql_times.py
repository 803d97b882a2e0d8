"""Times in database columns: conditions for a window, and conversion of values to instants.

Bounds are converted to the type of the column, so that its index or partition can be used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlalchemy import BigInteger, ColumnElement, DateTime, and_, literal, true

from monitor.domain.model import Window
from monitor.domain.truth import ZONE

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
_TIME = re.compile(
    rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.]\d+)?)?(?: ?{ZONE})?)?"
)
_ONE_DIGIT = re.compile(r"(?<![\d.])\d(?!\d)")


FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""Range of microseconds since 1970 in the years 1 to 9999."""


def _as_it_is(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return value


@dataclass(frozen=True, slots=True)
class Times:
    """How to read the values of a time column.

    ``bound`` converts an instant to a value of the column for comparisons. ``read`` writes the
    expression to select, and ``instant`` converts its result to microseconds since 1970.
    ``is_whole``: compare whole numbers with both bounds at once, which calls a function once per
    row. ``ends`` are Python's first and last value, if the column may have values beyond them, such
    as an infinite time or a date of zeros.
    """

    kind: TypeEngine[Any]
    bound: Callable[[datetime], Any]
    instant: Callable[[Any], int]
    is_whole: bool = False
    read: Callable[[ColumnElement[Any]], ColumnElement[Any]] = _as_it_is
    ends: tuple[datetime, datetime] | None = None

    def of_calendar(self, column: ColumnElement[Any]) -> ColumnElement[bool]:
        """Write the condition that Python can represent a value."""
        if self.ends is None:
            return true()
        first, last = (literal(at, self.kind) for at in self.ends)
        return column.between(first, last)

    def within(self, column: ColumnElement[Any], window: Window) -> ColumnElement[bool]:
        """Write the condition that a value is in a window."""
        if self.is_whole:
            return column.between(self.bound(window.start), self.bound(window.end) - 1)
        start, end = (literal(self.bound(at), self.kind) for at in (window.start, window.end))
        return and_(column >= start, column < end)


def aware_times() -> Times:
    """Return how to read a column of instants."""
    ends = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    return Times(DateTime(timezone=True), lambda at: at.astimezone(UTC), _since_1970, ends=ends)


def local_times(zone: str) -> Times:
    """Return how to read a column of wall-clock times in one zone."""
    existing = ZoneInfo(zone)
    return Times(
        DateTime(),
        lambda at: first_local(at, existing),
        lambda value: _since_1970(_utc(_whole(value), existing)),
        ends=(datetime.min, datetime.max),  # noqa: DTZ901  local times, as the column has
    )


def numbered_times(unit: str) -> Times:
    """Return how to read a column of numbers since 1970."""
    size = _UNITS[unit]

    def bound(at: datetime) -> int:
        return -(-_since_1970(at) // size)  # whole units from the bound on

    return Times(BigInteger(), bound, lambda value: int(value * size))


def read_times() -> Times:
    """Return how to read values converted by `instant_of`."""
    return Times(BigInteger(), _since_1970, int, is_whole=True)


def first_local(at: datetime, zone: ZoneInfo) -> datetime:
    """Return the first wall-clock time that is not before an instant.

    A wall-clock time that occurs twice is the later of the two, as in files; so all times of a
    repeated hour are after every instant of its first pass.

    >>> first_local(datetime(2026, 10, 25, 0, 30, tzinfo=UTC), ZoneInfo("Europe/Prague"))
    datetime.datetime(2026, 10, 25, 2, 0)
    """
    local = at.astimezone(zone).replace(tzinfo=None, fold=0)
    if _utc(local, zone) == at:
        return local
    low, high = local - timedelta(days=1), local
    while high - low > _MICROSECOND:
        middle = low + (high - low) // 2
        low, high = (low, middle) if _utc(middle, zone) >= at else (middle, high)
    return high


def _utc(local: datetime, zone: ZoneInfo) -> datetime:
    try:
        return local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    except OverflowError:  # on the first or the last day of the calendar
        return local.replace(tzinfo=UTC)


def _whole(value: date) -> datetime:
    """Convert a date to its midnight; return a datetime unchanged."""
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _since_1970(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def instant_of(value: object, zone: str | None, unit: str | None) -> int | None:
    """Parse a time of a column without a type; None if it cannot be read, or lacks a zone.

    Infinite times and times after the year 9999 cannot be read.

    >>> instant_of("1970-01-01T01:00:00+01:00", None, None), instant_of(2, None, "seconds")
    (0, 2000000)
    """
    if isinstance(value, int | float):
        result: float | None = None if unit is None else value * _UNITS[unit]
    elif isinstance(value, str):
        result = _of_text(value, zone)
    else:
        result = None
    return int(result) if result is not None and FIRST <= result <= LAST else None


def _of_text(value: str, zone: str | None) -> int | None:
    at = _usual(value)
    if at is None or at.tzinfo is None:
        at = _by_parts(value)
    if at is None or (at.tzinfo is None and zone is None):
        return None
    return _since_1970(_utc(at, ZoneInfo(zone or "UTC")) if at.tzinfo is None else at)


def _by_parts(value: str) -> datetime | None:
    text = value.strip().upper()
    if _TIME.fullmatch(text) is None:
        return None
    text = _ONE_DIGIT.sub(r"0\g<0>", text).replace("UTC", "Z")
    try:
        return datetime.fromisoformat(f"{text[:10]}T{text[11:].replace(' ', '') or '00:00'}")
    except ValueError:
        return None


def _usual(value: str) -> datetime | None:
    """Parse a time in the most common format, several times faster than `_by_parts`."""
    if value[10:11] not in {"T", " "} or value[16:17] != ":" or "," in value:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def is_naive(value: object) -> bool:
    """Whether a text is a time without a zone."""
    parts = _TIME.fullmatch(value.strip().upper()) if isinstance(value, str) else None
    return parts is not None and parts[1] is None
