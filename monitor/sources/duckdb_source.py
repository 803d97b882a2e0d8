"""A source over any table that DuckDB's engine reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, cast

from monitor.domain.time_limit import OF_FILES, T, within
from monitor.sources.duckdb_query import (
    DUCKDB,
    DuckdbQuery,
    DuckdbTable,
    Statements,
    table_info,
)
from monitor.sources.sql_reading import Reading
from monitor.sources.table_source import CachedScan, TableSource

if TYPE_CHECKING:
    from monitor.domain.model import Frame, Stratum, Window
    from monitor.files.relations import OpenTable
    from monitor.sources.sql_query import Query
    from monitor.sources.sql_table import TableInfo
    from monitor.sources.sql_times import Times
    from monitor.sources.table_truths import TableTruths


class EngineSource(TableSource):
    """What such sources have in common; one derives, and says where its rows are."""

    advice = OF_FILES

    most_ids = 1_000_000  # since each statement is a scan

    _scanned: tuple[Window, str, object] | None = None

    def open_table(self, window: Window | None = None) -> AbstractContextManager[OpenTable]:
        """Open the table; rows outside the window may be left out, but none without a time."""
        raise NotImplementedError

    @contextmanager
    def opened(self, window: Window | None = None) -> Iterator[Reading]:
        """Begin to read; rows outside a window may be left out, but none without a time."""
        with self.open_table(window) as table:
            yield Reading(Statements(table), DUCKDB)

    def within(self, read: Callable[[], T]) -> T:
        """Read, and wait for it no longer than the config allows."""
        return within(self.settings.timeout, self.whole_location, read, self.advice)

    def found(self, reading: Reading) -> DuckdbTable:
        """Describe the table."""
        return table_info(reading.connection.table, self.state)

    def query_of(self, table: TableInfo, times: Times, shown: Sequence[tuple[str, bool]]) -> Query:
        """Make what builds the statements."""
        return DuckdbQuery(cast("DuckdbTable", table), self.settings, times, shown)

    def still_stands(self, window: Window, seed: str) -> bool:
        """Whether nothing changed since a window was drawn; note what is drawn now."""
        scanned, self._scanned = self._scanned, (window, seed, self.state())
        return scanned == self._scanned

    def cache(self, scan: CachedScan) -> None:
        """Let the next scan return a frame, whose candidates need not be drawn again either."""
        super().cache(scan)
        window, _, _, seed = scan.requested
        self._scanned = (window, seed, scan.state)

    def rescan(self, before: Frame, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Scan the window of a frame by other strata; its candidates are not drawn again.

        They are where files changed since: candidates and sizes must be of the same rows.
        """
        return self.scan_table(before.window, strata, at_most, seed, before)

    def can_be_joined(self, other: EngineSource) -> bool:  # noqa: ARG002  some tables can by some
        """Whether queries of another table can name this one."""
        return True

    def truth_reading(
        self, reading: Reading, truths: TableTruths
    ) -> AbstractContextManager[Reading] | None:
        """Open a truth that the same engine reads by the connection of a reading."""
        source = truths.source
        if not isinstance(source, EngineSource) or not source.can_be_joined(self):
            return None
        return source.opened_for(reading.connection.table, truths.columns_read)

    @contextmanager
    def opened_for(self, other: OpenTable, columns: Collection[str]) -> Iterator[Reading]:
        """Open some columns so that queries of another table can name them."""
        raise NotImplementedError
