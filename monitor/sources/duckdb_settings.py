"""Where predictions are in files, as the config says it."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from monitor.files.relations import check_table, kind_of
from monitor.sources.table_settings import TableSettings


class DuckdbSettings(TableSettings):
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
