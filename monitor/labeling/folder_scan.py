"""One scan of a folder of filled files: selects the files that are complete, and reads them.

A file is read once neither its size nor its modification time changes, since somebody may still be
writing it. Its time comes from the machine it is on, so it is compared with the clock of this
machine, not with a round's clock.

A last row without a line break may be cut off, even within a name. It is accepted once the file has
not changed for `STILL` seconds. If the file continues after all, the cut row is withdrawn, so that
nobody answers twice under half a name.
"""

from __future__ import annotations

import hashlib
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Collected, LabelEvent, LabelKind, Refusal, Task
from monitor.labeling.label_files import read_file
from monitor.labeling.reading import ends_whole, is_workbook, opened, printable

SETTLED = 1.0
"""Seconds without a change before a file is read; saving or copying it changes its size or time
more often than that."""

STILL = 600.0
"""Seconds without a change before a file without a final line break counts as complete; some
programs never write that break."""

_INSTANT = timedelta(microseconds=1)  # the least by which a withdrawal is later than its answer


class FileStamp(NamedTuple):
    """State of a file, determined without reading it; all zeros if the file is missing."""

    changed: int = 0
    size: int = 0
    links: int = 0
    kind: int = 0

    def age(self) -> float:
        """Return the seconds since the file changed, by the clock of this machine."""
        return time.time() - self.changed / 1e9

    def is_fresh(self) -> bool:
        """Whether it changed within `SETTLED` seconds; a time in the future counts too."""
        return self.age() < SETTLED

    def stood(self) -> bool:
        """Whether it has not changed for `STILL` seconds."""
        return self.age() >= STILL


def file_stamp(path: Path) -> FileStamp:
    """Return the stamp of a file, without following links."""
    try:
        status = path.lstat()
    except OSError:
        return FileStamp()
    return FileStamp(
        status.st_mtime_ns, status.st_size, status.st_nlink, stat.S_IFMT(status.st_mode)
    )


def pause() -> None:
    """Wait for `SETTLED` seconds."""
    time.sleep(SETTLED)


@dataclass(frozen=True, slots=True)
class CutRow:
    """An answer from a last row without a line break, and the state of its file then."""

    size: int
    digest: str
    event: LabelEvent

    def goes_on(self, path: Path) -> bool:
        """Whether the file now continues this row: same beginning, then more of the same line."""
        try:
            with opened(path) as stream:
                start, added = stream.read(self.size), stream.read(1)
        except LabelsRefused:
            return False
        return bool(added) and added not in b"\r\n" and _digest(start) == self.digest

    def taken_back(self) -> LabelEvent:
        """Return a withdrawal of the answer that does not affect later ones of the same person."""
        assert self.event.at is not None  # noqa: S101  the time of its file at least
        at = self.event.at + _INSTANT
        return replace(self.event, answer=None, at=at, kind=LabelKind.WITHDRAWN)


class FileCursor(BaseModel):
    """Cursor of a folder: its state when read, and rows that may be cut off, by file name.

    ``waits`` has sentences on files that were not read yet.
    """

    state: str = ""
    waits: tuple[str, ...] = ()
    cut: dict[str, CutRow] = {}

    @classmethod
    def of(cls, text: str | None) -> FileCursor:
        """Parse a stored cursor; an invalid one counts as empty, so that all files are read."""
        try:
            return cls.model_validate_json(text or "{}")
        except ValidationError:
            return cls()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(slots=True)
class FolderScan:
    """Reads filled files, stamped twice in short succession; skips files that changed meanwhile.

    ``retry`` becomes True if another scan may find more even without a change.
    """

    earlier: Mapping[Path, FileStamp]
    stamps: Mapping[Path, FileStamp]
    tasks: Mapping[str, Task]
    unknown_hint: str
    retry: bool = False
    cut: dict[str, CutRow] = field(default_factory=dict)
    _events: list[LabelEvent] = field(default_factory=list)
    _refused: list[Refusal] = field(default_factory=list)
    _problems: list[str] = field(default_factory=list)
    _waits: list[str] = field(default_factory=list)
    _went_on: list[CutRow] = field(default_factory=list)

    def read(self, previous: FileCursor) -> Collected:
        """Read the files in the order of their times, and combine their answers and problems."""
        self.cut = dict(previous.cut)
        for path in sorted(self.stamps, key=lambda path: (self.stamps[path].changed, path.name)):
            self._take(path, self.stamps[path])
        answers = {(event.task_key, event.annotator) for event in self._events}
        self._events += [
            row.taken_back()
            for row in self._went_on
            if (row.event.task_key, row.event.annotator) not in answers
        ]
        return Collected(
            tuple(self._events),
            tuple(self._refused),
            problems=tuple(self._problems),
            waits=tuple(self._waits),
        )

    def _take(self, path: Path, stamp: FileStamp) -> None:
        name = printable(path.name)
        if stat.S_ISLNK(stamp.kind) or (stat.S_ISREG(stamp.kind) and stamp.links > 1):
            what = "is a link or has a second name elsewhere, so it is not read; put a copy there"
            self._refuse(path, stamp, f"{name} {what}")
        elif self.earlier.get(path) != stamp:
            self._waits.append(f"{name} is still being written; it is read once it stops changing")
            self.retry = True
        elif not stamp.stood() and not ends_whole(path):
            until = datetime.fromtimestamp(stamp.changed / 1e9, tz=UTC) + timedelta(seconds=STILL)
            lacks = (
                "has not all its parts" if is_workbook(path) else "does not end with a line break"
            )
            self._waits.append(
                f"{name} {lacks}, so it may be incomplete: it is read at {until:%H:%M} UTC if "
                "nobody writes to it until then"
            )
        else:
            self._read(path, stamp)

    def _read(self, path: Path, stamp: FileStamp) -> None:
        saved = datetime.fromtimestamp(stamp.changed / 1e9, tz=UTC)
        try:
            collected, cut = read_file(path, self.tasks, unknown_hint=self.unknown_hint)
            self._note_end(path, cut, saved)
        except LabelsRefused as error:
            self._refuse(path, stamp, str(error))
            # A file that could not be opened may be readable next time, with an equal stamp.
            self.retry = self.retry or isinstance(error.__cause__, OSError)
            return
        if file_stamp(path) not in {stamp, FileStamp()}:  # a removed file was read completely
            self._waits.append(
                f"{printable(path.name)} changed while it was read; it is read again"
            )
            self.retry = True
            return
        version = f"{stamp.changed} {stamp.size}"
        self._refused += [replace(refusal, version=version) for refusal in collected.refused]
        self._problems += collected.problems
        self._events += [replace(event, at=event.at or saved) for event in collected.events]

    def _note_end(self, path: Path, end: LabelEvent | None, saved: datetime) -> None:
        name = printable(path.name)
        older = self.cut.pop(name, None)
        if older is not None and older.goes_on(path):
            self._went_on.append(older)
        if end is not None:
            with opened(path) as stream:
                content = stream.read()
            event = replace(end, at=end.at or saved)
            self.cut[name] = CutRow(len(content), _digest(content), event)

    def _refuse(self, path: Path, stamp: FileStamp, reason: str) -> None:
        name = printable(path.name)
        self._refused.append(
            Refusal(name, reason, f"{stamp.changed} {stamp.size}", is_problem=True)
        )
        self._problems.append(reason)
