"""Removal of shown content from label files, so that retention and deletion cover files too.

Keeps keys, answers, names of people, and the time of the file, which dates answers without a time.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.domain.errors import LabelsRefused
from monitor.files.atomic_write import make_whole
from monitor.labeling.cells import LABELED_AT, OWN_COLUMNS, own_names, text_of
from monitor.labeling.formats import tool_of, workbooks
from monitor.labeling.reading import (
    MOST_BYTES,
    cells_up_to,
    is_workbook,
    opened,
    printable,
    read_header,
    read_sheet,
)

RETAINED_COLUMNS = frozenset({*OWN_COLUMNS, LABELED_AT})
"""Columns of the program or of annotators; all other columns have shown content."""

WITHOUT_NOTES = RETAINED_COLUMNS - {"note"}
"""The same without free text by annotators, which may repeat shown content."""

_WORD = re.compile(rb"[\w.-]+")


def blank(path: Path, keys: Collection[str], retained: Collection[str] = RETAINED_COLUMNS) -> bool:
    """Empty all but the retained columns in the rows of these tasks; False if nothing was there.

    Rows of other tasks are unchanged. Files that are not label files, or cannot be read, are left
    unchanged.
    """
    blanking = _Blanking(frozenset(keys), frozenset(retained))
    try:
        content = blanking.of_workbook(path) if is_workbook(path) else blanking.of_text(path)
    except (LabelsRefused, UnicodeDecodeError, csv.Error):
        return False
    if content is None:
        return False
    make_whole(path, lambda unfinished: unfinished.write_bytes(content), same_time=True)
    return True


@dataclass(frozen=True, slots=True)
class _Blanking:
    """Empties cells in the rows of some tasks, except in the retained columns.

    The method of each format returns the new content of a file; None if nothing changes.
    """

    keys: frozenset[str]
    retained: frozenset[str]

    def of_workbook(self, path: Path) -> bytes | None:
        """Return a new workbook with the cells only, since other parts may contain texts too."""
        with opened(path) as stream:
            header, rows = read_sheet(printable(path.name), stream)
        values = [[cell.value for cell in row] for row in rows[1:]]
        blanked = [self._row(row, header) for row in values]
        if [[*map(text_of, row)] for row in blanked] == [[*map(text_of, row)] for row in values]:
            return None
        titles = ["" if cell.value is None else str(cell.value) for cell in rows[0]]
        return workbooks().workbook_bytes(titles, blanked)

    def of_text(self, path: Path) -> bytes | None:
        """Return the new content of a text file; files without the keys are not parsed."""
        with opened(path) as stream:
            content = stream.read()
        if not any(match[0].decode() in self.keys for match in _WORD.finditer(content)):
            return None
        text, is_csv = content.decode("utf-8-sig"), path.suffix.lower() == ".csv"
        if is_csv:
            blanked = self._csv(path.name, text)
        else:
            blanked = "\n".join(map(self._line, text.split("\n")))
        return None if blanked in {None, text} else str(blanked).encode(errors="replace")

    def _csv(self, name: str, text: str) -> str | None:
        with cells_up_to(MOST_BYTES):
            header, separator, _ = read_header(name, io.StringIO(text, newline=""))
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
        blanked = rows[:1] + [self._row(row, header) for row in rows[1:]]
        if blanked == rows:
            return None
        written = io.StringIO(newline="")
        csv.writer(written, delimiter=separator).writerows(blanked)
        return written.getvalue()

    def _row(self, row: list[Any], header: Sequence[str]) -> list[Any]:
        index = header.index("task")
        if len(row) <= index or text_of(row[index]) not in self.keys:
            return row
        return [
            cell if at < len(header) and header[at] in self.retained else ""
            for at, cell in enumerate(row)
        ]

    def _line(self, line: str) -> str:
        try:
            cells = _cells(json.loads(line))
        except (ValueError, RecursionError):
            return line
        tool = tool_of(cells)
        if str(cells.get("task") if tool is None else tool.key(cells)) not in self.keys:
            return line
        if tool is None:
            blanked = {name: value for name, value in cells.items() if name in self.retained}
        else:
            blanked = tool.blanked(cells, self.retained)
        return line if blanked == cells else json.dumps(blanked, ensure_ascii=False)


def _cells(row: object) -> dict[str, Any]:
    """Return the values of a row by name; if unambiguous, our columns get our spelling."""
    if not isinstance(row, dict):
        return {}
    try:
        return dict(zip(own_names(list(row)), row.values(), strict=True))
    except LabelsRefused:
        return row
