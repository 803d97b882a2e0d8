"""A source over any table that DuckDB's engine reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, cast

from monitor.domain.time_limit import OF_FILES, T, within
from monitor.files.truths import TableTruths
from monitor.sources.census_query import joined_items
from monitor.sources.duckdb_query import (
    DUCKDB,
    DuckdbQuery,
    DuckdbTable,
    Statements,
    table_info,
    truth_relation,
)
from monitor.sources.sql_query import Query, Scan
from monitor.sources.sql_reading import Reading
from monitor.sources.table_source import CachedScan, TableSource

if TYPE_CHECKING:
    from monitor.domain.census import JoinedItems
    from monitor.domain.model import Frame, Stratum, Window
    from monitor.domain.ports import TruthTable
    from monitor.files.relations import OpenTable
    from monitor.sources.sql_table import TableInfo
    from monitor.sources.sql_times import Times


class EngineSource(TableSource):
    """What such sources have in common; one derives, and says where its rows are."""

    advice = OF_FILES

    most_ids = 20_000  # since each statement is a scan

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

    def joined(
        self,
        window: Window,
        strata: Sequence[Stratum],
        truths: TruthTable,
        missing: Collection[str],
    ) -> tuple[Sequence[str], Iterable[JoinedItems]] | None:
        """Join the items of a window with a truth that the same engine reads."""
        if not isinstance(truths, TableTruths) or not truths.can_be_joined:
            return None

        def read(reading: Reading, query: Query) -> list[JoinedItems]:
            with truths.opened(shared=reading.connection.table) as table:
                truth = truth_relation(truths.relation(table))
                scan = Scan(self, query, strata, 0)
                return [*joined_items(reading, scan, window, truth, missing, truths.rows_of)]

        return self.settings.columns.segments, self.read_window(read, window)
