"""Predictions in Parquet, CSV or DuckDB files, and the truth in others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.domain.errors import InputRefused, LabelsRefused, SourceRefused
from monitor.files.folders import Stamps, stamps_of
from monitor.files.relations import DataFiles, OpenTable, opened
from monitor.sources.duckdb_query import DUCKDB, Statements
from monitor.sources.duckdb_source import EngineSource
from monitor.sources.sql_reading import Reading
from monitor.sources.table_settings import Columns, DuckdbSettings
from monitor.sources.table_truths import TableTruths

if TYPE_CHECKING:
    from monitor.domain.model import Window
    from monitor.domain.truth import TruthColumns


class DuckdbSource(EngineSource):
    """A `Source` over files.

    refused: The error to raise when the files cannot be used.
    """

    def __init__(
        self,
        settings: DuckdbSettings,
        base_folder: Path | str = ".",
        *,
        refused: type[InputRefused] = SourceRefused,
    ) -> None:
        super().__init__(settings, base_folder)
        self.files = DataFiles(settings.paths, Path(base_folder), settings.table, refused=refused)
        self.place = str(self.files)
        self.whole_location = ", ".join(str(self.files.folder / path) for path in self.files.paths)

    def open_table(self, window: Window | None = None) -> AbstractContextManager[OpenTable]:  # noqa: ARG002
        """Open the files; a query says itself which parts of them it reads."""
        return opened(self.files)

    def can_be_joined(self, other: EngineSource) -> bool:
        """Whether queries of another table can name this one; one DuckDB file is open at once."""
        if self.files.kind != "duckdb":
            return True
        return isinstance(other, DuckdbSource) and other.files.found() == self.files.found()

    @contextmanager
    def opened_for(self, other: OpenTable, columns: Collection[str]) -> Iterator[Reading]:  # noqa: ARG002
        """Open the files by the connection of another table."""
        with opened(self.files, other) as table:
            yield Reading(Statements(table), DUCKDB)

    def state(self) -> Stamps:
        """Return size and time of each file."""
        return stamps_of(self.files.found())


class FileTruths(TableTruths):
    """The truth in Parquet, CSV or DuckDB files."""

    def __init__(self, source: DuckdbSource, truth_columns: TruthColumns) -> None:
        super().__init__(source, truth_columns, assumed_zone=True)
        self.place = self.whole_location = f"{source.files.folder}: {source.files}"

    def state(self, now: datetime) -> str:  # noqa: ARG002  files change whenever they do
        """Return what differs between states of the files, found without reading them."""
        return json.dumps(self.source.state())


class TruthFiles:
    """Files that a labeler reads the truth from."""

    def __init__(self, paths: Sequence[str], base_folder: Path | str = ".") -> None:
        self._paths = tuple(paths)
        self._base_folder = base_folder

    def truths(self, truth_columns: TruthColumns) -> FileTruths:
        """Return the truth that some columns have; a time without a zone is in UTC."""
        item_id = truth_columns.id
        columns = Columns(id=item_id, time=truth_columns.time or item_id, score="score")
        settings = DuckdbSettings(
            path=self._paths,
            table=truth_columns.table,
            columns=columns,
            threshold=0.5,
            time_zone="UTC",
        )
        source = DuckdbSource(settings, self._base_folder, refused=LabelsRefused)
        return FileTruths(source, truth_columns)
