"""Parquet, CSV and DuckDB files as relations to query: what the file adapters share.

Sources and labelers both read such files and may not import one another, so this stands below
them. DuckDB itself is imported on first use: settings classes must load quickly.
"""

from __future__ import annotations

import csv
import difflib
import glob
import gzip
import io
import re
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused, SourceRefused, SourceUnavailable
from monitor.domain.refused_setting import SettingRefused
from monitor.domain.values import BLANKS
from monitor.files.engine import session

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

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

NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\))")
WHOLE_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,\s*0\))")
TIMES = re.compile(r"(DATE|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS)")
TEXTS = re.compile(r"(VARCHAR|ENUM\(.*\))", re.DOTALL)

NUL_SHOWN = r"\x00"
"""What stands for a NUL in an id."""

_LONGEST_HEADER = 2**16  # characters
_MOST_NAMED, _LONGEST_NAME = 20, 80  # columns in an error, and characters of each
_TELLING = ("Expected Number of Columns", "Value with unterminated quote", "Invalid unicode")

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Where a table of rows lies, as the config says it.

    Parameters
    ----------
    paths
        Files or globs of one kind, known by suffix; relative ones start at ``folder``.
    folder
        The folder of the config file.
    table
        Table inside a DuckDB file: ``name`` or ``schema.name``.
    refused
        The error to raise when the files cannot be used.
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
            whole = str(self.folder / path)
            matches = [whole] if Path(whole).is_file() else _glob(path, self.folder)
            if not matches:
                message = (
                    f"no file matches {path} (looked for {whole}); check the path, or wait until "
                    "the first predictions are written"
                )
                raise self.refused(message, is_public=True)
            files.update(matches)
        return sorted(files)


def _glob(pattern: str, folder: Path) -> list[str]:
    # Only the pattern is one: a folder may have brackets in its name.
    found = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207  may be absolute
    return [str(folder / path) for path in found]


def kind_of(paths: Sequence[str]) -> str:
    """Read the kind of the files from their suffixes; a ValueError says what is wrong."""
    kinds = {path: _suffix_kind(path) for path in paths}
    if not kinds:
        message = "path is empty; name a file or a glob such as predictions/*.parquet"
        raise ValueError(message)
    for path, kind in kinds.items():
        if "://" in path:
            message = f"{path!r} is a remote address; only files this machine sees are read"
            raise SettingRefused(setting="path", why=message)
        if kind is None:
            message = (
                f"{path!r} has no suffix that shows its kind; known are "
                f"{', '.join(SUFFIXES)}, and a glob needs one too (predictions/*.parquet)"
            )
            raise SettingRefused(setting="path", why=message)
    if len(set(kinds.values())) > 1:
        message = f"files of several kinds ({', '.join(paths)}); give files of one kind"
        raise SettingRefused(setting="path", why=message)
    return str(next(iter(kinds.values())))


def _suffix_kind(path: str) -> str | None:
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if path.lower().endswith(suffix):
            return SUFFIXES[suffix]
    return None


def check_table(kind: str, table: str | None) -> None:
    """Raise ValueError unless a table is named for a DuckDB file, and only for one."""
    if kind == "duckdb" and table is None:
        message = "a DuckDB file needs table: the table or view to read"
        raise ValueError(message)
    if kind != "duckdb" and table is not None:
        message = f"{table!r} is for DuckDB files only; leave it out for {kind} files"
        raise SettingRefused(setting="table", why=message)


def quoted(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(sql: str) -> str:
    """Cast a value to text in SQL, NUL made visible, which PostgreSQL could not store."""
    return f"replace(cast({sql} as varchar), chr(0), '{NUL_SHOWN}')"


def bare_text(sql: str) -> str:
    """Take the blanks around a text off in SQL (`monitor.domain.values.BLANKS`)."""
    return f"trim({sql}, {_literal(BLANKS)})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class OpenTable:
    """An open connection and the relation in it.

    Parameters
    ----------
    place
        Where it is, for people.
    types
        The DuckDB type of every column; CSV columns are all text, so that an id ``00123`` stays
        what it is.
    is_text
        Whether columns have no types of their own.
    refused
        The error to raise when it cannot be used.
    hashed
        A seed for which the relation has md5(seed, id) of each row, and the column with it.
    """

    place: str
    connection: duckdb.DuckDBPyConnection
    relation: str
    types: Mapping[str, str]
    is_text: bool = False
    refused: type[InputRefused] = SourceRefused
    hashed: tuple[str, str] | None = None

    @contextmanager
    def stream(self, sql: str, parameters: Mapping[str, Any]) -> Iterator[Any]:
        """Run a query with bound values and give its rows as a stream of Arrow batches."""
        yield self.connection.sql(sql, params=dict(parameters)).to_arrow_reader()

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run a query with bound values and return all of its rows."""
        return self.connection.execute(sql, dict(parameters or {})).fetchall()

    def need(self, column: str, setting: str) -> str:
        """Return the type of a column, or say that it is missing and which one comes closest."""
        if column in self.types:
            return self.types[column]
        message = (
            f"{self.place} has no column {column!r} ({setting}); {there_are(self.types, column)}"
        )
        raise self.refused(message)

    def refuse_type(self, column: str, setting: str, wanted: str) -> InputRefused:
        """Build the error for a column of the wrong type, with its first value."""
        first = self.rows(
            f"select cast({quoted(column)} as varchar) from {self.relation} "  # noqa: S608
            f"where {quoted(column)} is not null limit 1"
        )
        example = f" (first value {first[0][0]!r})" if first else ""
        message = (
            f"{self.place}: column {column!r} ({setting}) is {self.types[column]}{example}; "
            f"wanted {wanted}"
        )
        return self.refused(message)

    def id_text(self, column: str, setting: str) -> str:
        """Write an id as text in SQL; refuse types that have no one text form."""
        kind = self.need(column, setting)
        if not (TEXTS.fullmatch(kind) or WHOLE_NUMBERS.fullmatch(kind) or kind == "UUID"):
            wanted = "text, whole numbers or UUIDs; cast it to text where the file is written"
            raise self.refuse_type(column, setting, wanted)
        text = f"cast({quoted(column)} as varchar)"
        if not TEXTS.fullmatch(kind):
            return text
        # Looking for NUL first costs a third of replacing it, which almost no id needs.
        has_nul = f"contains({text}, chr(0))"
        return f"case when {has_nul} then {sql_text(text)} else nullif({text}, '') end"

    def may_be(self, column: str, ids: Sequence[str], name: str = "ids") -> str:
        """Write which rows may have one of these ids, bound as a list of texts by this name.

        It compares the column as it is stored, of which whole parts of a file are skipped; what
        `id_text` makes of a row decides.
        """
        if any(NUL_SHOWN in each for each in ids):
            return "true"  # as a NUL is shown, and only reading shows which of both it was
        kind = "varchar" if TEXTS.fullmatch(self.types[column]) else self.types[column]
        return f"{quoted(column)} in (select try_cast(unnest(${name}::varchar[]) as {kind}))"

    def may_be_padded(self, column: str, ids: Sequence[str]) -> str:
        """Write the same for ids that may have blanks around them in the column, none in ``ids``.

        Only the part of the sort order that the ids span is read, and what begins with a blank.
        """
        if not TEXTS.fullmatch(self.types[column]):
            return self.may_be(column, ids)
        if any(NUL_SHOWN in each for each in ids):
            return "true"
        name, low, high = quoted(column), min(ids, default=""), max(ids, default="") + "\U0010ffff"
        within = f"{name} >= {_literal(low)} and {name} <= {_literal(high)}"
        return f"(({within}) or {name} < '!' or {name} > '~')"


def there_are(columns: Collection[str], wanted: str) -> str:
    """Name the columns there are, or of many the first, and the one that comes closest."""
    folded = {name.lower(): name for name in columns}
    close = difflib.get_close_matches(wanted.lower(), folded, n=1, cutoff=0.6)
    hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
    named = [_cut(name) for name in islice(columns, _MOST_NAMED)]
    if len(named) == len(columns):
        return f"its columns are {', '.join(named)}{hint}"
    return f"the first of its {len(columns):,} columns are {', '.join(named)}{hint}"


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


@contextmanager
def opened(files: DataFiles) -> Iterator[OpenTable]:
    """Open the files for reading; errors of DuckDB inside the block become ours."""
    import duckdb  # noqa: PLC0415

    paths = files.found()
    try:
        with session(alone=files.kind == "duckdb") as connection:
            relation = _relation(connection, files, paths)
            described = connection.execute(f"describe select * from {relation}").fetchall()  # noqa: S608
            types = {row[0]: row[1] for row in described}
            is_text = files.kind == "csv"
            yield OpenTable(str(files), connection, relation, types, is_text, files.refused)
    except duckdb.Error as error:
        raise _as_ours(error, files) from error


def _relation(connection: duckdb.DuckDBPyConnection, files: DataFiles, paths: Sequence[str]) -> str:
    listed = "[" + ", ".join(_literal(glob.escape(path)) for path in paths) + "]"
    if files.kind == "parquet":
        return f"read_parquet({listed}, union_by_name = true)"
    if files.kind == "csv":
        return _csv_relation(files, paths)
    if len(paths) > 1:
        message = f"{files} are {len(paths)} DuckDB files; give one, or write them as Parquet"
        raise files.refused(message)
    connection.execute(f"attach {_literal(paths[0])} as file (read_only)")
    table = (files.table or "").split(".")
    return ".".join(
        quoted(name) for name in ["file", *(["main"] if len(table) == 1 else []), *table]
    )


def _csv_relation(files: DataFiles, paths: Sequence[str]) -> str:
    """Read CSV with nothing guessed but the separator, which the header shows.

    Guessing looks at the rows, so a bad row could make it skip good ones or the header. Files
    may have their columns in different orders.
    """
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for path in paths:
        alike.setdefault(_csv_header(files, path), []).append(path)
    parts = []
    for (separator, header), group in alike.items():
        columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in header)
        listed = ", ".join(_literal(glob.escape(path)) for path in group)
        options = f"delim = {_literal(separator)}, quote = '\"', escape = '\"', comment = ''"
        parts.append(
            f"select * from read_csv([{listed}], columns = {{{columns}}}, "  # noqa: S608
            f"auto_detect = false, header = true, {options})"
        )
    return f"({' union all by name '.join(parts)})"


def _csv_header(files: DataFiles, path: str) -> tuple[str, tuple[str, ...]]:
    try:
        rows = _first_rows(path)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        message = f"{files}: {Path(path).name} cannot be read: {error}; it must be UTF-8 text"
        raise files.refused(message) from error
    separator = max(rows, key=lambda s: len(rows[s]))
    header = tuple(name or f"column{place}" for place, name in enumerate(rows[separator]))
    if not any(rows[separator]) or len({name.lower() for name in header}) < len(header):
        message = (
            f"{files}: the first row of {Path(path).name} must name every column once; "
            f"it is {', '.join(rows[separator])[:200] or 'empty'}"
        )
        raise files.refused(message)
    return separator, header


def _first_rows(path: str) -> dict[str, list[str]]:
    """Read the first row of a file, cut by each separator that may be meant."""
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
        start = stream.read(_LONGEST_HEADER)
    return {s: next(csv.reader(io.StringIO(start), delimiter=s), []) for s in ",;\t|"}


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
    message = f"{files} cannot be read: {first}; is it a whole, valid {files.kind} file?"
    return files.refused(message, is_public=True)


@dataclass(frozen=True, slots=True)
class Described:
    """A column as people should see it when choosing: name, guessed type, first value."""

    name: str
    type: str
    example: str | None


def describe(
    path: str | Sequence[str], folder: Path, *, table: str | None = None
) -> tuple[Described, ...]:
    """List the columns of files, CSV types guessed, for ``init`` and ``check``."""
    paths = (path,) if isinstance(path, str) else tuple(path)
    try:
        check_table(kind_of(paths), table)
    except ValueError as error:
        raise SourceRefused(str(error)) from error
    files = DataFiles(paths, folder, table)
    with opened(files) as data:
        listed = ", ".join(_literal(glob.escape(path)) for path in files.found())
        guessed = f"read_csv([{listed}], header = true, union_by_name = true)"
        relation = guessed if data.is_text else data.relation
        types = data.rows(f"describe select * from {relation}")  # noqa: S608
        names = ", ".join(f"cast({quoted(row[0])} as varchar)" for row in types)
        first = data.rows(f"select {names} from {relation} limit 1")  # noqa: S608
        examples = first[0] if first else [None] * len(types)
        return tuple(
            Described(row[0], row[1], example) for row, example in zip(types, examples, strict=True)
        )


def class_values(
    path: str, folder: Path, column: str, *, table: str | None = None, at_most: int = 20
) -> tuple[str, ...]:
    """List the values of a column, for ``init``; none where there are more than a class has."""
    with opened(DataFiles((path,), folder, table)) as data:
        text = f"nullif(trim(cast({quoted(column)} as varchar)), '')"
        rows = data.rows(
            f"select distinct {text} from {data.relation} where {text} is not null "  # noqa: S608
            f"order by 1 limit {at_most + 1}"
        )
    return tuple(row[0] for row in rows) if len(rows) <= at_most else ()


def texts_of(value: Scalar) -> tuple[str, ...]:
    """All texts under which a configured value may stand in a column cast to text.

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
