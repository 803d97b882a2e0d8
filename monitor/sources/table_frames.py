"""Frames of what was counted in a table by statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.domain.errors import SourceRefused
from monitor.sources import frames
from monitor.sources.refusals import check_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.model import Frame, Stratum, Window
    from monitor.sources.shared_query import Scan
    from monitor.sources.sql_query import Query
    from monitor.sources.sql_reading import Reading

_MOST_UNKNOWN = 20  # values


@dataclass
class Framing:
    """Makes frames of one window in one reading; what few windows need is asked once for all."""

    reading: Reading
    window: Window
    _timed: int | None = None
    _unknown: dict[tuple[str | None, frozenset[str]], dict[str, int]] = field(default_factory=dict)

    def frame(
        self,
        query: Query,
        strata: Sequence[Stratum],
        at_most: int,
        groups: Sequence[frames.BucketCount],
    ) -> Frame:
        """Make the frame of some groups. Raises `SourceRefused` if nothing in them can be used."""
        columns = query.settings.columns
        check_groups(query.table.place, columns, groups, len(strata))
        return frames.assemble(
            self.window,
            strata,
            groups,
            timed_rows=self._timed_rows(query, groups),
            at_most=at_most,
            segment_columns=columns.segments,
            unknown=self._unknown_values(query, groups),
            challenger_fault=query.challenger_fault,
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
            return self.frame(scan.query, scan.strata, scan.at_most, groups)
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
