"""One look into a folder of filled files: which are taken now, and the answers in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Collected, LabelEvent, Refusal, Task
from monitor.labeling.file_cursor import CutRow, FileCursor, cut_row
from monitor.labeling.file_stability import STILL, FileStamp, file_stamp
from monitor.labeling.label_files import read_file
from monitor.labeling.reading import ends_whole, is_workbook, printable


@dataclass(slots=True)
class FolderScan:
    """The filled files, stamped twice a moment apart: those that moved meanwhile are not read.

    ``retry`` is true where another look may find more though nothing changes.
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
        """Read the files, the one saved last at the end, and collect what came of each."""
        self.cut = dict(previous.cut)
        for path in sorted(self.stamps, key=lambda path: (self.stamps[path].changed, path.name)):
            self._take(path, self.stamps[path])
        answers = {(event.task_key, event.annotator) for event in self._events}
        self._events += [
            row.taken_back() for row in self._went_on if (row.task, row.annotator) not in answers
        ]
        return Collected(
            tuple(self._events),
            tuple(self._refused),
            problems=tuple(self._problems),
            waits=tuple(self._waits),
        )

    def _take(self, path: Path, stamp: FileStamp) -> None:
        name = printable(path.name)
        if stamp.is_link:
            what = "is a link or has a second name elsewhere, so it is not read; put a copy there"
            self._refuse(path, stamp, f"{name} {what}")
        elif self.earlier.get(path) != stamp:
            self._waits.append(
                f"{name} is being written just now; it is taken when it stands still"
            )
            self.retry = True
        elif not stamp.stood() and not ends_whole(path):
            until = datetime.fromtimestamp(stamp.changed / 1e9, tz=UTC) + timedelta(seconds=STILL)
            lacks = (
                "has not all its parts" if is_workbook(path) else "does not end with a line break"
            )
            self._waits.append(
                f"{name} {lacks}, so it may not be whole: it is taken at {until:%H:%M} UTC if "
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
            # A file that could not be opened may be there the next time, by an equal stamp.
            self.retry = self.retry or isinstance(error.__cause__, OSError)
            return
        if file_stamp(path) not in {stamp, FileStamp()}:  # one that was removed was read whole
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
        """See whether a row that may have been cut went on, and remember such a one."""
        older = self.cut.pop(path.name, None)
        if older is not None and older.goes_on(path):
            self._went_on.append(older)
        if end is not None:
            self.cut[path.name] = cut_row(path, end, end.at or saved)

    def _refuse(self, path: Path, stamp: FileStamp, reason: str) -> None:
        name = printable(path.name)
        self._refused.append(
            Refusal(name, reason, f"{stamp.changed} {stamp.size}", is_problem=True)
        )
        self._problems.append(reason)
