"""Periods of reports: a year, a quarter, a month, a day, or a range of days."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from monitor.domain.errors import InputRefused

_FORM = re.compile(r"([1-9]\d{3})(?:-Q([1-4])|-(\d\d)(?:-(\d\d))?)?", re.IGNORECASE | re.ASCII)


class Days(NamedTuple):
    """The first day of a period, and the day after its last."""

    first: date
    after: date

    def __str__(self) -> str:
        return f"{self.first} to {self.after - timedelta(days=1)}"

    def instants(self, time_zone: str) -> tuple[datetime, datetime]:
        """Return the start of the first day and the end of the last in a time zone, as UTC."""
        start, end = (datetime.combine(day, time.min, ZoneInfo(time_zone)) for day in self)
        return start.astimezone(UTC), end.astimezone(UTC)


def parse_period(text: str) -> Days:
    """Parse a period; ``A..B`` goes from the first day of A to the last day of B.

    Raises `InputRefused` if the text is not a period.

    >>> print(parse_period("2026-Q3"))
    2026-07-01 to 2026-09-30
    >>> print(parse_period("2026-02..2026-03-15"))
    2026-02-01 to 2026-03-15
    """
    begin, dots, end = (part.strip() for part in text.partition(".."))
    first, after = _days(begin, text).first, _days(end if dots else begin, text).after
    if first >= after:
        message = f"the period {text!r} ends before it begins; write FROM..TO, the earlier first"
        raise InputRefused(message)
    return Days(first, after)


def _days(part: str, text: str) -> Days:
    match = _FORM.fullmatch(part)
    try:
        if match is not None:
            return _matched(*(None if of is None else int(of) for of in match.groups()))
    except (ValueError, OverflowError):  # a day or a month that does not exist
        pass
    message = f"{text!r} is not a period; write 2026, 2026-Q3, 2026-09, 2026-09-30 or FROM..TO"
    raise InputRefused(message)


def _matched(year: int | None, quarter: int | None, month: int | None, day: int | None) -> Days:
    year = year or 0
    if day is not None:
        first = date(year, month or 0, day)
        return Days(first, first + timedelta(days=1))
    if month is not None:
        return Days(date(year, month, 1), _month_after(year, month))
    if quarter is not None:
        return Days(date(year, 3 * quarter - 2, 1), _month_after(year, 3 * quarter))
    return Days(date(year, 1, 1), date(year + 1, 1, 1))


def _month_after(year: int, month: int) -> date:
    return (date(year, month, 1) + timedelta(days=31)).replace(day=1)
