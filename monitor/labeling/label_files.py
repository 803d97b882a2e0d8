"""Task and label files: CSV and workbooks for spreadsheets, JSONL for tools, both ways.

Payload text comes from strangers and files come back from spreadsheets, so cells that a
spreadsheet would run as formulas are escaped on the way out and restored on the way in, and each
row that comes back is accepted or refused with its reason.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Literal

from monitor.domain.errors import LabelsRefused
from monitor.domain.labels import CLOCK_TOLERANCE
from monitor.domain.model import Answer, Collected, LabelEvent, Refusal, Task
from monitor.domain.ports import utc_now
from monitor.domain.shown import plain_text
from monitor.domain.visible import visible_lines
from monitor.files.atomic_write import make_whole, write_whole
from monitor.labeling.cells import (
    LABELED_AT,
    OWN_COLUMNS,
    annotator_of,
    answer_of,
    asking_header,
    escape,
    text_of,
    time_of,
)
from monitor.labeling.formats import tool, workbooks
from monitor.labeling.moved_rows import (
    column_of,
    differing,
    export_order,
    moved_columns,
    sorted_answers,
)
from monitor.labeling.reading import LONGEST_CELL, Line, printable, read_lines
from monitor.presentation.numbers import minute_text

Format = Literal["csv", "xlsx", "jsonl", "prodigy", "doccano", "argilla"]
"""What a task file is like; what comes back may be any of them."""

LONGEST_TEXT = LONGEST_CELL // 2  # Of a text, so that a filled file comes back under the limit
UNNAMED = "unnamed"
"""Who answers where no annotator is named: one and the same person, so that a later file corrects
an earlier one and does not outvote it."""


def file_ending(format: Format) -> str:
    """Return how the names of task files end.

    >>> file_ending("csv"), file_ending("prodigy")
    ('csv', 'jsonl')
    """
    return format if format in ("csv", "xlsx") else "jsonl"


def write_tasks(
    target: Path | IO[str],
    tasks: Sequence[Task],
    format: Format,
    *,
    question: str | None = None,
    new: bool = False,
) -> None:
    """Write tasks for people to label: shuffled, blind, with empty cells to fill.

    The header of the answer column is the question, so that it cannot be taken for an
    answer, sorted away or lost. A path appears whole or not at all, if ``new`` never in place of
    another. Tasks come in the order of their places, which reveals nothing about their stratum and
    is the same on every export.
    """
    shuffled = sorted(tasks, key=export_order)
    shown_question = None if question is None else visible_lines(question)
    if format == "xlsx":
        if not isinstance(target, Path):
            message = "a workbook is a file of its own; name one"
            raise TypeError(message)
        names = _shown_names(shuffled)
        books = workbooks()
        texts = (_texts(task, names, books.LONGEST_TEXT) for task in shuffled)
        rows = [[task.key, *shown, "", "", ""] for task, shown in zip(shuffled, texts, strict=True)]
        content = books.workbook_bytes(_header(names, shown_question), rows)
        make_whole(target, lambda unfinished: unfinished.write_bytes(content), new=new)
        return
    write = _write_csv if format == "csv" else partial(_write_jsonl, format=format)
    if isinstance(target, Path):
        write_whole(target, lambda stream: write(stream, shuffled, shown_question), new=new)
    else:
        write(target, shuffled, shown_question)


def _write_csv(stream: IO[str], tasks: Sequence[Task], question: str | None) -> None:
    names = _shown_names(tasks)
    writer = csv.writer(stream)
    writer.writerow([escape(name) for name in _header(names, question)])
    for task in tasks:
        writer.writerow([*map(escape, [task.key, *_texts(task, names)]), "", "", ""])


def _texts(task: Task, names: Sequence[str], longest: int = LONGEST_TEXT) -> list[str]:
    return [readable(plain_text(task.shown.get(name, "")), longest) for name in names]


def _shown_names(tasks: Sequence[Task]) -> list[str]:
    return list(dict.fromkeys(name for task in tasks for name in task.shown))


def _header(names: Sequence[str], question: str | None) -> list[str]:
    shown = map(column_of, names)
    return [OWN_COLUMNS[0], *shown, asking_header(question), *OWN_COLUMNS[2:]]


def readable(text: str, longest: int = LONGEST_TEXT) -> str:
    """Make a text fit to be read in a task file: nothing in it steers, and it has an end."""
    safe = visible_lines(text)
    if len(safe) <= longest:
        return safe
    return f"{safe[:longest]} ... (cut here, of {len(text)} characters)"


def _write_jsonl(
    stream: IO[str], tasks: Sequence[Task], question: str | None, format: Format
) -> None:
    for task in tasks:
        shown = {
            visible_lines(name): readable(plain_text(value)) for name, value in task.shown.items()
        }
        if (of_tool := tool(format)) is not None:
            # As one text, which tools show: with names where it has parts.
            parts = [f"{name}: {text}" for name, text in shown.items()]
            text = "\n\n".join(parts if len(shown) > 1 else shown.values())
            row = of_tool.row(task, text, question)
        else:
            asks = {} if question is None else {"question": question}
            row = {"task": task.key, **asks, "shown": shown, **dict.fromkeys(OWN_COLUMNS[1:])}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_labels(
    path: Path,
    tasks: Mapping[str, Task],
    *,
    unknown_hint: str = "",
    follow: bool = False,
    now: datetime | None = None,
) -> Collected:
    """Read a filled file; each row is an event, a refusal, or not answered yet.

    path: A ``.csv``, ``.xlsx`` or ``.jsonl`` file with at least the columns ``task`` and ``label``;
        ``annotator`` (else one unnamed person) and ``labeled_at`` are optional. Or a ``.jsonl``
        file of Prodigy, doccano or Argilla.
    tasks: The tasks that may be answered, by key.
    unknown_hint: Says in a refusal where an unknown key was looked for.
    follow: Whether the file may be a link.
    now: The present, by this machine's clock unless given: an answer from the future is refused.

    Raises `LabelsRefused` if the file cannot be read at all: missing, too large, not UTF-8, no such
    columns.
    """
    return read_file(path, tasks, unknown_hint=unknown_hint, follow=follow, now=now)[0]


def read_file(
    path: Path,
    tasks: Mapping[str, Task],
    *,
    unknown_hint: str = "",
    follow: bool = False,
    now: datetime | None = None,
) -> tuple[Collected, LabelEvent | None]:
    """Read a filled file as `read_labels` does, and the answer of a last row without line break."""
    rows = _FileRows(printable(path.name), tasks, unknown_hint, now or utc_now())
    for line in read_lines(path, follow=follow):
        rows.add(line)
    return rows.reading()


@dataclass(frozen=True, slots=True)
class _AnsweredRow:
    number: int
    key: str = ""
    answer: Answer | None = None
    annotator: str = ""
    at: datetime | None = None
    missing: tuple[str, ...] = ()
    cut: bool = False
    problem: str | None = None
    differing: tuple[tuple[str, str], ...] | None = None
    """Shown cells that are not the task's; None where there was nothing to compare."""


@dataclass(slots=True)
class _FileRows:
    """The answered rows of a file; some mean something only once all are read."""

    name: str
    tasks: Mapping[str, Task]
    unknown_hint: str
    now: datetime
    rows: list[_AnsweredRow] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)  # Of all known tasks in the file, answered or not
    first: dict[tuple[object, ...], _AnsweredRow] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Note a row."""
        try:
            row = _row(line)
        except ValueError as problem:
            row = _AnsweredRow(line.number, problem=str(problem))
        self.used |= {name for name in ("annotator", LABELED_AT) if text_of(line.cells.get(name))}
        key = text_of(line.cells.get("task"))
        if key in self.tasks:
            self.keys.add(key)
            # The tasks of other rounds stand for themselves by their keys alone.
            if row is not None and self.tasks[key].key == key:
                row = replace(row, differing=differing(self.tasks[key], line.cells))
        if row is not None:
            self.rows.append(row)

    def reading(self) -> tuple[Collected, LabelEvent | None]:
        """Combine the rows, and return with them the answer of a cut last one."""
        unknown = [row for row in self._readable() if row.key not in self.tasks]
        if unknown and not self.keys:
            return self._refused_whole(unknown, self._no_task_exists(unknown)), None
        moved = self._moved()
        if moved and 2 * len(moved) >= (compared := len(self._compared())):
            rows = list(moved.values())
            return self._refused_whole(self._readable(), _sorted_reason(rows, compared)), None
        answered = [row for row in self._readable() if row.answer is not None]
        keyed = [row for row in answered if row.key in self.tasks]
        if sorted_answers([(self.tasks[row.key], str(row.answer)) for row in keyed]):
            return self._refused_whole(answered, _SORTED_ANSWERS), None
        events: list[LabelEvent] = []
        refused: list[Refusal] = []
        cut: LabelEvent | None = None
        for row in self.rows:
            try:
                event = self._event(row, moved.get(row.number))
            except ValueError as problem:
                refused.append(self._refusal(row, str(problem)))
                continue
            events.append(event)
            cut = event if row.cut else None
        return Collected(tuple(events), tuple(refused)), cut

    def _readable(self) -> list[_AnsweredRow]:
        return [row for row in self.rows if row.problem is None]

    def _compared(self) -> list[_AnsweredRow]:
        return [row for row in self._readable() if row.differing is not None]

    def _moved(self) -> dict[int, str]:
        """Find the rows that show another task of the file, by number, and the column that does."""
        rows = self._compared()
        if not any(row.differing for row in rows):
            return {}
        tasks = (self.tasks[key] for key in self.keys)
        columns = moved_columns([row.differing or () for row in rows], tasks)
        return {row.number: column for row, column in zip(rows, columns, strict=True) if column}

    def _refused_whole(self, rows: Sequence[_AnsweredRow], reason: str) -> Collected:
        refusal = Refusal(self.name, reason, rows=len(rows), is_problem=True)
        unread = [self._refusal(row, row.problem) for row in self.rows if row.problem is not None]
        return Collected((), (refusal, *unread), problems=(str(refusal),))

    def _refusal(self, row: _AnsweredRow, problem: str) -> Refusal:
        return Refusal(f"{self.name} row {row.number}", problem)

    def _event(self, row: _AnsweredRow, moved: str | None) -> LabelEvent:
        """Make the event of a row; a ValueError has the reason why it is missing."""
        if row.problem is not None or row.answer is None:
            raise ValueError(row.problem)
        if row.key not in self.tasks:
            message = f"there is no task {row.key[:80]!r}" if row.key else "the task key is empty"
            hint = f"; {self.unknown_hint}" if self.unknown_hint else ""
            message += f"{hint}; copy the column task as it was exported"
            raise ValueError(message)
        self._check_whole(row)
        if moved is not None:
            message = (
                f"shows the {printable(moved)[:80]} of another task: was it moved or sorted by "
                "itself? Copy the row as it was exported"
            )
            raise ValueError(message)
        if row.at is not None and row.at > self.now + CLOCK_TOLERANCE:
            raise ValueError(_future_reason(row.at, self.now))
        # Who answered a second copy without saying so is somebody else.
        slot = self.tasks[row.key].slot
        annotator = row.annotator or (UNNAMED if slot <= 1 else f"{UNNAMED} {slot}")
        event = LabelEvent(row.key, annotator, row.answer, at=row.at)
        first = self.first.setdefault((event.task_key, annotator, event.at), row)
        if first is not row:
            raise ValueError(_twice_reason(first, row))
        return event

    def _check_whole(self, row: _AnsweredRow) -> None:
        """Refuse a row that lacks cells, except of an empty column, which spreadsheets omit."""
        lacking = row.missing if row.cut else [name for name in row.missing if name in self.used]
        if lacking:
            message = (
                f"has no cell for the column {printable(lacking[0])[:80]}: is the row whole? Save "
                "the file again"
            )
            raise ValueError(message)

    def _no_task_exists(self, unknown: Sequence[_AnsweredRow]) -> str:
        example = next((row.key for row in unknown if row.key), "")
        hint = f"; {self.unknown_hint}" if self.unknown_hint else ""
        return (
            f"no task in it is known: {len(unknown)} answered row{'' if len(unknown) == 1 else 's'}"
            f", such as {example[:80]!r}{hint}; keys come from the column task of task "
            "files and of pr-monitor labels export, so copy it as it was exported"
        )


def _sorted_reason(columns: Sequence[str], compared: int) -> str:
    [(column, _)] = Counter(columns).most_common(1)
    return (
        f"in {len(columns)} of {compared} answered rows what is shown (column "
        f"{printable(column)[:80]}) is that of another task: was one column sorted by itself? The "
        "answers may belong to other items, so nothing of the file is taken. Undo the sorting, or "
        "export the tasks again and sort whole rows only"
    )


_SORTED_ANSWERS = (
    "tasks are in the random order of the export, but the answers are sorted: was the column of "
    "answers sorted by itself? They may belong to other items, so nothing of the file is taken. "
    "Undo the sorting; if the answers are right, sort whole rows by the column task and save again"
)


def _future_reason(at: datetime, now: datetime) -> str:
    return (
        f"{LABELED_AT} {at.isoformat()} lies in the future: it is {minute_text(now)} UTC now, and "
        f"{CLOCK_TOLERANCE.seconds // 60} minutes more are allowed for clocks that differ. "
        "Correct it, or leave it empty: then the answer is as old as its import"
    )


def _row(line: Line) -> _AnsweredRow | None:
    """Read the cells of a row; None if it is not answered. A ValueError has what is wrong."""
    if line.problem is not None:
        raise ValueError(line.problem)
    answer = answer_of(line.cells.get("label"))
    if answer is None:
        return None
    annotator, at = annotator_of(line.cells.get("annotator")), time_of(line.cells.get(LABELED_AT))
    key = text_of(line.cells.get("task"))
    return _AnsweredRow(line.number, key, answer, annotator, at, line.missing, line.cut)


def _twice_reason(first: _AnsweredRow, row: _AnsweredRow) -> str:
    if first.answer == row.answer:
        return f"repeats row {first.number}: the same task, annotator and label"
    return (
        f"contradicts row {first.number}, which says {str(first.answer)!r} for the same task and "
        "annotator and counts; keep one row per task, or name both annotators"
    )


def read_keys(path: Path) -> set[str]:
    """Task keys in a file, answered or not; empty where it cannot be read."""
    try:
        return {text_of(line.cells.get("task")) for line in read_lines(path)} - {""}
    except LabelsRefused:
        return set()
