"""CSV files as one relation of texts, and what is wrong with a file that cannot be one."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from monitor.files.duckdb_sql import listed, literal, quoted, reading

if TYPE_CHECKING:
    import duckdb

_LONGEST_HEADER = 2**16  # characters
_LONGEST_CELL = 2**24
_OTHER_FORMATS = {
    b"\x1f\x8b": "compressed by gzip; end its name with .csv.gz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; write it as CSV, or compress it by gzip (.csv.gz)",
    b"BZh": "compressed by bzip2; write it as CSV, or compress it by gzip (.csv.gz)",
    b"PK\x03\x04": "a zip archive or a workbook; save it as CSV",
    b"PAR1": "a Parquet file; end its name with .parquet",
    b"\xff\xfe": "UTF-16; save it as UTF-8",
    b"\xfe\xff": "UTF-16; save it as UTF-8",
}
_CACHE_SIZE = 10_000
_BREAK = re.compile(r"\r\n|\n|\r")
_ENDS = {"\r\n": "CR LF", "\n": "LF", "\r": "CR"}

_sound: OrderedDict[tuple[str, int, int], None] = OrderedDict()
"""Files whose quotes were looked at, by path, size and time: a look is a reading of the file."""


class BrokenFile(ValueError):
    """A file that cannot be read as CSV, in a sentence that begins with its name."""


def csv_relation(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> str:
    """Read CSV with nothing guessed but the separator, which the header shows.

    Guessing looks at the rows, so a bad row could make it skip good ones or the header.
    """
    similar: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for path in paths:
        similar.setdefault(_header(path), []).append(path)
    names = {name for _, header in similar for name in header}
    parts = []
    for (separator, header), group in similar.items():
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
        options = (
            f"columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = {literal(separator)}, quote = '\"', escape = '\"', comment = ''"
        )
        for path in group:
            _check_quotes(connection, path, options, separator, header)
        parts.append(f"select * from {reading('read_csv', group, options, names, paths)}")  # noqa: S608
    return f"({' union all by name '.join(parts)})"


def names_of(paths: Sequence[str]) -> set[str]:
    """Name the columns that the headers of some files have."""
    return {name for path in paths for name in _header(path)[1]}


def separator_of(path: str) -> str:
    """Return the separator of a CSV file by its header; raises `BrokenFile` if it has none."""
    return _header(path)[0]


def _header(path: str) -> tuple[str, tuple[str, ...]]:
    name = Path(path).name
    with Path(path).open("rb") as stream:
        start = stream.read(4)
    for magic, what in _OTHER_FORMATS.items():
        if start.startswith(magic) and not (magic == b"\x1f\x8b" and _is_zipped(path)):
            message = f"{name} cannot be read as CSV: it is {what}"
            raise BrokenFile(message)
    try:
        rows = _first_rows(path)
    except UnicodeDecodeError as error:
        message = f"{name} cannot be read: {error}; it must be UTF-8 text"
        raise BrokenFile(message) from error
    except (OSError, EOFError, csv.Error) as error:
        message = f"{name} cannot be read: {error}"
        raise BrokenFile(message) from error
    separator = max(rows, key=lambda s: len(rows[s]))
    header = tuple(name or f"column{index}" for index, name in enumerate(rows[separator]))
    if not any(rows[separator]) or len({name.lower() for name in header}) < len(header):
        message = (
            f"the first row of {name} must name every column once; "
            f"it is {', '.join(rows[separator])[:200] or 'empty'}"
        )
        raise BrokenFile(message)
    return separator, header


def _is_zipped(path: str) -> bool:
    return path.lower().endswith(".gz")


def _opened(path: str) -> IO[str]:
    opener = gzip.open if _is_zipped(path) else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _first_rows(path: str) -> dict[str, list[str]]:
    """Read the first row of a file, cut by each separator that may be meant."""
    with _opened(path) as stream:
        start = stream.read(_LONGEST_HEADER)
    return {s: next(csv.reader(io.StringIO(start, newline=""), delimiter=s), []) for s in ",;\t|"}


def _check_quotes(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    options: str,
    separator: str,
    header: Sequence[str],
) -> None:
    """Refuse a file in which a quote that nothing closes makes one cell of many rows.

    As CSV it is valid, since the next quote closes the cell, but each line in it looks like a row.
    """
    stamp = Path(path).stat()
    key = (path, stamp.st_size, stamp.st_mtime_ns)
    if key in _sound or len(header) == 1:
        return
    rows = f"read_csv({listed([path])}, {options}, hive_partitioning = false)"
    suspects = " or ".join(_may_hold_rows(quoted(name), separator, len(header)) for name in header)
    sql = f"select 1 from {rows} where {suspects} limit 1"  # noqa: S608
    if connection.execute(sql).fetchone() is not None:
        _refuse_swallowed(path, separator, len(header))
    _sound[key] = None
    while len(_sound) > _CACHE_SIZE:
        _sound.popitem(last=False)


def _may_hold_rows(cell: str, separator: str, columns: int) -> str:
    """Write whether a cell has as many separators as its line breaks would end rows."""
    breaks = f"greatest({_count(cell, 'chr(10)')}, {_count(cell, 'chr(13)')})"
    is_as_many = f"{_count(cell, literal(separator))} = {breaks} * {columns - 1}"
    has_break = f"contains({cell}, chr(10)) or contains({cell}, chr(13))"
    return f"case when {has_break} then {is_as_many} else false end"


def _count(cell: str, character: str) -> str:
    return f"(len({cell}) - len(replace({cell}, {character}, '')))"


def _refuse_swallowed(path: str, separator: str, columns: int) -> None:
    """Read the file row by row, to say in which lines it is."""
    previous = csv.field_size_limit(_LONGEST_CELL)
    try:
        with _opened(path) as stream:
            reader = csv.reader(stream, delimiter=separator)
            first = 1
            for row in reader:
                if len(row) == columns and any(
                    _holds_rows(row, at, separator) for at in range(columns)
                ):
                    message = (
                        f"{Path(path).name}: a quote in line {first} opens a cell that goes on to "
                        f"line {reader.line_num}, over lines that look like rows of their own; "
                        "put such a cell into quotes, and write each quote in it twice"
                    )
                    raise BrokenFile(message)
                first = reader.line_num + 1
    except csv.Error as error:
        message = f"{Path(path).name}, line {reader.line_num}: {error}"
        raise BrokenFile(message) from error
    finally:
        csv.field_size_limit(previous)


def _holds_rows(row: Sequence[str], at: int, separator: str) -> bool:
    """Whether a cell is the end of a row, rows, and the start of one, by what their cells hold."""
    ended, *rows = (piece.split(separator) for piece in _BREAK.split(row[at]))
    if not rows:
        return False
    started = rows.pop()
    if len(ended) != len(row) - at or len(started) != at + 1:
        return False
    if any(len(cells) != len(row) for cells in rows):
        return False
    kinds = [_kind(cell) if index != at else "" for index, cell in enumerate(row)]
    pieces: list[list[str | None]] = [[None] * at + ended, *map(list, rows), [*started]]
    similar = [each for each in (_is_similar(cells, kinds) for cells in pieces) if each is not None]
    return bool(similar) and sum(similar) * 2 > len(similar)


def _is_similar(cells: Sequence[str | None], expected: Sequence[str]) -> bool | None:
    """Whether numbers and times stand where a row has them; None if it tells of none."""
    pairs = [
        (_kind(cell), kind)
        for cell, kind in zip(cells, expected, strict=False)
        if kind and cell is not None
    ]
    return all(actual == kind for actual, kind in pairs) if pairs else None


def _kind(text: str) -> str:
    try:
        float(text)
    except ValueError:
        pass
    else:
        return "number"
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return ""
    return "time"


def other_line_end(paths: Sequence[str]) -> str | None:
    """Describe which line of some files ends otherwise than the first one; None if none does."""
    for path in paths:
        first = None
        for number, end in _line_ends(path):
            first = first or end
            if end != first:
                return (
                    f"line {number} of {Path(path).name} has another line end ({_ENDS[end]}) than "
                    f"line 1 ({_ENDS[first]}); write all lines with the same end"
                )
    return None


def _line_ends(path: str) -> Iterator[tuple[int, str]]:
    """Give number and end of each line that is the end of a row, not one inside of quotes."""
    is_open = False
    with _opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            is_open ^= line.count('"') % 2 == 1
            end = line[len(line.rstrip("\r\n")) :]
            if end in _ENDS and not is_open:
                yield number, end
