"""Predictions in Parquet, CSV or DuckDB files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.files.folders import Stamps, stamps_of
from monitor.files.relations import DataFiles, OpenTable, opened
from monitor.files.truths import FileTruths
from monitor.sources.census_query import joined_items
from monitor.sources.duckdb_query import truth_relation
from monitor.sources.duckdb_source import EngineSource
from monitor.sources.sql_query import Query, Scan

if TYPE_CHECKING:
    from monitor.domain.census import JoinedItems
    from monitor.domain.model import Stratum, Window
    from monitor.domain.ports import TruthTable
    from monitor.sources.sql_reading import Reading
    from monitor.sources.table_settings import DuckdbSettings


class DuckdbSource(EngineSource):
    """A `Source` over files."""

    def __init__(self, settings: DuckdbSettings, base_folder: Path | str = ".") -> None:
        super().__init__(settings, base_folder)
        self.files = DataFiles(settings.paths, Path(base_folder), settings.table)
        self.place = str(self.files)
        self.whole_location = ", ".join(str(self.files.folder / path) for path in self.files.paths)

    def open_table(self, window: Window | None = None) -> AbstractContextManager[OpenTable]:  # noqa: ARG002
        """Open the files; a query says itself which parts of them it reads."""
        return opened(self.files)

    def joined(
        self,
        window: Window,
        strata: Sequence[Stratum],
        truths: TruthTable,
        missing: Collection[str],
    ) -> tuple[Sequence[str], Iterable[JoinedItems]] | None:
        """Join the items of a window with the truth in other files, of Parquet or CSV."""
        if not isinstance(truths, FileTruths) or truths.files.kind == "duckdb":
            return None

        def read(reading: Reading, query: Query) -> list[JoinedItems]:
            with opened(truths.files, reading.connection.table) as table:
                truth = truth_relation(truths.values_of_items(table))
                scan = Scan(self, query, strata, 0)
                return [*joined_items(reading, scan, window, truth, missing, truths.rows_of)]

        return self.settings.columns.segments, self.read_window(read, window)

    def state(self) -> Stamps:
        """Return size and time of each file."""
        return stamps_of(self.files.found())
