"""How far a folder of filled files was read: what the store keeps of it between two looks.

A row that a file ends with, without a line break, may have been cut off while it was written, in
the middle of a name. It is taken once the file has stood still for long. Should the file go on
all the same, the row as it was is taken back, so that no one answers twice under half a name.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import LabelEvent, LabelKind
from monitor.labeling.reading import opened

_INSTANT = timedelta(microseconds=1)  # the least by which a withdrawal is later than its answer


@dataclass(frozen=True, slots=True)
class CutRow:
    """An answer taken from a last row without a line break, and the file as it was then."""

    size: int
    digest: str
    task: str
    annotator: str
    at: str

    def goes_on(self, path: Path) -> bool:
        """Whether the file is the old one with more after it, and that no new row."""
        try:
            with opened(path) as stream:
                start, added = stream.read(self.size), stream.read(1)
        except LabelsRefused:
            return False
        return bool(added) and added not in b"\r\n" and _digest(start) == self.digest

    def taken_back(self) -> LabelEvent:
        """Withdraw the answer, but no later one of the same person."""
        at = datetime.fromisoformat(self.at) + _INSTANT
        return LabelEvent(self.task, self.annotator, None, at=at, kind=LabelKind.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class FileCursor:
    """What was read: a state of the folder, and the rows that may have been cut, by file name.

    ``waits`` lists which files were not taken yet.
    """

    state: str = ""
    waits: tuple[str, ...] = ()
    cut: dict[str, CutRow] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str | None) -> FileCursor:
        """Read a stored cursor; one of an older version is empty, so all is read again."""
        try:
            plain: dict[str, Any] = json.loads(text or "")
            cut = {name: CutRow(**row) for name, row in plain["cut"].items()}
            return cls(plain["state"], tuple(plain["waits"]), cut)
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()  # to read all files again is safe: events are stored once

    def text(self) -> str:
        """Write it for the store."""
        return json.dumps(asdict(self), sort_keys=True)


def cut_row(path: Path, event: LabelEvent, at: datetime) -> CutRow:
    """Remember the answer of a last row without a line break."""
    with opened(path) as stream:
        content = stream.read()
    return CutRow(len(content), _digest(content), event.task_key, event.annotator, at.isoformat())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
