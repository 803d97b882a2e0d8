"""Parquet, CSV and DuckDB files as relations to query, for sources and labelers.

DuckDB itself is imported on first use: settings classes must load quickly.
"""

from __future__ import annotations

import difflib
import glob
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused, SettingRefused, SourceRefused, SourceUnavailable
from monitor.files.csv_files import BrokenFile, csv_relation, names_of, other_line_end
from monitor.files.duckdb_sql import (
    AWARE_TIMES,
    NUMBERS,
    TEXTS,
    TIMES,
    Stamps,
    listed,
    literal,
    quoted,
    reading,
    stamps_of,
    value_text,
)
from monitor.files.engine import session

if TYPE_CHECKING:
    import duckdb

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".db": "duckdb",
}

NUL_SHOWN = r"\x00"  # What stands for a NUL in an id
_AT_ONCE = 10_000  # rows that Python takes from DuckDB
_MOST_NAMED, _LONGEST_NAME = 20, 80  # columns in an error, and characters of each
_MOST_CLASSES = 20
_TELLING = ("Expected Number of Columns", "Value with unterminated quote", "Invalid unicode")

_KINDS = {"number": NUMBERS, "text": TEXTS, "aware": AWARE_TIMES, "naive": TIMES}
_CACHE_SIZE = 16

_cached_kinds: OrderedDict[str, tuple[str, frozenset[str]]] = OrderedDict()
"""What was made of Parquet files, by their stamps: of many, types take as long to find as rows."""

Scalar = bool | int | float | str
Parameters = dict[str, Any] | list[Any]
_Types = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Where a table of rows lies, as the config says it.

    paths: Files or globs of one kind, known by suffix; relative ones start at ``folder``.
    table: Table inside a DuckDB file: ``name`` or ``schema.name``.
    refused: The error to raise when the files cannot be used.
    """

    paths: tuple[str, ...]
    folder: Path
    table: str | None = None
    refused: type[InputRefused] = SourceRefused

    def __str__(self) -> str:
        return ", ".join(self.paths) + (f" (table {self.table})" if self.table else "")

    @property
    def kind(self) -> str:
        """``parquet``, ``csv`` or ``duckdb``."""
        return kind_of(self.paths)

    def found(self) -> list[str]:
        """Every file there is now, sorted, so that each reading sees the same order."""
        files: set[str] = set()
        for path in self.paths:
            file = str(self.folder / path)
            matches = [file]
            if not Path(file).is_file():
                # Only the path is a pattern, maybe an absolute one: a folder may have brackets.
                paths = glob.glob(path, root_dir=self.folder, recursive=True)  # noqa: PTH207
                matches = [str(self.folder / each) for each in paths]
            if not matches:
                message = (
                    f"no file matches {path} (looked for {file}); check the path, or wait until "
                    "the first predictions are written"
                )
                raise self.refused(message, is_public=True)
            files.update(matches)
        return sorted(files)

    def stamps(self) -> Stamps:
        """Give path, size and time of each file, and of the write-ahead log of a DuckDB file.

        Rows that are committed without a checkpoint are in the log alone.
        """
        files = self.found()
        stamps = stamps_of(files)
        for file in files if self.kind == "duckdb" else []:
            with suppress(FileNotFoundError):  # there is none after a checkpoint
                stamps += stamps_of([f"{file}.wal"])
        return stamps


def kind_of(paths: Sequence[str]) -> str:
    """Read the kind of the files from their suffixes; a ValueError says what is wrong."""
    longest_first = sorted(SUFFIXES, key=len, reverse=True)
    kinds = {
        path: next((SUFFIXES[end] for end in longest_first if path.lower().endswith(end)), None)
        for path in paths
    }
    if not kinds:
        message = "path is empty; name a file or a glob such as predictions/*.parquet"
        raise ValueError(message)
    for path, kind in kinds.items():
        if "://" in path:
            message = f"{path!r} is a remote address; only files this machine sees are read"
            raise SettingRefused(setting="path", why=message)
        if kind is None:
            json = "duckdb.read_json('p.json').write_parquet('p.parquet')"
            more = f"; write JSON as Parquet first, by {json}" if "json" in path.lower() else ""
            message = (
                f"{path!r} has no suffix that shows its kind; known are {', '.join(SUFFIXES)}, and "
                f"a folder or glob needs one too (predictions/**/*.parquet){more}"
            )
            raise SettingRefused(setting="path", why=message)
    if len(set(kinds.values())) > 1:
        message = f"files of several kinds ({', '.join(paths)}); give files of one kind"
        raise SettingRefused(setting="path", why=message)
    return str(next(iter(kinds.values())))


def pattern_of_folder(folder: Path) -> str:
    """Write the pattern of all files of a folder, however deep, which are of one kind.

    Raises `SourceRefused` if there are none, or files of several kinds.
    """
    for depth in ("*", "**/*"):
        files = [each for each in folder.glob(depth) if each.is_file()]
        ends = {end for each in files for end in SUFFIXES if each.name.lower().endswith(end)}
        ends -= {end for end in ends for other in ends if other != end and other.endswith(end)}
        if len(ends) == 1:
            return (folder / f"{depth}{ends.pop()}").as_posix()
        if ends:
            message = f"{folder} holds files of several kinds; name one: {folder}/*{min(ends)}"
            raise SourceRefused(message)
    message = f"{folder} is a folder without files of predictions; known are {', '.join(SUFFIXES)}"
    raise SourceRefused(message)


def check_table(kind: str, table: str | None) -> None:
    """Raise ValueError unless a table is named for a DuckDB file, and only for one."""
    if kind == "duckdb" and table is None:
        message = "a DuckDB file needs table: the table or view to read"
        raise ValueError(message)
    if kind != "duckdb" and table is not None:
        message = f"{table!r} is for DuckDB files only; remove it for {kind} files"
        raise SettingRefused(setting="table", why=message)


def visible(text: str) -> str:
    """Write a text in SQL with NUL made visible, which PostgreSQL could not store."""
    return f"replace({text}, chr(0), '{NUL_SHOWN}')"


@dataclass(frozen=True, slots=True)
class OpenTable:
    """An open connection and the relation in it.

    place: Where it is, for people.
    types: The DuckDB type of every column; CSV columns are all text, so that an id ``00123`` stays
        what it is.
    is_text: Whether columns have no types.
    refused: The error to raise when it cannot be used.
    mixed: Columns, in lower case, that are text since their files have values of several kinds.
    snapshot: The state of the table that this is, where older ones can be read.
    """

    place: str
    connection: duckdb.DuckDBPyConnection
    relation: str
    types: Mapping[str, str]
    is_text: bool = False
    refused: type[InputRefused] = SourceRefused
    mixed: frozenset[str] = frozenset()
    snapshot: str | None = None

    def whole(self) -> OpenTable:
        """Return the table with all of its rows, where this may lack those outside a window."""
        return self

    def rows(self, sql: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        """Run a query with bound values, by name or in their order, and return all of its rows."""
        return list(self.stream(sql, parameters))

    def stream(self, sql: str, parameters: Parameters | None = None) -> Iterator[tuple[Any, ...]]:
        """Run a query and return its rows as they come."""
        rows = self.connection.execute(sql, parameters or {})
        while some := rows.fetchmany(_AT_ONCE):
            yield from some

    def need(self, column: str, setting: str) -> str:
        """Return the type of a column, or say that it is missing and which one comes closest."""
        if column in self.types:
            return self.types[column]
        raise self.refused(no_column_text(self.place, self.types, column, setting))


def no_column_text(table: str, columns: Collection[str], missing: str, setting: str) -> str:
    """Name the columns of a table, or of many the first, and the one closest to a missing one."""
    folded = {name.lower(): name for name in columns}
    close = difflib.get_close_matches(missing.lower(), folded, n=1, cutoff=0.6)
    hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
    named = [
        name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        for name in islice(columns, _MOST_NAMED)
    ]
    what = "its columns"
    if len(named) < len(columns):
        what = f"the first of its {len(columns):,} columns"
    return f"{table} has no column {missing!r} ({setting}); {what} are {', '.join(named)}{hint}"


@contextmanager
def opened(files: DataFiles, shared: OpenTable | None = None) -> Iterator[OpenTable]:
    """Open the files for reading; errors of DuckDB inside the block become ours.

    By the connection of an open table that is ``shared``; of a DuckDB file one in the same.
    """
    import duckdb  # noqa: PLC0415

    paths = files.found()
    new = session(alone=files.kind == "duckdb")
    try:
        with new if shared is None else nullcontext(shared.connection) as connection:
            relation, mixed = _relation(connection, files, paths)
            described = connection.execute(f"describe select * from {relation}").fetchall()  # noqa: S608
            types = {row[0]: row[1] for row in described}
            is_text = files.kind == "csv"
            yield OpenTable(
                str(files), connection, relation, types, is_text, files.refused, mixed=mixed
            )
    except BrokenFile as error:
        message = f"{files}: {error}"
        raise files.refused(message) from error
    except duckdb.Error as error:
        raise _as_ours(error, files) from error


def _relation(
    connection: duckdb.DuckDBPyConnection, files: DataFiles, paths: Sequence[str]
) -> tuple[str, frozenset[str]]:
    """Write the relation, and name the columns that are of several kinds in its files."""
    if files.kind == "parquet":
        return _of_parquet(connection, paths)
    if files.kind == "csv":
        return csv_relation(connection, paths), frozenset()
    if len(paths) > 1:
        message = f"{files} are {len(paths)} DuckDB files; give one, or write them as Parquet"
        raise files.refused(message)
    connection.execute(f"attach if not exists {literal(paths[0])} as file (read_only)")
    table = (files.table or "").split(".")
    named = ["file", *(["main"] if len(table) == 1 else []), *table]
    return ".".join(quoted(name) for name in named), frozenset()


def _of_parquet(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> tuple[str, frozenset[str]]:
    """Read the files together; return also the columns whose values are of several kinds.

    DuckDB gives a column the widest type of all files: times without a zone become instants of
    UTC beside others. Where kinds differ, each file's values are texts instead, as that file has
    them, which are read as in a CSV file.
    """
    state = repr(stamps_of(paths))
    value = _cached_kinds.get(state)
    if value is None:
        value = _cached_kinds[state] = _read_together(connection, paths)
        while len(_cached_kinds) > _CACHE_SIZE:
            _cached_kinds.popitem(last=False)
    return value


def _read_together(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> tuple[str, frozenset[str]]:
    rows = connection.execute(
        f"select distinct name, duckdb_type from parquet_schema({listed(paths)}) "  # noqa: S608
        "where duckdb_type is not null"
    ).fetchall()
    names = {name for name, _ in rows}
    if len(paths) > 1 and _mixed([{name: kind} for name, kind in rows]):
        types = {path: _types(connection, path) for path in paths}
        if mixed := _mixed([*types.values()]):
            return _as_texts(types, mixed, names), mixed
    return reading("read_parquet", paths, "union_by_name = true", names), frozenset()


def _mixed(tables: Sequence[_Types]) -> frozenset[str]:
    """Name the columns that are not of one kind in all tables."""
    kinds: dict[str, set[str | None]] = {}
    for types in tables:
        for name, kind in types.items():
            kinds.setdefault(name.lower(), set()).add(_kind(kind))
    return frozenset(
        name for name, kinds_of in kinds.items() if len(kinds_of) > 1 and None not in kinds_of
    )


def _kind(sql_type: str) -> str | None:
    if sql_type == "BOOLEAN":
        return "truth"
    return next((name for name, types in _KINDS.items() if types.fullmatch(sql_type)), None)


def _types(connection: duckdb.DuckDBPyConnection, path: str) -> _Types:
    relation = f"read_parquet({listed([path])}, hive_partitioning = false)"
    return {row[0]: row[1] for row in connection.execute(f"describe from {relation}").fetchall()}


def _as_texts(
    types: Mapping[str, Mapping[str, str]], mixed: frozenset[str], names: set[str]
) -> str:
    similar: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for path, columns_of in types.items():
        key = tuple((name, kind) for name, kind in columns_of.items() if name.lower() in mixed)
        similar.setdefault(key, []).append(path)
    parts = []
    for columns, group in similar.items():
        rows = reading("read_parquet", group, "union_by_name = true", names, [*types])
        texts = (f"{value_text(name, kind)} as {quoted(name)}" for name, kind in columns)
        replaced = f" replace ({', '.join(texts)})" if columns else ""
        parts.append(f"select *{replaced} from {rows}")  # noqa: S608
    return f"({' union all by name '.join(parts)})"


def _as_ours(error: duckdb.Error, files: DataFiles) -> InputRefused | SourceUnavailable:
    import duckdb  # noqa: PLC0415

    lines = str(error).strip().splitlines()
    details = [line for line in lines[1:] if line.startswith(_TELLING)]  # never a row's own text
    first = "; ".join([lines[0], *details])
    if "Could not set lock" in first:
        message = f"{files} is being written by another process; it is tried again later"
        return SourceUnavailable(message)
    if isinstance(error, duckdb.OutOfMemoryException | duckdb.InternalException):
        message = f"{files} could not be read now: {first}"
        return SourceUnavailable(message)
    if isinstance(error, duckdb.CatalogException) and files.table is not None:
        message = f"{files}: there is no such table or view; {first}"
        return files.refused(message)
    if files.kind == "csv" and (why := other_line_end(files.found())) is not None:
        message = f"{files} cannot be read: {why}"
        return files.refused(message, is_public=True)
    message = f"{files} cannot be read: {first}; is it a whole, valid {files.kind} file?"
    return files.refused(message, is_public=True)


class DescribedFiles:
    """Files whose columns and values somebody chooses from, before there is a config."""

    def __init__(self, path: str, folder: Path, table: str | None) -> None:
        try:
            check_table(kind_of((path,)), table)
        except ValueError as error:
            raise SourceRefused(str(error)) from error
        self._files = DataFiles((path,), folder, table)

    def columns(self) -> dict[str, str]:
        """Return the type of each column, guessed for CSV."""
        with opened(self._files) as data:
            relation, paths = data.relation, self._files.found()
            if data.is_text:
                options = "header = true, union_by_name = true"
                relation = reading("read_csv", paths, options, names_of(paths))
            types = data.rows(f"describe select * from {relation}")  # noqa: S608
            # Where DuckDB guesses types, it takes the blanks around names off.
            names = {name.strip(): name for name in data.types}
        return {names.get(row[0], row[0]): row[1] for row in types}

    def class_values(self, column: str) -> tuple[str, ...]:
        """List the values of a column; none if there are more than a class has."""
        with opened(self._files) as data:
            text = f"nullif(trim(cast({quoted(column)} as varchar)), '')"
            rows = data.rows(
                f"select distinct {text} from {data.relation} where {text} is not null "  # noqa: S608
                f"order by 1 limit {_MOST_CLASSES + 1}"
            )
        return tuple(row[0] for row in rows) if len(rows) <= _MOST_CLASSES else ()

    def first_values(
        self, types: Mapping[str, str], *, filled: str | None = None, at_most: int = _AT_ONCE
    ) -> dict[str, list[Any]]:
        """Return the first values of some columns, as values of their types.

        filled: A column that is not empty in the rows that count.
        """
        names = ", ".join(f"try_cast({quoted(name)} as {kind})" for name, kind in types.items())
        text = f"trim(cast({quoted(filled or '')} as varchar))"
        where = "" if filled is None else f" where {text} <> ''"
        with opened(self._files) as data:
            sql = f"select {names or 1} from {data.relation}{where} limit {at_most}"  # noqa: S608
            rows = data.rows(sql)
        return {name: [row[index] for row in rows] for index, name in enumerate(types)}


def texts_of(value: Scalar) -> tuple[str, ...]:
    """All texts under which a configured value may be in a column cast to text.

    >>> texts_of(1), texts_of(True), texts_of("fraud")
    (('1', '1.0'), ('true', 'True', 'TRUE'), ('fraud',))
    """
    if isinstance(value, bool):
        word = str(value)
        return (word.lower(), word, word.upper())
    if isinstance(value, int | float) and value == int(value):
        return (str(int(value)), f"{int(value)}.0")
    return (str(value),)


def all_texts(values: Scalar | Sequence[Scalar]) -> list[str]:
    """`texts_of` for one value or several."""
    several = [values] if isinstance(values, bool | int | float | str) else values
    return [text for value in several for text in texts_of(value)]
