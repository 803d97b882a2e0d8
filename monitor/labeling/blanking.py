"""Taking texts out of label files, so that neither retention nor a deletion stops at the store.

Keys, answers and the names of people stay, and so does the time of the file: an answer without a
time is as old as its file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from monitor.domain.errors import LabelsRefused
from monitor.files.atomic_write import write_whole, write_whole_bytes
from monitor.labeling import tool_rows, workbook
from monitor.labeling.cells import LABELED_AT, OWN_COLUMNS, own_names, text_of, unescape
from monitor.labeling.reading import (
    MOST_BYTES,
    cells_up_to,
    is_workbook,
    opened,
    printable,
    read_header,
    sheet_header,
)

if TYPE_CHECKING:
    from monitor.labeling.workbook import SheetRow

RETAINED_COLUMNS = frozenset({*OWN_COLUMNS, LABELED_AT})
"""What is ours or an annotator's; any other column holds what was shown."""

_WORD = re.compile(rb"[\w.-]+")

WITHOUT_NOTES = RETAINED_COLUMNS - {"note"}
"""The same without what annotators wrote in their own words, which may repeat what was shown."""


def blank(path: Path, keys: Collection[str], retained: Collection[str] = RETAINED_COLUMNS) -> bool:
    """Empty what the rows of these tasks hold outside the kept columns; true if anything was there.

    Rows of other tasks stay as they are. A file that is no label file, or
    that cannot be read, is left alone.
    """
    if is_workbook(path):
        return _blank_workbook(path, frozenset(keys), frozenset(retained))
    try:
        text = _text_with(path, keys)
        if text is None:
            return False
        write = _blank_csv if path.suffix.lower() == ".csv" else _blank_jsonl
        result = write(path.name, text, frozenset(keys), frozenset(retained))
    except (LabelsRefused, UnicodeDecodeError, csv.Error):
        return False
    if result is not None:
        write_whole(path, result, same_time=True)
    return result is not None


def _blank_workbook(path: Path, keys: frozenset[str], retained: frozenset[str]) -> bool:
    """Write a workbook anew with the cells alone: texts may be in any other part of it too."""
    name = printable(path.name)
    try:
        with opened(path) as stream:
            rows = workbook.sheet_rows(name, stream, MOST_BYTES)
        header = sheet_header(name, rows[0] if rows else ())
    except LabelsRefused:
        return False
    if not any(_shows(row, header, keys, retained) for row in rows[1:]):
        return False
    values = [
        [
            cell.value if _is_retained(header, at, retained) or not is_of_task else ""
            for at, cell in enumerate(row)
        ]
        for row, is_of_task in ((row, _is_of(row, header, keys)) for row in rows[1:])
    ]
    titles = ["" if cell.value is None else str(cell.value) for cell in rows[0]]
    write_whole_bytes(path, workbook.workbook_bytes(titles, values), same_time=True)
    return True


def _shows(
    row: SheetRow, header: Sequence[str], keys: frozenset[str], retained: frozenset[str]
) -> bool:
    removed = (cell for at, cell in enumerate(row) if not _is_retained(header, at, retained))
    return _is_of(row, header, keys) and not all(cell.is_empty() for cell in removed)


def _is_of(row: SheetRow, header: Sequence[str], keys: frozenset[str]) -> bool:
    index = header.index("task")
    return len(row) > index and text_of(row[index].value) in keys


def _text_with(path: Path, keys: Collection[str]) -> str | None:
    """Text of a file, including cells of any length; None if it names no task."""
    with opened(path) as stream:
        content = stream.read()
    terms = (match[0].decode() for match in _WORD.finditer(content))
    return content.decode("utf-8-sig") if any(word in keys for word in terms) else None


def _blank_csv(name: str, text: str, keys: frozenset[str], retained: frozenset[str]) -> Any:
    with cells_up_to(MOST_BYTES):
        header, separator, _ = read_header(name, io.StringIO(text, newline=""))
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    blanked = rows[:1] + [_blank_row(row, header, keys, retained) for row in rows[1:]]
    return partial(_write_rows, rows=blanked, separator=separator) if blanked != rows else None


def _blank_row(
    row: list[str], header: Sequence[str], keys: frozenset[str], retained: frozenset[str]
) -> list[str]:
    index = header.index("task")
    if len(row) <= index or unescape(row[index].strip()) not in keys:
        return row
    return [cell if _is_retained(header, at, retained) else "" for at, cell in enumerate(row)]


def _is_retained(header: Sequence[str], at: int, retained: frozenset[str]) -> bool:
    return at < len(header) and header[at] in retained


def _write_rows(stream: IO[str], rows: Sequence[Sequence[str]], separator: str) -> None:
    csv.writer(stream, delimiter=separator).writerows(rows)


def _blank_jsonl(_: str, text: str, keys: frozenset[str], retained: frozenset[str]) -> Any:
    lines = text.split("\n")
    blanked = [_blank_line(line, keys, retained) for line in lines]
    return partial(_write_text, text="\n".join(blanked)) if blanked != lines else None


def _blank_line(line: str, keys: frozenset[str], retained: frozenset[str]) -> str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return line
    cells = _cells(row)
    if str(tool_rows.key_of(cells) or cells.get("task")) not in keys:
        return line
    blanked = tool_rows.blanked(cells, retained)
    if blanked is None:
        blanked = {name: value for name, value in cells.items() if name in retained}
    return line if blanked == cells else json.dumps(blanked, ensure_ascii=False)


def _cells(row: object) -> dict[str, Any]:
    """Values of a row by name, ours as we write them where it has each of them once."""
    if not isinstance(row, dict):
        return {}
    try:
        return dict(zip(own_names(list(row)), row.values(), strict=True))
    except LabelsRefused:
        return row


def _write_text(stream: IO[str], text: str) -> None:
    stream.write(text)
