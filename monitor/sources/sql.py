"""Predictions in a table of a database: counted and drawn where they are, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.sources.census_query import Row, joined_items, padded
from monitor.sources.sql_query import Query, Scan
from monitor.sources.sql_reading import Reading, SqlDatabase, slow
from monitor.sources.sql_table import TableInfo, find_table
from monitor.sources.table_source import TableSource, truth_settings
from monitor.sources.table_truths import TableTruths

if TYPE_CHECKING:
    from monitor.domain.census import JoinedItems
    from monitor.domain.model import Stratum, Window
    from monitor.domain.ports import TruthTable
    from monitor.domain.truth import TruthColumns, TruthRow
    from monitor.sources.table_settings import SqlSettings


class SqlSource(TableSource):
    """A `Source` over a table or view of a database.

    setting: What the config names the table by.
    column: By which rows are looked for, so that an index on it helps.
    """

    def __init__(
        self,
        settings: SqlSettings,
        base_folder: Path | str = ".",
        *,
        setting: str = "table",
        column: str = "time",
    ) -> None:
        super().__init__(settings, base_folder)
        self._sql = settings
        self.advice = slow(column)
        self.database = SqlDatabase(settings, Path(base_folder), setting, self.advice)
        self.place = str(self.database)
        self.whole_location = f"{self.place} {self.database.address}"

    def opened(self, window: Window | None = None) -> AbstractContextManager[Reading]:  # noqa: ARG002
        """Open a transaction that sees one state and writes nothing."""
        return self.database.reading()

    def found(self, reading: Reading) -> TableInfo:
        """Find the table or view by reflection."""
        return find_table(reading, self.place, self._sql.table)

    def joined(
        self,
        window: Window,
        strata: Sequence[Stratum],
        truths: TruthTable,
        missing: Collection[str],
    ) -> tuple[Sequence[str], Iterable[JoinedItems]] | None:
        """Join the items of a window with a truth in the same database.

        None where an id has blanks around it, which are looked up in two spellings.
        """
        if not isinstance(truths, TableTruths) or not isinstance(truths.source, SqlSource):
            return None
        if truths.source.database.address != self.database.address:
            return None

        def read(reading: Reading, query: Query) -> list[JoinedItems] | None:
            if not reading.dialect.bare or reading.connection.scalar(padded(query, window)):
                return None
            truth_query, truth = truths.in_reading(reading)
            scan, instant = Scan(self, query, strata, 0), truth_query.times.instant

            def rows_of(rows: Iterable[Row]) -> list[TruthRow]:
                return truths.rows_of(
                    (value, None if at is None else instant(at), style) for value, at, style in rows
                )

            return [*joined_items(reading, scan, window, truth, missing, rows_of)]

        items = self.read_window(read, window)
        return None if items is None else (self.settings.columns.segments, items)

    def truths(self, truth_columns: TruthColumns) -> TableTruths:
        """Return the truth that some columns of a table in this database have."""
        changes = truth_settings(self._sql, truth_columns, table=truth_columns.table)
        source = SqlSource(
            self._sql.model_copy(update=changes),
            self.base_folder,
            setting="table" if truth_columns.table is None else "labeling.table",
            column="id",
        )
        return TableTruths(source, truth_columns, assumed_zone=self._sql.time_zone is None)
