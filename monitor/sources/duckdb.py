"""Predictions in Parquet, CSV or DuckDB files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from monitor.files.relations import DataFiles, check_table, kind_of, opened
from monitor.files.stamps import stamps_of
from monitor.sources.challenged_settings import ChallengedSettings
from monitor.sources.table_source import TableSource

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from monitor.domain.model import Window
    from monitor.files.relations import OpenTable
    from monitor.files.stamps import Stamps


class DuckdbSettings(ChallengedSettings):
    """Where predictions are and how to read them.

    The predicted class comes from ``columns.predicted`` (flagged where it is ``positive``) or
    from ``columns.score`` (flagged where it is at least ``threshold``), never from both. A
    predicted value that is neither ``positive`` nor ``negative`` is a bad row; if more than
    ``bad_rows_max`` are, the predictions are refused.

    A score that is the threshold rounded to 32 bits is at the threshold: a model that writes
    32-bit scores compares them so.

    Files may have their columns in different orders and of different types; where they mix
    numbers, texts, truths, or times with and without a zone, each file's values are read as that
    file has them. A folder ``name=value`` is a column, text or a day, of files that have no such
    column themselves.

    ``challenger`` names columns of another classifier's decisions on the same predictions, to be
    compared in each round.

    ``timeout`` is how long one reading may take; then the round waits, and other monitors go on.
    ``grace`` is how long a round waits, from its first look, for predictions that are missing or
    cannot be used as they are; after that it is abandoned, with a notice. It never waits beyond
    the next slot. Without it: a quarter of the window, at least 6 hours.
    """

    kind: Literal["duckdb"] = "duckdb"
    path: str | tuple[str, ...]
    table: str | None = None

    @model_validator(mode="after")
    def _files_are_readable_kinds(self) -> DuckdbSettings:
        check_table(kind_of(self.paths), self.table)
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, also where one was given."""
        return (self.path,) if isinstance(self.path, str) else self.path


class DuckdbSource(TableSource):
    """A `Source` over files.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where relative paths start: the folder of the config file.
    """

    def __init__(self, settings: DuckdbSettings, base_folder: Path | str = ".") -> None:
        super().__init__(settings, base_folder)
        self.files = DataFiles(settings.paths, Path(base_folder), settings.table)

    @property
    def place(self) -> str:
        """Files and table, as the config says them."""
        return str(self.files)

    @property
    def whole_place(self) -> str:
        """Files, from the root of the disk."""
        return ", ".join(str(self.files.folder / path) for path in self.files.paths)

    def opened(self, window: Window | None = None) -> AbstractContextManager[OpenTable]:  # noqa: ARG002
        """Open the files; a query says itself which parts of them it reads."""
        return opened(self.files)

    def state(self) -> Stamps:
        """Return size and time of each file."""
        return stamps_of(self.files.found())
