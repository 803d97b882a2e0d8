"""Reads rows of label files: CSV, workbooks, or JSON lines of this program or a labeling tool.

Rows are read one by one, to save memory. If a file is refused as a whole, messages do not quote its
content, since it may not be a label file at all.
"""

from __future__ import annotations

import csv
import json
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

from monitor.domain.errors import LabelsRefused
from monitor.labeling.cells import LABELED_AT, OWN_COLUMNS, own_name, own_names, unescape
from monitor.labeling.formats import SheetRow, tool_of, workbooks

KINDS = ".csv, .xlsx or .jsonl"
MOST_BYTES = 64 * 2**20  # a label file of 200,000 tasks is about 20 MB without its texts
LONGEST_CELL = 2**20  # characters; a spreadsheet holds 32,767
_MEGABYTES = f"{LONGEST_CELL / 2**20:.0f}"
LONGEST_ROW = 8 * 2**20  # bytes
_NEEDED = {"task", "label"}
_NO_LABEL_ROW = "is not an object with the keys task and label"
_TOO_LONG = f"has a cell of more than {_MEGABYTES} MB; empty it"
_CSV_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LIMIT = threading.RLock()  # Held while CSV is read, since its cell limit is global to the process


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a label file as written; ``problem`` explains why it cannot be read.

    ``missing`` are the columns without a cell in this row. ``cut``: the file ends with this row
    and without a line break.
    """

    number: int
    cells: Mapping[str, Any]
    problem: str | None = None
    missing: tuple[str, ...] = ()
    cut: bool = False


def printable(text: str) -> str:
    """Replace characters that are not printable in an untrusted text, such as a file name."""
    return "".join(each if each.isprintable() else "?" for each in text)


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook, by its name."""
    return path.suffix.lower() == ".xlsx"


def is_jsonl(path: Path) -> bool:
    """Whether a file has JSON lines, by its name."""
    return path.suffix.lower() in (".jsonl", ".ndjson")


@contextmanager
def opened(path: Path, *, follow: bool = False) -> Iterator[IO[bytes]]:
    """Open a label file.

    follow: Whether a link may be followed.

    Raises `LabelsRefused` if it is missing, not a file, a link, or too large.
    """
    name = printable(path.name)
    if not follow and path.is_symlink():
        message = f"{name} is a link, which is not followed; put the file itself there"
        raise LabelsRefused(message)
    try:
        stream = open_file(path, follow=follow)
    except OSError as error:
        raise _unreadable(path, error) from error
    with stream:
        # Check the open file, since the path may refer to another one now.
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            message = f"{name} is not a file; label files are {KINDS}"
            raise LabelsRefused(message)
        if status.st_size > MOST_BYTES:
            message = (
                f"{name} has {status.st_size / 2**20:.0f} MB, more than the "
                f"{MOST_BYTES / 2**20:.0f} MB that a label file may have; keep only the columns "
                "task, label and annotator"
            )
            raise LabelsRefused(message)
        try:
            yield stream
        except OSError as error:
            raise _unreadable(path, error) from error


def read_text(path: Path, setting: str, most: int) -> str:
    """Read a text file named by a setting, of at most ``most`` bytes.

    Raises `LabelsRefused` with the setting and the path if it cannot be read.
    """
    about = f"{setting}: {path}"
    try:
        with path.open("rb") as stream:
            content = stream.read(most + 1)
        if len(content) > most:
            message = f"{about} is longer than {most / 1e6:g} MB; shorten it"
            raise LabelsRefused(message)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{about} is not UTF-8 (at byte {error.start}); save it as UTF-8"
        raise LabelsRefused(message) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"{about} cannot be read: {reason}; check the path"
        raise LabelsRefused(message) from error


def open_file(path: Path, *, follow: bool) -> IO[bytes]:
    """Open a file for reading; a pipe without a writer does not block it."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    file = os.open(path, flags)
    if stat.S_ISDIR(os.fstat(file).st_mode):  # no stream can be made of it
        os.close(file)
        raise IsADirectoryError(None, "is a directory")
    return os.fdopen(file, "rb")


def _unreadable(path: Path, error: OSError) -> LabelsRefused:
    reason = (error.strerror or str(error)).lower()
    return LabelsRefused(f"{printable(str(path))} cannot be read: {reason}; check the path")


def ends_whole(path: Path) -> bool:
    """Whether a file is complete: a final line break or JSON object, or a complete workbook.

    Returns True if the file cannot be read; reading it then reports the problem.
    """
    try:
        with opened(path) as stream:
            if is_workbook(path):
                return workbooks().is_whole(stream, MOST_BYTES)
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - LONGEST_ROW))
            end = stream.read() if is_jsonl(path) else _last_byte(stream)
    except LabelsRefused:
        return True
    return end.endswith((b"\n", b"\r")) or (is_jsonl(path) and _is_object(end))


def _last_byte(stream: IO[bytes]) -> bytes:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 1))
    return stream.read(1)


def _is_object(end: bytes) -> bool:
    try:
        return isinstance(json.loads(end.rpartition(b"\n")[2]), dict)
    except (ValueError, RecursionError):
        return False


def read_lines(path: Path, *, follow: bool = False) -> Iterator[Line]:
    """Yield all rows of a label file except empty ones.

    Raises `LabelsRefused` if it is not a label file, or if a cell or a row is too long; this may
    happen after some rows.
    """
    name = printable(path.name)
    if not (is_jsonl(path) or is_workbook(path) or path.suffix.lower() == ".csv"):
        message = f"{name}: label files are {KINDS}; save it as one of them"
        raise LabelsRefused(message)
    with opened(path, follow=follow) as stream:
        if is_workbook(path):
            yield from _sheet_lines(name, stream)
            return
        cut = not _last_byte(stream).endswith((b"\n", b"\r"))
        stream.seek(0)
        texts = _text_lines(name, stream)
        rows = _jsonl_lines(texts) if is_jsonl(path) else _csv_lines(name, texts)
        for line, following in pairwise(chain(rows, [None])):
            if line is not None:
                yield replace(line, cut=cut) if following is None else line


def _text_lines(name: str, stream: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a file, split at line feeds."""
    at = 0
    while line := stream.readline(LONGEST_ROW + 1):
        if len(line) > LONGEST_ROW:
            message = (
                f"{name} has a row of more than {LONGEST_ROW / 2**20:.0f} MB, so nothing of it is "
                "taken; keep only the columns task, label and annotator"
            )
            raise LabelsRefused(message)
        try:
            yield line.decode("utf-8" if at else "utf-8-sig")
        except UnicodeDecodeError as error:
            message = (
                f"{name} is not UTF-8 (at byte {at + error.start}); in the spreadsheet choose "
                "'CSV UTF-8' when saving"
            )
            raise LabelsRefused(message) from error
        at += len(line)


@contextmanager
def cells_up_to(characters: int) -> Iterator[None]:
    """Set the limit for the length of CSV cells within this block."""
    with _LIMIT:
        previous = csv.field_size_limit(characters)
        try:
            yield
        finally:
            csv.field_size_limit(previous)


def _csv_lines(name: str, texts: Iterable[str]) -> Iterator[Line]:
    with cells_up_to(LONGEST_CELL):
        number = 0
        try:
            lines = (line for text in texts for line in _CSV_LINE.findall(text))
            header, separator, seen = read_header(name, lines)
            # Strict, since an unclosed quote would otherwise swallow all rows after it.
            rows = csv.reader(chain(seen, lines), delimiter=separator, strict=True)
            for number, row in enumerate(rows, start=1):
                if number > 1 and any(cell.strip() for cell in row):
                    yield _csv_line(number, header, row)
        except csv.Error as error:
            message = f"{name} is not readable CSV: {error}; save it again as CSV UTF-8"
            if "field limit" in str(error):
                message = f"{name} row {number + 1} has a cell of more than {_MEGABYTES} MB, so "
                message += "nothing of the file is taken; empty it"
            raise LabelsRefused(message) from error


def _csv_line(number: int, header: list[str], row: list[str]) -> Line:
    if len(row) > len(header):
        problem = f"has {len(row)} cells under {len(header)} columns; quote cells with commas"
        return Line(number, {}, problem)
    return Line(number, dict(zip(header, row, strict=False)), missing=tuple(header[len(row) :]))


def read_sheet(name: str, stream: IO[bytes]) -> tuple[list[str], list[SheetRow]]:
    """Read a workbook; returns its columns, and all rows including the header."""
    rows = workbooks().sheet_rows(name, stream, MOST_BYTES)
    cells = ["" if cell.value is None else str(cell.value).strip() for cell in rows[0] if rows]
    return _columns(name, [cells]), rows


def _sheet_lines(name: str, stream: IO[bytes]) -> Iterator[Line]:
    header, rows = read_sheet(name, stream)
    for number, row in enumerate(rows[1:], start=2):
        if row:
            problem = _sheet_problem(header, row)
            cells = dict(zip(header, (cell.value for cell in row), strict=False))
            yield Line(number, {} if problem else cells, problem)


def _sheet_problem(header: Sequence[str], row: SheetRow) -> str | None:
    if len(row) > len(header):
        return "has a cell outside of the columns; empty it, or give it a header"
    for column, cell in zip(header, row, strict=False):
        if own_name(column) is not None and cell.is_formula:
            return f"{column} is a formula, which is not computed; write the value itself"
        if isinstance(cell.value, str) and len(cell.value) > LONGEST_CELL:
            return _TOO_LONG
    return None


def read_header(name: str, lines: Iterable[str]) -> tuple[list[str], str, list[str]]:
    """Find the header and the separator; spreadsheets in many countries use semicolons.

    Also returns the lines read so far: the header, and possibly more.
    """
    coming, seen = iter(lines), list[str]()

    def more() -> Iterator[str]:
        for line in coming:
            seen.append(line)
            yield line

    readings: list[list[str]] = []
    for separator in ",;\t":
        first = next(csv.reader(chain(list(seen), more()), delimiter=separator), [])
        readings.append([unescape(cell.strip()) for cell in first])
        if {*map(own_name, readings[-1])} >= _NEEDED:
            return _columns(name, readings[-1:]), separator, seen
    return _columns(name, readings), ",", seen


def _columns(name: str, readings: Sequence[Sequence[str]]) -> list[str]:
    """Return the column names of the last reading; raises `LabelsRefused` if one is missing."""
    missing = _NEEDED - {own_name(cell) for cells in readings for cell in cells}
    if not {*map(own_name, readings[-1])} >= _NEEDED:
        columns = " and ".join(sorted(missing, reverse=True) or sorted(_NEEDED, reverse=True))
        message = (
            f"{name} has no column {columns}; the first row of a label file names the columns task "
            f"and label, and may name {', '.join((*OWN_COLUMNS[2:], LABELED_AT))} and others"
        )
        raise LabelsRefused(message)
    try:
        return own_names(readings[-1])
    except LabelsRefused as error:
        message = f"{name} {error}"
        raise LabelsRefused(message) from error


def _jsonl_lines(texts: Iterable[str]) -> Iterator[Line]:
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            continue
        try:
            row = _json(text)
            tool = tool_of(row)
            answers = [_jsonl_cells(row)] if tool is None else tool.answers(row)
        except LabelsRefused as problem:
            yield Line(number, {}, str(problem))
        else:
            yield from (Line(number, each) for each in answers)


def _jsonl_cells(row: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of a row by column; raises `LabelsRefused` if the row is invalid."""
    cells = dict(zip(own_names(list(row)), row.values(), strict=True))
    if not cells.keys() >= _NEEDED:
        raise LabelsRefused(_NO_LABEL_ROW)
    if any(isinstance(cell, str) and len(cell) > LONGEST_CELL for cell in cells.values()):
        raise LabelsRefused(_TOO_LONG)
    return cells


def _json(text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        message = f"is not JSON: {what}"
        raise LabelsRefused(message) from error
    if not isinstance(row, dict):
        raise LabelsRefused(_NO_LABEL_ROW)
    return row
