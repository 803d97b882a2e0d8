"""Why rows with columns cannot be used as a whole, in words that every source has in common."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from monitor.domain.errors import SourceRefused
from monitor.sources import frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.sources.table_settings import Columns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def naive_time(location: object, columns: Columns, example: str) -> SourceRefused:
    """State that times lack a zone and the config names none."""
    message = (
        f"{location}: column {columns.time!r} (columns.time) holds times without a time zone, the "
        f"first is {example!r}; set source.time_zone (such as UTC or Europe/Prague), or write "
        "times with an offset"
    )
    return SourceRefused(message)


def parsed_instant(location: object, columns: Columns, microseconds: int) -> datetime:
    """Make a time of microseconds since 1970.

    Raises `SourceRefused` if no calendar has it, as where seconds are in a column of milliseconds.
    """
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        message = (
            f"{location}: column {columns.time!r} (columns.time) holds a time that is not of the "
            f"years 1 to 9999 ({microseconds:,} microseconds since 1970); correct that row, or "
            "source.time_unit where it has one"
        )
        raise SourceRefused(message) from None


def check_groups(
    location: object, columns: Columns, groups: Sequence[frames.BucketCount], strata: int
) -> None:
    """Refuse the data as a whole where nothing in it can be used.

    Raises `SourceRefused`, with the first value that is no time or no number.
    """
    naive = frames.first_example(groups, frames.NAIVE_TIME)
    if naive is not None:
        raise naive_time(location, columns, naive)
    wrong = frames.first_example(groups, frames.TIME_UNPARSABLE)
    if wrong is not None and all(g.bucket in frames.UNTIMED for g in groups):
        message = (
            f"{location}: no value of column {columns.time!r} (columns.time) is a time, the "
            f"first is {wrong!r}; wanted ISO 8601, such as 2026-03-02T06:00:00Z"
        )
        raise SourceRefused(message)
    wrong = frames.first_example(groups, frames.SCORE_UNREADABLE)
    if wrong is not None and not frames.rows_in(groups, *range(strata)):
        message = (
            f"{location}: no value of column {columns.score!r} (columns.score) is a number, "
            f"the first is {wrong!r}; wanted numbers with a decimal point, such as 0.73"
        )
        raise SourceRefused(message)
