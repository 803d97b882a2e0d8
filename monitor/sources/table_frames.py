"""Frames of what was counted in a table by statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from monitor.domain.errors import SourceRefused
from monitor.sources import frames

if TYPE_CHECKING:
    from monitor.domain.model import Frame, Window
    from monitor.sources.sql_query import Query, Scan
    from monitor.sources.sql_reading import Reading
    from monitor.sources.table_settings import Columns

_MOST_UNKNOWN = 20  # values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class FrameBuilder:
    """Makes frames of one window in one reading; what few windows need is asked once for all."""

    reading: Reading
    window: Window
    _timed: int | None = None
    _unknown: dict[tuple[str | None, frozenset[str]], dict[str, int]] = field(default_factory=dict)

    def frame(self, scan: Scan, groups: Sequence[frames.BucketCount]) -> Frame:
        """Make the frame of some groups. Raises `SourceRefused` if nothing in them can be used."""
        query = scan.query
        columns = query.settings.columns
        _check_groups(query.table.place, columns, groups, len(scan.strata))
        return frames.assemble(
            self.window,
            scan.strata,
            groups,
            timed_rows=self._timed_rows(query, groups),
            at_most=scan.at_most,
            segment_columns=columns.segments,
            unknown=self._unknown_values(query, groups),
            challenger_fault=query.challenger_fault,
            judge_fault=query.judge_fault,
        )

    def frame_or_none(
        self, scan: Scan, groups: Sequence[frames.BucketCount] | None
    ) -> Frame | None:
        """Make the frame of a scan that was shared; None if its own scan has to explain.

        Counts that are shared come without examples of what cannot be read.
        """
        if groups is None:
            return None
        has_unread = frames.rows_in(groups, frames.SCORE_UNREADABLE) > 0
        if has_unread and not frames.rows_in(groups, *range(len(scan.strata))):
            return None
        try:
            return self.frame(scan, groups)
        except SourceRefused:
            return None

    def _timed_rows(self, query: Query, groups: Sequence[frames.BucketCount]) -> int:
        """Count all rows with a time, on which nothing depends unless some have none."""
        if not frames.rows_in(groups, *frames.UNTIMED):
            return sum(group.rows for group in groups)
        if self._timed is None:
            self._timed = int(self.reading.connection.scalar(query.timed()) or 0)
        return self._timed

    def _unknown_values(self, query: Query, groups: Sequence[frames.BucketCount]) -> dict[str, int]:
        """Read the values that the config does not name."""
        if not frames.rows_in(groups, frames.PREDICTED_UNKNOWN):
            return {}
        requested = (query.settings.columns.predicted, frozenset(query.named))
        if requested not in self._unknown:
            rows = self.reading.connection.execute(query.unknown(self.window, _MOST_UNKNOWN))
            self._unknown[requested] = {text: int(count) for text, count in rows}
        return self._unknown[requested]


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


def _check_groups(
    location: object, columns: Columns, groups: Sequence[frames.BucketCount], strata: int
) -> None:
    """Refuse the data as a whole where nothing in it can be used."""
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
