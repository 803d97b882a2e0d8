"""Whether a file that somebody writes at this moment is whole yet.

A file stands still while neither its size nor its time of change moves. Its time comes from the
machine it is on, so it is compared with the clock of this machine and not with a round's.
"""

from __future__ import annotations

import stat
import time
from pathlib import Path
from typing import NamedTuple

SETTLED = 1.0
"""Seconds that a file has to stand still before it is read; whoever still saves or copies it
changes its size or time within that."""

STILL = 600.0
"""Seconds after which a file whose last row has no line break is taken for whole: some programs
never write that break."""


class FileStamp(NamedTuple):
    """What differs between states of a file, known without reading it; zeros where it is gone."""

    changed: int = 0
    size: int = 0
    links: int = 0
    kind: int = 0

    @property
    def is_link(self) -> bool:
        """Whether the file has its content elsewhere too: a link, or a second name of a file."""
        return stat.S_ISLNK(self.kind) or (stat.S_ISREG(self.kind) and self.links > 1)

    def age(self) -> float:
        """Seconds since the file changed, by the clock of this machine."""
        return time.time() - self.changed / 1e9

    def is_fresh(self) -> bool:
        """Whether it changed just now, or has a time in the future, which proves nothing."""
        return self.age() < SETTLED

    def stood(self) -> bool:
        """Whether it has stood still for long."""
        return self.age() >= STILL


def file_stamp(path: Path) -> FileStamp:
    """Stamp a file, following no link."""
    try:
        status = path.lstat()
    except OSError:
        return FileStamp()
    return FileStamp(
        status.st_mtime_ns, status.st_size, status.st_nlink, stat.S_IFMT(status.st_mode)
    )


def pause() -> None:
    """Wait as long as a file has to stand still."""
    time.sleep(SETTLED)
