"""Predictions in Parquet, CSV or DuckDB files."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.files.folders import Stamps, stamps_of
from monitor.files.relations import DataFiles, OpenTable, opened
from monitor.sources.duckdb_source import EngineSource

if TYPE_CHECKING:
    from monitor.domain.model import Window
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

    def state(self) -> Stamps:
        """Return size and time of each file."""
        return stamps_of(self.files.found())
