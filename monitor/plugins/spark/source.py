"""A source over a table or files that Spark reads: rows under their own name, and statements."""

from __future__ import annotations

import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import column
from sqlalchemy import table as table_of

from monitor.domain.errors import MonitorError, SourceRefused, SourceUnavailable
from monitor.domain.masking import masked, secrets_of
from monitor.domain.model import Window
from monitor.domain.time_limit import stopped_by
from monitor.plugins.spark.dialect import SPARK, SPARK_TEXT, SparkQuery, SparkTable, type_of
from monitor.plugins.spark.session import is_remote, session_for
from monitor.plugins.spark.settings import SparkSettings
from monitor.sources.dialects import Reading
from monitor.sources.sql_table import TableInfo
from monitor.sources.sql_times import Times
from monitor.sources.table_source import TableSource, engine_errors
from monitor.sources.table_truths import TableTruths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from sqlalchemy.sql import Executable


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
_FOLDER = re.compile(r"/([^/=]+)=[^/]*(?=/)")
_TIME = re.compile(r"[<,]([^:<>,]+): (TIMESTAMP(?:_NTZ)?)\b")
_CACHE_SIZE = 64
_sound: OrderedDict[tuple[str, ...], None] = OrderedDict()
"""Lists of files that agree; to look at the types of many is a job of its own."""


class SparkStatements:
    """Executes statements over some rows, which have a name in the session while it does."""

    def __init__(self, session: SparkSession, rows: DataFrame) -> None:
        self._session = session
        self.rows = rows
        self.name = f"pr_monitor_{uuid.uuid4().hex}"

    def execute(
        self,
        statement: Executable,
        *,
        execution_options: Mapping[str, Any] | None = None,  # noqa: ARG002  as SQLAlchemy's
    ) -> list[Any]:
        """Return all rows of a statement: counts, or no more than were wanted of each stratum."""
        text, values = SPARK_TEXT.compiled(statement)
        return self._session.sql(text, args=values or None).collect()

    def scalar(self, statement: Executable) -> Any:
        """Return the first value of a statement."""
        return next((row[0] for row in self.execute(statement)), None)


@contextmanager
def _opened(
    session: SparkSession, settings: SparkSettings, folder: Path
) -> Iterator[SparkStatements]:
    """Give the rows a name for as long as the block lasts; it can be ended from outside."""
    tag = f"pr-monitor-{uuid.uuid4().hex}"
    add, remove, stop = _tagging(session)
    add(tag)
    try:
        with stopped_by(lambda: stop(tag)):
            statements = SparkStatements(session, _rows(session, settings, folder))
            statements.rows.createTempView(statements.name)
            try:
                yield statements
            finally:
                with suppress(Exception):  # the driver may have ended, and the view with it
                    session.catalog.dropTempView(statements.name)
    finally:
        with suppress(Exception):  # as above
            remove(tag)


def _rows(session: SparkSession, settings: SparkSettings, folder: Path) -> DataFrame:
    if settings.table is not None:
        # A session keeps the list of a table's files; others may have written since.
        session.catalog.refreshTable(settings.table)
        return session.table(settings.table)
    paths = [_located(path, folder) for path in settings.paths]
    reader = session.read.format(settings.format)
    # Delta takes one path only.
    rows = reader.load(paths[0]) if len(paths) == 1 else reader.load(paths)
    _check_files(session, settings.format, paths, rows)
    return rows


def _located(path: str, folder: Path) -> str:
    """Name a relative path by the folder of the config, on the disk of this machine."""
    if "://" in path or path.startswith(("/", "file:")):
        return path
    return f"file://{folder.resolve() / path}"


Tagging = tuple[Callable[[str], Any], Callable[[str], Any], Callable[[str], Any]]


def _tagging(session: SparkSession) -> Tagging:
    """Name what tags the work of this thread, ends that, and ends the work from any thread.

    A session's own tags are found from other threads with Connect alone.
    """
    if is_remote(session):
        return session.addTag, session.removeTag, session.interruptTag
    context = session.sparkContext
    return context.addJobTag, context.removeJobTag, context.cancelJobsWithTag


def _check_files(session: SparkSession, kind: str, paths: Sequence[str], rows: DataFrame) -> None:
    """Refuse a column that is also a folder's, and times with a zone beside times without one.

    Spark would put the folder's value in place of the file's, and would read the times of all
    files as the types of the first one.
    """
    items = tuple(sorted(rows.inputFiles()))
    if kind == "delta" or items in _sound:
        return
    _check_folders(session.read.format(kind), paths, items)
    if kind == "parquet" and len(items) > 1:
        _check_times(session.read.option("mergeSchema", "true"), paths)
    _sound[items] = None
    while len(_sound) > _CACHE_SIZE:
        _sound.popitem(last=False)


def _check_folders(reader: Any, paths: Sequence[str], files: Sequence[str]) -> None:
    folders = {name for path in files for name in _FOLDER.findall(path)}
    if not folders:
        return
    inside = reader.option("recursiveFileLookup", "true").load(list(paths)).columns
    columns = {name.lower() for name in inside}
    if both := sorted(name for name in folders if name.lower() in columns):
        message = (
            f"Spark's {', '.join(paths)}: {both[0]!r} is a column of the files and the name of "
            f"the folders that they are in ({both[0]}=...), whose value Spark reads in its place; "
            "rename one of the two, or make a table of the files"
        )
        raise SourceRefused(message)


def _check_times(reader: Any, paths: Sequence[str]) -> None:
    try:
        reader.parquet(*paths)
    except Exception as error:  # noqa: BLE001  Spark's or py4j's, by how Spark is reached
        # Numbers of several widths cannot be merged either, and are read as they should be.
        kinds: dict[str, set[str]] = {}
        for name, kind in _TIME.findall(str(error)):
            kinds.setdefault(name.strip(), set()).add(kind)
        if not (both := [name for name, kinds_of in kinds.items() if len(kinds_of) > 1]):
            return
        message = (
            f"Spark's {', '.join(paths)}: some files have times with a zone in column {both[0]!r} "
            "where others have times without one, and Spark reads all as those of the first file; "
            "write all of them with a zone"
        )
        raise SourceRefused(message) from None


class SparkSource(TableSource):
    """A `Source` over a table or files that Spark reads."""

    settings: SparkSettings

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
        super().__init__(settings, base_folder, setting=setting)
        named = "" if setting is None else f" ({setting})"
        self.place = f"Spark's {settings.table or ', '.join(settings.paths)}{named}"
        self.whole_location = self.place

    @contextmanager
    def opened(self, window: Window | None = None) -> Iterator[Reading]:  # noqa: ARG002
        """Give the rows a name in the session."""
        with engine_errors(self.place, "spark", self._ours):
            session = session_for(self.settings)
            with _opened(session, self.settings, Path(self.base_folder)) as statements:
                yield Reading(statements, SPARK)

    def _ours(self, error: Exception) -> MonitorError:
        typed_line, location = f"{type(error).__name__} {error}", self.place
        answer = _error_text(error, self.settings)
        if _NO_JAVA.search(typed_line):
            message = f"{location}: Spark needs Java 17 or newer, and did not start: {answer}"
            return SourceRefused(message, is_public=True)
        if _NOT_ALLOWED.search(typed_line):
            message = f"{location}: this user may not read it: {answer}; it is tried again"
            return SourceRefused(message)
        if _NOT_THERE.search(typed_line):
            setting = self.setting or f"source.{self.settings.table_setting}"
            message = f"{location} is not there ({answer}); correct {setting}, or write to it"
            return SourceRefused(message, is_public=True)
        if _REFUSED.search(typed_line):
            return SourceRefused(f"{location} cannot be read: {answer}")
        why = "Spark's driver has ended" if _ENDED.search(typed_line) else "cannot be read now"
        if _CHANGED.search(typed_line):
            why = "files of it went while they were read"
        return SourceUnavailable(f"{location}: {why}: {answer}; it is tried again")

    def describe_table(self, reading: Reading) -> TableInfo:
        """Describe the rows by the types that Spark gives their columns."""
        fields = reading.connection.rows.schema.fields
        kinds = {each.name: type_of(each.dataType.simpleString()) for each in fields}
        nullable = frozenset(each.name for each in fields if each.nullable)
        clause = table_of(reading.connection.name, *(column(*each) for each in kinds.items()))
        return SparkTable(self.place, clause, kinds, nullable, SPARK, sees_one_state=False)

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return self.read_window(
            lambda reading, _: {
                each.name: each.dataType.simpleString()
                for each in reading.connection.rows.schema.fields
            }
        )

    def truth_reading(
        self,
        reading: Reading,  # noqa: ARG002  a process has one session
        truths: TableTruths,
    ) -> AbstractContextManager[Reading] | None:
        """Give the rows of a truth a name in the same session."""
        return truths.source.opened() if isinstance(truths.source, SparkSource) else None

    def truth_state(self, now: datetime) -> int:
        """Return which span of time it is: rows may have changed when the next one begins."""
        return (now - _EPOCH) // EVERY

    def query_of(
        self, table: TableInfo, times: Times, shown: Sequence[tuple[str, bool]]
    ) -> SparkQuery:
        """Make what builds the statements."""
        return SparkQuery(table, self.settings, times, shown)


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
