"""Where predictions are in files, as the config says it."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from monitor.files.relations import check_table, kind_of
from monitor.sources.table_settings import TableSettings


class DuckdbSettings(TableSettings):
    """Where predictions are and how to read them.

    A score that is the threshold rounded to 32 bits is at the threshold: a model that writes
    32-bit scores compares them so.

    Files may have their columns in different orders and of different types; where they mix
    numbers, texts, truths, or times with and without a zone, each file's values are read as that
    file has them. A folder ``name=value`` is a column, text or a day, of files that have no such
    column themselves.
    """

    kind: Literal["duckdb"] = "duckdb"
    path: str | tuple[str, ...]
    table: str | None = None

    @model_validator(mode="after")
    def _files_are_readable_kinds(self) -> DuckdbSettings:
        check_table(kind_of(self.paths), self.table)
        return self

    @property
    def has_truths(self) -> bool:
        """Whether labels by column can be read where the predictions are: files have a path."""
        return False

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, also where one was given."""
        return (self.path,) if isinstance(self.path, str) else self.path
