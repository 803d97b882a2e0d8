"""Predictions in a table of a database: counted and drawn where they are, in one transaction."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.sources.sql_reading import Reading, SqlDatabase, slow
from monitor.sources.sql_table import TableInfo, find_table
from monitor.sources.table_source import TableSource, truth_settings
from monitor.sources.table_truths import TableTruths

if TYPE_CHECKING:
    from monitor.domain.model import Window
    from monitor.domain.truth import TruthColumns
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

    def truth_reading(
        self, reading: Reading, truths: TableTruths
    ) -> AbstractContextManager[Reading] | None:
        """Read a truth in the same database by the same transaction."""
        source = truths.source
        is_here = isinstance(source, SqlSource) and source.database.address == self.database.address
        return nullcontext(reading) if is_here else None

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
