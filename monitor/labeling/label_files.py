"""Writes task files and reads label files: CSV and workbooks for spreadsheets, JSONL for tools.

Shown texts are untrusted, and spreadsheets change files. So cells that a spreadsheet would run as
formulas are escaped when written and restored when read, and each row is accepted or refused with a
reason.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby
from math import lgamma, log
from pathlib import Path
from typing import IO, Any, Literal

from monitor.domain.errors import LabelsRefused
from monitor.domain.labels import CLOCK_TOLERANCE
from monitor.domain.model import Collected, LabelEvent, Refusal, Task
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
    own_name,
    text_of,
    time_of,
)
from monitor.labeling.formats import tool, workbooks
from monitor.labeling.reading import LONGEST_CELL, Line, printable, read_lines
from monitor.presentation.numbers import minute_text

Format = Literal["csv", "xlsx", "jsonl", "prodigy", "doccano", "argilla"]
"""Formats of task files; filled files may have any of them."""

LONGEST_TEXT = LONGEST_CELL // 2  # Most characters of a text, so that filled files keep the limit
_BY_CHANCE = 1e-6
_COMPARED = 200  # Characters compared: a workbook cuts long texts, and all differ early
UNNAMED = "unnamed"
"""Name of the annotator if a row has none. It is always the same, so that a later file corrects an
earlier one instead of outvoting it."""


def file_ending(format: Format) -> str:
    """Return the extension of task files.

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

    The header of the answer column contains the question. A file is written completely or not at
    all; with ``new`` it never replaces another.
    """
    shuffled = sorted(tasks, key=_export_order)
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
    shown = map(_column_of, names)
    return [OWN_COLUMNS[0], *shown, asking_header(question), *OWN_COLUMNS[2:]]


def readable(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text for a task file: control characters are escaped, and long texts are cut."""
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
        if format != "jsonl":
            # As one text, since tools show only one; with names if there are several columns.
            parts = [f"{name}: {text}" for name, text in shown.items()]
            text = "\n\n".join(parts if len(shown) > 1 else shown.values())
            row = tool(format).row(task, text, question)
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

    path: A file with at least the columns ``task`` and ``label``, or a file of a labeling tool.
    tasks: The tasks that may be answered, by key.
    unknown_hint: Text for refusals of unknown keys, on where they were searched.
    follow: Whether the file may be a link.
    now: The current time, by default of this machine; answers from the future are refused.

    Raises `LabelsRefused` if the file cannot be used at all: missing, too large, not UTF-8, or
    without these columns.
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
    """Read a filled file as `read_labels` does; also return the answer of a cut-off last row."""
    rows = _FileRows(printable(path.name), tasks, unknown_hint, now or utc_now())
    for line in read_lines(path, follow=follow):
        rows.add(line)
    return rows.reading()


@dataclass(frozen=True, slots=True)
class _AnsweredRow:
    """An answered row; ``differing`` are the shown cells that differ from its task's content.

    ``differing`` is None if there was nothing to compare.
    """

    number: int
    event: LabelEvent
    missing: tuple[str, ...]
    cut: bool
    differing: tuple[tuple[str, str], ...] | None


@dataclass(slots=True)
class _FileRows:
    """The answered rows of a file, some of which can only be judged once all are read."""

    name: str
    tasks: Mapping[str, Task]
    unknown_hint: str
    now: datetime
    rows: list[_AnsweredRow] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)  # number of the row, and why
    used: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)  # keys of known tasks in the file, answered or not

    def add(self, line: Line) -> None:
        """Add a row."""
        self.used |= {name for name in ("annotator", LABELED_AT) if text_of(line.cells.get(name))}
        key = text_of(line.cells.get("task"))
        task = self.tasks.get(key)
        if task is not None:
            self.keys.add(key)
        try:
            event = _event(line, key, task)
        except ValueError as problem:
            self.refused.append((line.number, str(problem)))
            return
        if event is not None:
            # For tasks of other rounds, only the key is known, so there is no content to compare.
            is_own = task is not None and task.key == key
            shown = _differing(task, line.cells) if task is not None and is_own else None
            self.rows.append(_AnsweredRow(line.number, event, line.missing, line.cut, shown))

    def reading(self) -> tuple[Collected, LabelEvent | None]:
        """Return the result of all rows, and the answer of a cut-off last row."""
        unknown = [row.event.task_key for row in self.rows if row.event.task_key not in self.tasks]
        if unknown and not self.keys:
            return self._refused_whole(len(unknown), self._no_task_exists(unknown)), None
        moved, compared = self._moved()
        if moved and 2 * len(moved) >= compared:
            reason = _sorted_reason(list(moved.values()), compared)
            return self._refused_whole(len(self.rows), reason), None
        keyed = [row.event for row in self.rows if row.event.task_key in self.tasks]
        if _sorted_answers([(self.tasks[one.task_key], str(one.answer)) for one in keyed]):
            return self._refused_whole(len(self.rows), _SORTED_ANSWERS), None
        events: list[LabelEvent] = []
        cut: LabelEvent | None = None
        first: dict[tuple[object, ...], _AnsweredRow] = {}
        for row in self.rows:
            problem = self._problem(row, moved.get(row.number)) or _twice_reason(first, row)
            if problem is None:
                events.append(row.event)
                cut = row.event if row.cut else None
            else:
                self.refused.append((row.number, problem))
        return Collected(tuple(events), self._refusals()), cut

    def _refusals(self) -> tuple[Refusal, ...]:
        return tuple(
            Refusal(f"{self.name} row {number}", why) for number, why in sorted(self.refused)
        )

    def _refused_whole(self, rows: int, reason: str) -> Collected:
        refusal = Refusal(self.name, reason, rows=rows, is_problem=True)
        return Collected((), (refusal, *self._refusals()), problems=(str(refusal),))

    def _moved(self) -> tuple[dict[int, str], int]:
        """Return rows that show another task's content, with the column, and the number compared.

        Other differences, such as a date in the format of a spreadsheet, are ignored.
        """
        compared = [(row.number, row.differing) for row in self.rows if row.differing is not None]
        names = {name for _, cells in compared for name, _ in cells}
        shown = {
            (name, _plain(plain_text(task.shown[name])))
            for task in (self.tasks[key] for key in self.keys if names)
            for name in names & task.shown.keys()
        }
        first = [
            (number, next((cell[0] for cell in cells if cell in shown), None))
            for number, cells in compared
        ]
        return {number: name for number, name in first if name}, len(compared)

    def _problem(self, row: _AnsweredRow, moved: str | None) -> str | None:
        """Explain why a row cannot be accepted, given the tasks and other rows; None if it can."""
        event = row.event
        if event.task_key not in self.tasks:
            what = f"there is no task {event.task_key[:80]!r}"
            hint = f"; {self.unknown_hint}" if self.unknown_hint else ""
            what = what if event.task_key else "the task key is empty"
            return f"{what}{hint}; copy the column task as it was exported"
        # Spreadsheets omit cells of empty columns.
        lacking = row.missing if row.cut else [name for name in row.missing if name in self.used]
        if lacking:
            return (
                f"has no cell for the column {printable(lacking[0])[:80]}: is the row whole? Save "
                "the file again"
            )
        if moved is not None:
            return (
                f"shows the {printable(moved)[:80]} of another task: was it moved or sorted by "
                "itself? Copy the row as it was exported"
            )
        if event.at is not None and event.at > self.now + CLOCK_TOLERANCE:
            return (
                f"{LABELED_AT} {event.at.isoformat()} lies in the future: it is "
                f"{minute_text(self.now)} UTC now, and {CLOCK_TOLERANCE.seconds // 60} minutes "
                "more are allowed for clock differences. Correct it, or leave it empty: then the "
                "time of import counts"
            )
        return None

    def _no_task_exists(self, unknown: Sequence[str]) -> str:
        example = next(filter(None, unknown), "")
        hint = f"; {self.unknown_hint}" if self.unknown_hint else ""
        return (
            f"no task in it is known: {len(unknown)} answered row{'' if len(unknown) == 1 else 's'}"
            f", such as {example[:80]!r}{hint}; keys come from the column task of task "
            "files and of pr-monitor labels export, so copy it as it was exported"
        )


def _event(line: Line, key: str, task: Task | None) -> LabelEvent | None:
    """Parse the answer of a row; None if it is empty. Raises `ValueError` if a cell is invalid."""
    if line.problem is not None:
        raise ValueError(line.problem)
    answer = answer_of(line.cells.get("label"))
    if answer is None:
        return None
    annotator, at = annotator_of(line.cells.get("annotator")), time_of(line.cells.get(LABELED_AT))
    # An unnamed annotator of a second copy counts as another person.
    slot = 1 if task is None else task.slot
    return LabelEvent(
        key, annotator or (UNNAMED if slot <= 1 else f"{UNNAMED} {slot}"), answer, at=at
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


def _twice_reason(first: dict[tuple[object, ...], _AnsweredRow], row: _AnsweredRow) -> str | None:
    """Explain how a row repeats an earlier one in ``first``; else add it there and return None."""
    event = row.event
    before = first.setdefault((event.task_key, event.annotator, event.at), row)
    if before is row:
        return None
    if before.event.answer == event.answer:
        return f"repeats row {before.number}: the same task, annotator and label"
    return (
        f"contradicts row {before.number}, which says {str(before.event.answer)!r} for the same "
        "task and annotator and counts; keep one row per task, or name both annotators"
    )


def read_keys(path: Path) -> set[str]:
    """Return the task keys in a file, answered or not; empty if it cannot be read."""
    try:
        return {text_of(line.cells.get("task")) for line in read_lines(path)} - {""}
    except LabelsRefused:
        return set()


def _column_of(name: str) -> str:
    """Return the column name for shown content; a prefix avoids the program's own names."""
    return visible_lines(name if own_name(name) is None else f"shown {name}")


def _differing(task: Task, cells: Mapping[str, Any]) -> tuple[tuple[str, str], ...] | None:
    """Return the shown cells that differ from the task's content; None if none can be compared.

    Each comes with its name. Differences in case or number format are ignored.
    """
    compared = [
        (name, _plain(text_of(cells.get(_column_of(name).strip()))), _plain(plain_text(value)))
        for name, value in task.shown.items()
    ]
    compared = [(name, cell, shown) for name, cell, shown in compared if cell and shown]
    return (
        tuple((name, cell) for name, cell, shown in compared if cell != shown) if compared else None
    )


def _export_order(task: Task) -> str:
    """Return the sort key of a task in a task file: its place, else a hash of its key."""
    return task.place or hashlib.sha256(task.key.encode()).hexdigest()


def _sorted_answers(rows: Sequence[tuple[Task, str]]) -> bool:
    """Whether the answers of a file were sorted separately from its tasks.

    This is so if the rows, of task and answer, are in the random order of the export, but each
    answer forms one block of rows. By chance, this has a probability of ``d! a! b! ... / n!`` for
    ``n`` rows and ``d`` different answers with ``a``, ``b``, ... rows. Below one in a million, the
    answers count as sorted.

    >>> from monitor.domain.model import Task
    >>> _sorted_answers([(Task("t1", "a"), "yes"), (Task("t2", "b"), "no")])
    False
    """
    order = [_export_order(task) for task, _ in rows]
    counts = Counter(answer for _, answer in rows)
    blocks = sum(1 for _ in groupby(answer for _, answer in rows))
    if not 1 < len(counts) == blocks or order != sorted(order):
        return False
    log_chance = lgamma(len(counts) + 1) - lgamma(len(rows) + 1)
    log_chance += sum(lgamma(count + 1) for count in counts.values())
    return log_chance < log(_BY_CHANCE)


def _plain(text: str) -> str:
    """Normalize a cell so that changes by a spreadsheet do not matter.

    >>> _plain("  Two   words"), _plain("0.50") == _plain("0.5"), _plain("1e3") == _plain("1000")
    ('two words', True, True)
    """
    text = " ".join(visible_lines(text).casefold().split())[:_COMPARED]
    try:
        return repr(float(text))
    except ValueError:
        return text
