"""Task and label files: CSV for spreadsheets, JSONL for tools, both ways.

Payload text comes from strangers and files come back from spreadsheets, so cells that a
spreadsheet would run as formulas are escaped on the way out and restored on the way in, and each
row that comes back is accepted or refused with its reason.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Collected, LabelEvent, Refusal
from monitor.labeling.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from monitor.domain.model import Task

Format = Literal["csv", "jsonl"]

OWN_COLUMNS = ("task", "label", "annotator", "note")
LABELED_AT = "labeled_at"
MOST_BYTES = 64 * 2**20  # a label file of 200,000 tasks is about 20 MB without its texts
LONGEST_NAME = 200
FIRST_YEAR, LAST_YEAR = 1970, 2199
"""Of an answer: beyond them a time is a slip, and some cannot be told in another zone."""
_DANGEROUS = re.compile(r"'*[=+\-@\t\r]")
_WANTED = "a label is 1 (positive), 0 (negative) or 'cannot tell'"


UNNAMED = "unnamed"
"""Who answers where no annotator is named: one and the same person, so that a later file corrects
an earlier one and does not outvote it."""


def escape(cell: str) -> str:
    """Keep a spreadsheet from running a cell as a formula.

    >>> escape("=1+1"), escape("'=1"), escape("plain")
    ("'=1+1", "''=1", 'plain')
    """
    return "'" + cell if _DANGEROUS.match(cell) else cell


def unescape(cell: str) -> str:
    """Undo `escape`.

    >>> unescape("'=1+1"), unescape("''=1"), unescape("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return cell[1:] if cell.startswith("'") and _DANGEROUS.match(cell) else cell


def write_tasks(
    target: Path | IO[str], tasks: Sequence[Task], format: Format, *, new: bool = False
) -> None:
    """Write tasks for people to label: shuffled, blind, with empty cells to fill.

    A path appears whole or not at all, if ``new`` never in place of another. Tasks come in the
    order of a hash of their keys, which tells nothing about their stratum and is the same on
    every export.
    """
    shuffled = sorted(tasks, key=lambda task: hashlib.sha256(task.key.encode()).digest())
    write = _write_csv if format == "csv" else _write_jsonl
    if isinstance(target, Path):
        write_whole(target, lambda stream: write(stream, shuffled), new=new)
    else:
        write(target, shuffled)


def _write_csv(stream: IO[str], tasks: Sequence[Task]) -> None:
    names = list(dict.fromkeys(name for task in tasks for name in task.shown))
    writer = csv.writer(stream)
    writer.writerow(["task", *(escape(_beside_ours(name)) for name in names), *OWN_COLUMNS[1:]])
    for task in tasks:
        texts = (escape(task.shown.get(name, "")) for name in names)
        writer.writerow([escape(task.key), *texts, "", "", ""])


def _beside_ours(name: str) -> str:
    return f"shown {name}" if name in (*OWN_COLUMNS, LABELED_AT) else name


def _write_jsonl(stream: IO[str], tasks: Sequence[Task]) -> None:
    for task in tasks:
        row: dict[str, object] = {"task": task.key, "shown": dict(task.shown)}
        row.update(dict.fromkeys(OWN_COLUMNS[1:]))
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a label file, as written there; ``problem`` where it is no row at all."""

    number: int
    cells: Mapping[str, Any]
    problem: str | None = None


def read_labels(path: Path, tasks: Mapping[str, Task], *, known: str = "") -> Collected:
    """Read a filled file; each row is an event, a refusal, or not answered yet.

    Parameters
    ----------
    path
        A ``.csv`` or ``.jsonl`` file with at least the columns ``task`` and ``label``;
        ``annotator`` (else one unnamed person) and ``labeled_at`` are optional.
    tasks
        The tasks that may be answered, by key.
    known
        Says in a refusal where an unknown key was looked for.

    Raises
    ------
    LabelsRefused
        If the file cannot be read at all: missing, too large, not UTF-8, no such columns.
    """
    events: list[LabelEvent] = []
    refused: list[Refusal] = []
    first: dict[tuple[str, str, datetime | None], tuple[int, Answer]] = {}
    for line in read_lines(path):
        where = f"{printable(path.name)} row {line.number}"
        try:
            event = _event(line, tasks, known)
            if event is not None:
                _check_once(event, line.number, first)
                events.append(event)
        except ValueError as problem:
            refused.append(Refusal(where, str(problem)))
    return Collected(tuple(events), tuple(refused))


def _event(line: Line, tasks: Mapping[str, Task], known: str) -> LabelEvent | None:
    """Make the event of a row, or None where it is not answered; a ValueError says why not."""
    if line.problem is not None:
        raise ValueError(line.problem)
    answer = _answer(line.cells.get("label"))
    key = _text(line.cells.get("task"))
    if answer is None:
        return None
    if key not in tasks:
        message = f"there is no task {key[:80]!r}" if key else "the task key is empty"
        hint = f"; {known}" if known else ""
        message += f"{hint}; copy the column task as it was exported"
        raise ValueError(message)
    annotator = _annotator(line.cells.get("annotator")) or _unnamed(tasks[key])
    return LabelEvent(key, annotator, answer, at=_time(line.cells.get(LABELED_AT)))


def _annotator(cell: object) -> str:
    """Name of a person; one that no database holds or no screen shows is none."""
    text = _text(cell)
    if len(text) > LONGEST_NAME or not text.isprintable():
        message = (
            f"annotator {text[:40]!r} is no name: wanted up to {LONGEST_NAME} characters, and no "
            "control characters"
        )
        raise ValueError(message)
    return text


def _unnamed(task: Task) -> str:
    """Name who answered a copy without saying so; a second copy went to somebody else."""
    return UNNAMED if task.slot == 1 else f"{UNNAMED} {task.slot}"


def _text(cell: object) -> str:
    return "" if cell is None else unescape(str(cell).strip())


def _answer(cell: object) -> Answer | None:
    text = " ".join(_text(cell).lower().split())
    if not text:
        return None
    if isinstance(cell, bool) or text not in set(Answer):
        message = f"label {_text(cell)[:80]!r} is not known; {_WANTED}, and empty until answered"
        raise ValueError(message)
    return Answer(text)


def _time(cell: object) -> datetime | None:
    text = _text(cell)
    if not text:
        return None
    wanted = f"{LABELED_AT} {text[:80]!r}: wanted ISO 8601 with an offset, such as "
    wanted += "2026-03-02T06:00:00+00:00, or nothing"
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(wanted) from error
    if at.tzinfo is None or not FIRST_YEAR <= at.year <= LAST_YEAR:
        raise ValueError(wanted)
    return at


def _check_once(
    event: LabelEvent,
    number: int,
    first: dict[tuple[str, str, datetime | None], tuple[int, Answer]],
) -> None:
    identity = (event.task_key, event.annotator, event.at)
    if event.answer is None or identity not in first:
        first[identity] = (number, event.answer or Answer.CANNOT_TELL)
        return
    row, answer = first[identity]
    if answer == event.answer:
        message = f"repeats row {row}: the same task, annotator and label"
    else:
        message = (
            f"contradicts row {row}, which says {str(answer)!r} for the same task and annotator "
            f"and counts; keep one row per task, or name both annotators"
        )
    raise ValueError(message)


def printable(text: str) -> str:
    """Show a text of strangers, as the name of a file, without what a screen or a log cannot."""
    return "".join(each if each.isprintable() else "?" for each in text)


def read_keys(path: Path) -> set[str]:
    """Task keys in a file, answered or not; empty where it cannot be read."""
    try:
        return {_text(line.cells.get("task")) for line in read_lines(path)} - {""}
    except LabelsRefused:
        return set()


def read_lines(path: Path) -> list[Line]:
    """All rows of a label file."""
    text, name = read_text(path), printable(path.name)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return list(_jsonl_lines(text))
    if path.suffix.lower() != ".csv":
        message = f"{name}: label files are .csv or .jsonl; save it as one of them"
        raise LabelsRefused(message)
    with long_cells():
        try:
            return list(_csv_lines(name, text))
        except csv.Error as error:
            message = f"{name} is not readable CSV: {error}; save it again as CSV UTF-8"
            raise LabelsRefused(message) from error


def read_text(path: Path) -> str:
    """Text of a label file, or why it cannot be one."""
    name = printable(path.name)
    try:
        if not path.is_file() and path.exists():
            message = f"{name} is no file; label files are .csv or .jsonl"
            raise LabelsRefused(message)
        size = path.stat().st_size
        if size > MOST_BYTES:
            message = (
                f"{name} has {size / 2**20:.0f} MB, more than the {MOST_BYTES / 2**20:.0f} MB "
                "that a label file may have; keep only the columns task, label and annotator"
            )
            raise LabelsRefused(message)
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"{printable(str(path))} cannot be read: {reason}; check the path"
        raise LabelsRefused(message) from error
    except UnicodeDecodeError as error:
        message = (
            f"{name} is not UTF-8 (byte {error.object[error.start]:#04x} at {error.start}); "
            "in the spreadsheet choose 'CSV UTF-8' when saving"
        )
        raise LabelsRefused(message) from error


@contextmanager
def long_cells() -> Iterator[None]:
    """Allow cells as long as a file may be, for this reading only."""
    before = csv.field_size_limit(MOST_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _csv_lines(name: str, text: str) -> Iterator[Line]:
    header, separator = read_header(name, text)
    # Strict, since a quote that is never closed would else swallow all rows after it.
    rows: Iterable[list[str]] = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, strict=True
    )
    for number, row in enumerate(rows, start=1):
        if number == 1 or not any(cell.strip() for cell in row):
            continue
        if len(row) > len(header):
            problem = f"has {len(row)} cells under {len(header)} columns; quote cells with commas"
            yield Line(number, {}, problem)
        else:
            yield Line(number, dict(zip(header, row, strict=False)))


def read_header(name: str, text: str) -> tuple[list[str], str]:
    """Find the header and the separator; spreadsheets of half the world write semicolons."""
    readings = {}
    for separator in ",;\t":
        first = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
        readings[separator] = [unescape(cell.strip()) for cell in first]
        if {"task", "label"} <= set(readings[separator]):
            _check_header(name, readings[separator])
            return readings[separator], separator
    widest = max(readings.values(), key=_width)
    found = printable(", ".join(widest)[:200])
    missing = " and ".join(column for column in ("task", "label") if column not in widest)
    message = f"{name} has no column {missing}; its first row is: {found or '(empty)'}"
    raise LabelsRefused(message)


def _width(cells: Sequence[str]) -> int:
    return len(cells)


def _check_header(name: str, header: Sequence[str]) -> None:
    for column in (*OWN_COLUMNS, LABELED_AT):
        if header.count(column) > 1:
            message = f"{name} has the column {column} {header.count(column)} times; keep one"
            raise LabelsRefused(message)


def _jsonl_lines(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Line(number, {}, f"is not JSON: {error}")
            continue
        if not isinstance(row, dict) or "task" not in row or "label" not in row:
            yield Line(number, {}, "is not an object with the keys task and label")
        else:
            yield Line(number, row)
