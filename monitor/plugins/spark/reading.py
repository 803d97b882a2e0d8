"""Reading by Spark: the rows under their own name, statements, and what ends them."""

from __future__ import annotations

import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import column
from sqlalchemy import table as table_of

from monitor.domain.errors import SourceRefused
from monitor.domain.time_limit import stopped_by
from monitor.plugins.spark.dialect import SPARK, SPARK_TEXT, type_of
from monitor.plugins.spark.query import SparkTable
from monitor.plugins.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from sqlalchemy.sql import Executable

    from monitor.plugins.spark.settings import SparkSettings

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
def opened(
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


def found(location: str, statements: SparkStatements) -> SparkTable:
    """Describe the rows by the types that Spark gives their columns."""
    kinds = {field.name: type_of(field.dataType.simpleString()) for field in fields(statements)}
    nullable = frozenset(field.name for field in fields(statements) if field.nullable)
    clause = table_of(statements.name, *(column(name, kind) for name, kind in kinds.items()))
    return SparkTable(location, clause, kinds, nullable, SPARK, sees_one_state=False)


def fields(statements: SparkStatements) -> list[Any]:
    """List the columns as Spark has them."""
    return list(statements.rows.schema.fields)


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

    A session's own tags serve with Connect alone: elsewhere no other thread than the one that set
    them finds the work by them.
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
        if not (both := _of_both_kinds(str(error))):
            return
        message = (
            f"Spark's {', '.join(paths)}: some files have times with a zone in column {both[0]!r} "
            "where others have times without one, and Spark reads all as those of the first file; "
            "write all of them with a zone"
        )
        raise SourceRefused(message) from None


def _of_both_kinds(schemas: str) -> list[str]:
    """Name the columns that are times with a zone in one schema, and without one in another."""
    kinds: dict[str, set[str]] = {}
    for name, kind in _TIME.findall(schemas):
        kinds.setdefault(name.strip(), set()).add(kind)
    return [name for name, kinds_of in kinds.items() if len(kinds_of) > 1]
