"""Parsing of HTTP's header ``Retry-After``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST = timedelta(days=1)
"""Upper limit of a pause; it also keeps sums with a date from overflowing."""

_MOST_DIGITS = 9


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Return the requested pause from seconds or an HTTP date (RFC 9110, 10.2.3), or None.

    >>> retry_after({"retry-after": "120"}, datetime(2031, 1, 1, tzinfo=UTC))
    datetime.timedelta(seconds=120)
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
        wait = timedelta(seconds=int(text))
    else:
        at = _http_date(text)
        if at is None:
            return None
        wait = max(at - now, timedelta(0))
    return min(wait, LONGEST)


def _http_date(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
