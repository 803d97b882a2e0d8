"""A source over a table or files that Spark reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.domain.errors import MonitorError, SourceRefused, SourceUnavailable
from monitor.domain.masking import masked, secrets_of
from monitor.plugins.spark.dialect import SPARK
from monitor.plugins.spark.query import SparkQuery
from monitor.plugins.spark.reading import fields, found, opened
from monitor.plugins.spark.session import session_for
from monitor.sources.sql_reading import Reading
from monitor.sources.table_source import TableSource, engine_errors, truth_settings
from monitor.sources.table_truths import TableTruths

if TYPE_CHECKING:
    from monitor.domain.model import Window
    from monitor.domain.truth import TruthColumns
    from monitor.plugins.spark.settings import SparkSettings
    from monitor.sources.sql_table import TableInfo
    from monitor.sources.sql_times import Times

EVERY = timedelta(minutes=15)
"""How often it is read at most, for all monitors at once; new rounds and maturity come besides."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_ALLOWED = re.compile(
    r"permission denied|access ?denied|AccessControl|INSUFFICIENT_PERMISSIONS|not authorized"
    r"|unauthorized|PERMISSION_DENIED",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(
    r"TABLE_OR_VIEW_NOT_FOUND|PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA|SCHEMA_NOT_FOUND"
)
_NO_JAVA = re.compile(r"JAVA_GATEWAY_EXITED|JAVA_HOME|No such file or directory: 'java'")
_REFUSED = re.compile(r"^(Analysis|Parse)Exception|DATA_SOURCE_NOT_FOUND")
_CHANGED = re.compile(r"FILE_NOT_EXIST|FileNotFoundException|does not exist", re.IGNORECASE)
_ENDED = re.compile(
    r"Py4JNetwork|Connection refused|ConnectionRefused|stopped SparkContext|Answer from Java side"
    r"|SparkContext was shut down",
    re.IGNORECASE,
)
_LONGEST = 300  # characters of Spark's message


class SparkSource(TableSource):
    """A `Source` over a table or files that Spark reads.

    setting: What the config names the rows by, where that is not a setting of the source.
    """

    advice = (
        "has the cluster room for one more application, and are its workers there? It is tried "
        "again; if a scan needs longer, raise source.timeout"
    )

    most_ids = 20_000  # since each statement is a scan

    def __init__(
        self,
        settings: SparkSettings,
        base_folder: Path | str = ".",
        *,
        setting: str | None = None,
    ) -> None:
        super().__init__(settings, base_folder)
        self._spark = settings
        self._folder = Path(base_folder)
        self._setting = setting
        named = "" if setting is None else f" ({setting})"
        self.place = f"Spark's {settings.table or ', '.join(settings.paths)}{named}"
        self.whole_location = self.place

    @contextmanager
    def opened(self, window: Window | None = None) -> Iterator[Reading]:  # noqa: ARG002
        """Give the rows a name in the session."""
        with engine_errors(self.place, "spark", self._ours):
            session = session_for(self._spark)
            with opened(session, self._spark, self._folder) as statements:
                yield Reading(statements, SPARK)

    def _ours(self, error: Exception) -> MonitorError:
        typed_line, location = f"{type(error).__name__} {error}", self.place
        answer = _error_text(error, self._spark)
        if _NO_JAVA.search(typed_line):
            message = f"{location}: Spark needs Java 17 or newer, and did not start: {answer}"
            return SourceRefused(message, is_public=True)
        if _NOT_ALLOWED.search(typed_line):
            message = f"{location}: this user may not read it: {answer}; it is tried again"
            return SourceRefused(message)
        if _NOT_THERE.search(typed_line):
            setting = self._setting or f"source.{'path' if self._spark.table is None else 'table'}"
            message = f"{location} is not there ({answer}); correct {setting}, or write to it"
            return SourceRefused(message, is_public=True)
        if _REFUSED.search(typed_line):
            return SourceRefused(f"{location} cannot be read: {answer}")
        why = "Spark's driver has ended" if _ENDED.search(typed_line) else "cannot be read now"
        if _CHANGED.search(typed_line):
            why = "files of it went while they were read"
        return SourceUnavailable(f"{location}: {why}: {answer}; it is tried again")

    def found(self, reading: Reading) -> TableInfo:
        """Describe the rows."""
        return found(self.place, reading.connection)

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return self.read_window(
            lambda reading, _: {
                field.name: field.dataType.simpleString() for field in fields(reading.connection)
            }
        )

    def truth_reading(
        self,
        reading: Reading,  # noqa: ARG002  a process has one session
        truths: TableTruths,
    ) -> AbstractContextManager[Reading] | None:
        """Give the rows of a truth a name in the same session."""
        return truths.source.opened() if isinstance(truths, _SparkTruths) else None

    def truths(self, truth_columns: TruthColumns) -> _SparkTruths:
        """Return the truth that some columns have, read in the same session."""
        setting = "path" if self._spark.table is None else "table"
        changes = truth_settings(self._spark, truth_columns, **{setting: truth_columns.table})
        settings = self._spark.model_copy(update=changes)
        named = None if truth_columns.table is None else "labeling.table"
        return _SparkTruths(SparkSource(settings, self._folder, setting=named), truth_columns)

    def query_of(
        self, table: TableInfo, times: Times, shown: Sequence[tuple[str, bool]]
    ) -> SparkQuery:
        """Make what builds the statements."""
        return SparkQuery(table, self.settings, times, shown)


class _SparkTruths(TableTruths):
    """The truth in some columns."""

    def state(self, now: datetime) -> str:
        """Return which span of time it is: rows may have changed when the next one begins."""
        return str((now - _EPOCH) // EVERY)


def _error_text(error: Exception, settings: SparkSettings) -> str:
    """Give the telling line of an error, without the secrets of the config."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Of errors that come through Java the first line names the call, the second what went wrong.
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = [lines[1].removeprefix(": ")]
    line = (lines or [type(error).__name__])[0]
    options = (option.partition("=")[2] for option in (settings.remote or "").split(";")[1:])
    line = masked(line, {*secrets_of(settings.config), *options})
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
