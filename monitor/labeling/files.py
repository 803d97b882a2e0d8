"""Labels by files: the program writes tasks to a folder, people put filled copies beside them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Literal

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Collected, Task
from monitor.domain.setting_types import Question
from monitor.domain.settings import Labeling
from monitor.files.atomic_write import remove_unfinished
from monitor.labeling import folder_scan
from monitor.labeling.blanking import RETAINED_COLUMNS, WITHOUT_NOTES, blank
from monitor.labeling.folder_scan import FileCursor, FileStamp, FolderScan, file_stamp
from monitor.labeling.formats import workbooks
from monitor.labeling.label_files import Format, file_ending, read_keys, read_labels, write_tasks

__all__ = ["FilesLabeler", "FilesSettings", "read_labels", "write_tasks"]

_LABEL_FILES = frozenset({".csv", ".xlsx", ".jsonl", ".ndjson"})
_NO_FILES = (".", "~$")  # hidden files, and lock files of spreadsheets


class FilesSettings(Labeling):
    """Folder for task files, and for filled ones (``<folder>/filled``).

    A round stores the folder of its tasks; filled files in a folder configured later count too.
    ``question`` is a yes-or-no question in the header of the answer column. ``format`` is the
    format of task files; filled files may have any format (docs/how-to/label-files.md).
    """

    kind: Literal["files"] = "files"
    folder: str = "labels"
    format: Format = "csv"
    question: Question | None = None


class FilesLabeler:
    """A `Labeler` over a folder; it never overwrites files that people may have filled.

    The tasks of a round are in ``<round>.csv``, tasks added later in ``<round>.part2.csv`` and so
    on, second copies for another person in ``<round>.second.csv``.
    """

    name = "files"
    asks_people = True

    def __init__(self, settings: FilesSettings, base_folder: Path | str = ".") -> None:
        self.settings = settings
        self.folder = Path(base_folder) / settings.folder
        self.filled = self.folder / "filled"

    @property
    def question(self) -> str | None:
        """The question for people; None if the config has none."""
        return self.settings.question

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Write the tasks that no file of this round has yet."""
        self.make_folder()
        remove_unfinished(self.folder)
        for second in (False, True):
            copies = [task for task in tasks if (task.slot > 1) is second]
            while not self._sent(round_name, copies, second=second):
                pass  # another worker wrote the same file meanwhile; check again

    def _sent(self, round_name: str, tasks: Sequence[Task], *, second: bool) -> bool:
        parts = self._parts(round_name)
        out = {key for part in parts for key in read_keys(part)}
        missing = [task for task in tasks if task.key not in out]
        if not missing:
            return True
        names = (self._part(round_name, number, second=second) for number in count(1))
        path = next(path for path in names if path not in parts)
        try:
            write_tasks(path, missing, self.settings.format, question=self.question, new=True)
        except FileExistsError:
            return False
        except OSError as error:
            raise self._unwritable(path, error) from error
        return True

    def make_folder(self) -> None:
        """Create the folders for task files and filled ones."""
        if self.settings.format == "xlsx":
            workbooks().check_installed()
        try:
            self.filled.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass  # permission bits do not show a full disk or a read-only mount
        except OSError as error:
            raise self._unwritable(self.folder, error) from error

    def _unwritable(self, path: Path, error: OSError) -> LabelsRefused:
        message = (
            f"labeling.folder: {path} cannot be written: {(error.strerror or str(error)).lower()}; "
            "let this user write there, or name another folder"
        )
        return LabelsRefused(message)

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Read all filled files if any of them changed since the cursor.

        An answer without a time gets the time of its file. So the same folder always gives the same
        events, and the file saved last counts.
        """
        self._check_folder()
        previous, stamps = FileCursor.of(cursor), self._stamps()
        if self._state(stamps, tasks) == previous.state:
            return Collected(cursor=cursor, waits=previous.waits, was_read=False)
        if any(stamp.is_fresh() for stamp in stamps.values()):
            folder_scan.pause()  # so that the second stamps show files still being written
        hint = f"it is in no task file of {self.folder.name}/ either"
        scan = FolderScan(stamps, self._stamps(), {**self._others(tasks), **tasks}, hint)
        read = scan.read(previous)
        # An empty state never matches, so that the next pass reads the folder again.
        state = "" if scan.retry else self._state(scan.stamps, tasks)
        return replace(
            read,
            events=tuple(event for event in read.events if event.task_key in tasks),
            cursor=FileCursor(state=state, waits=read.waits, cut=scan.cut).model_dump_json(),
        )

    def _check_folder(self) -> None:
        """Raise `LabelsRefused` if the folder is missing (an unmounted share) or is a link."""
        if self.filled.is_symlink():
            message = (
                f"labeling.folder: {self.filled} is a link, which is not followed; make it a "
                "folder, or name the folder itself in labeling.folder"
            )
            raise LabelsRefused(message)
        if not self.filled.exists():
            message = (
                f"labeling.folder: {self.filled} is missing, so labels cannot be read; mount "
                "or restore it, or make an empty one if it is no longer needed"
            )
            raise LabelsRefused(message)

    @property
    def location(self) -> str:
        """The folder of filled files."""
        return str(self.filled)

    def state(self) -> str:
        """Return a text that changes with the filled files, without reading them."""
        self._check_folder()
        stamps = self._stamps()
        readable = [os.access(path, os.R_OK) for path in stamps]
        return f"{self._state(stamps, {})} {readable}"

    def _stamps(self) -> dict[Path, FileStamp]:
        return {path: file_stamp(path) for path in self._filled_files()}

    def _state(self, stamps: Mapping[Path, FileStamp], tasks: Mapping[str, Task]) -> str:
        """Return a text that changes with the folder and the tasks, without reading files."""
        files = [[path.name, *stamp, stamp.stood()] for path, stamp in stamps.items()]
        plain = json.dumps([self.location, files, sorted(tasks)])
        return hashlib.sha256(plain.encode()).hexdigest()

    def close(self, round_name: str) -> None:
        """Remove shown content from all files of the round; keys and labels stay."""
        parts = self._parts(round_name)
        keys = {key for part in parts for key in read_keys(part)}
        for path in [*parts, *self._filled_files()]:
            self._blanked(path, keys, RETAINED_COLUMNS)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:
        """Remove shown content and notes of these tasks from the round's and the filled files."""
        return tuple(
            str(path)
            for path in [*self._parts(round_name), *self._filled_files()]
            if self._blanked(path, keys, WITHOUT_NOTES)
        )

    def _blanked(self, path: Path, keys: Collection[str], retained: Collection[str]) -> bool:
        try:
            return blank(path, keys, retained)
        except OSError as error:
            raise self._unwritable(path, error) from error

    def _part(self, round_name: str, number: int, *, second: bool) -> Path:
        part = (".second" if second else "") + ("" if number == 1 else f".part{number}")
        return self.folder / f"{_file_name(round_name)}{part}.{file_ending(self.settings.format)}"

    def _parts(self, round_name: str) -> list[Path]:
        name = re.escape(_file_name(round_name))
        pattern = re.compile(rf"{name}(\.second)?(\.part(\d+))?\.(csv|xlsx|jsonl)")
        return [path for path in _label_files(self.folder) if pattern.fullmatch(path.name)]

    def _filled_files(self) -> list[Path]:
        return [] if self.filled.is_symlink() else _label_files(self.filled)

    def _others(self, tasks: Mapping[str, Task]) -> dict[str, Task]:
        """Return the tasks in all task files here; each round collects its own labels."""
        some_task = next(iter(tasks.values()), None)
        if some_task is None:
            return {}
        keys = {key for path in _label_files(self.folder) for key in read_keys(path)}
        return dict.fromkeys(keys, some_task)


def _label_files(folder: Path) -> list[Path]:
    try:
        paths = list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"labeling.folder: {folder} cannot be listed: {reason}; let this user read it"
        raise LabelsRefused(message) from error
    return sorted(
        path
        for path in paths
        if path.suffix.lower() in _LABEL_FILES and not path.name.startswith(_NO_FILES)
    )


def _file_name(round_name: str) -> str:
    """Return a round's name as a file name.

    >>> _file_name("mail/travel 3"), _file_name("../etc")
    ('mail-travel-3', '-etc')
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", round_name).lstrip(".") or "round"
