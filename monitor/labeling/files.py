"""Labels through files: tasks are written to a folder, filled copies are dropped back into it."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Collected, LabelEvent, Refusal
from monitor.domain.settings import Labeling
from monitor.labeling.label_files import (
    OWN_COLUMNS,
    Format,
    Line,
    read_keys,
    read_labels,
    read_lines,
    write_tasks,
    write_whole,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.domain.model import Task

__all__ = ["FilesLabeler", "FilesSettings", "read_labels", "write_tasks"]

_LABEL_FILES = frozenset({".csv", ".jsonl", ".ndjson"})


class FilesSettings(Labeling):
    """Where task files go and filled ones come back (``<folder>/filled``)."""

    kind: Literal["files"] = "files"
    folder: str = "labels"
    format: Format = "csv"


class FilesLabeler:
    """A `Labeler` over a folder.

    Tasks of a round stand in ``<folder>/<round>.csv``; tasks added later in ``<round>.part2.csv``
    and so on, second copies for another person in ``<round>.second.csv``. A file that people may
    have filled is never written over.
    """

    name = "files"
    asks_people = True

    def __init__(self, settings: FilesSettings, base_folder: Path | str = ".") -> None:
        self.settings = settings
        self.folder = Path(base_folder) / settings.folder
        self.filled = self.folder / "filled"

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Write the tasks that stand in no file of this round yet.

        Raises
        ------
        LabelsRefused
            If they cannot be written, naming the file.
        """
        self.make_folder()
        parts = self._parts(round_name)
        out = {key for part in parts for key in read_keys(part)}
        for second in (False, True):
            missing = [task for task in tasks if task.key not in out and (task.slot > 1) is second]
            if missing:
                self._write(round_name, missing, second=second)

    def _write(self, round_name: str, tasks: Sequence[Task], *, second: bool) -> None:
        free = (self._part(round_name, number, second=second) for number in count(1))
        path = next(path for path in free if not path.exists())
        try:
            write_tasks(path, tasks, self.settings.format)
        except OSError as error:
            raise self._unwritable(path, error) from error

    def make_folder(self) -> None:
        """Make the folders for task files and filled ones.

        Raises
        ------
        LabelsRefused
            If they cannot be made or written.
        """
        try:
            self.filled.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise self._unwritable(self.folder, error) from error

    def _unwritable(self, path: Path, error: OSError) -> LabelsRefused:
        message = (
            f"labeling.folder: {path} cannot be written: {(error.strerror or str(error)).lower()}; "
            "let this user write there, or name another folder"
        )
        return LabelsRefused(message)

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Read the filled files, all of them if any changed since the cursor.

        An answer without a time of its own is as old as its file, so the same folder always
        gives the same events, and of two files the one saved last counts.
        """
        paths = self._filled_files()
        now = _state(paths, tasks)
        if now == cursor:
            return Collected(cursor=cursor)
        others = self._keys_of_other_rounds(tasks)
        known = f"it stands in no task file of {self.folder.name}/ either"
        events: list[LabelEvent] = []
        refused: list[Refusal] = []
        for path in sorted(paths, key=lambda path: (_stamp(path)[0], path.name)):
            try:
                found = read_labels(path, {**others, **tasks}, known=known)
            except LabelsRefused as error:
                refused.append(Refusal(path.name, str(error)))
                continue
            refused.extend(found.refused)
            saved = datetime.fromtimestamp(_stamp(path)[0] / 1e9, tz=UTC)
            events += [
                replace(event, at=event.at or saved)
                for event in found.events
                if event.task_key in tasks
            ]
        return Collected(tuple(events), tuple(refused), now)

    def close(self, round_name: str) -> None:
        """Take what was shown out of the round's task files; keys and labels stay.

        Filled copies belong to the people who made them and stay as they are.
        """
        for part in self._parts(round_name):
            try:
                lines = read_lines(part)
            except LabelsRefused:
                continue
            write = _bare_csv if part.suffix == ".csv" else _bare_jsonl
            write_whole(part, partial(write, lines=lines))

    def _part(self, round_name: str, number: int, *, second: bool) -> Path:
        part = (".second" if second else "") + ("" if number == 1 else f".part{number}")
        return self.folder / f"{_file_name(round_name)}{part}.{self.settings.format}"

    def _parts(self, round_name: str) -> list[Path]:
        name = re.escape(_file_name(round_name))
        pattern = re.compile(rf"{name}(\.second)?(\.part(\d+))?\.(csv|jsonl)")
        return [path for path in _label_files(self.folder) if pattern.fullmatch(path.name)]

    def _filled_files(self) -> list[Path]:
        return _label_files(self.filled)

    def _keys_of_other_rounds(self, tasks: Mapping[str, Task]) -> dict[str, Task]:
        """Tasks that some round here handed out: their labels are collected with that round."""
        some_task = next(iter(tasks.values()), None)
        if some_task is None:
            return {}
        keys = {key for path in _label_files(self.folder) for key in read_keys(path)}
        return dict.fromkeys(keys, some_task)


def _label_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in _LABEL_FILES and not path.name.startswith(".")
    )


def _file_name(round_name: str) -> str:
    """Round name as a file name.

    >>> _file_name("mail/travel 3"), _file_name("../etc")
    ('mail-travel-3', '-etc')
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", round_name).lstrip(".") or "round"


def _stamp(path: Path) -> tuple[int, int]:
    """Time of change and size; zeros where the file went away meanwhile."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _state(paths: Sequence[Path], tasks: Mapping[str, Task]) -> str:
    """Tell one state of the folder and the tasks from another, without reading the files."""
    files = [[path.name, *_stamp(path)] for path in paths]
    return hashlib.sha256(json.dumps([files, sorted(tasks)]).encode()).hexdigest()


def _bare_csv(stream: IO[str], lines: Sequence[Line]) -> None:
    writer = csv.writer(stream)
    writer.writerow(OWN_COLUMNS)
    writer.writerows([line.cells.get(name, "") for name in OWN_COLUMNS] for line in _rows(lines))


def _bare_jsonl(stream: IO[str], lines: Sequence[Line]) -> None:
    for line in _rows(lines):
        stream.write(json.dumps({name: line.cells.get(name) for name in OWN_COLUMNS}) + "\n")


def _rows(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line.problem is None]
