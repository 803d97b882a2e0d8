"""Finds the file or folder that prevents writes to a SQLite store, and the reason."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE})


class ClosedPath(NamedTuple):
    """A path that cannot be written; on another disk or as another user it may be."""

    path: Path
    reason: str
    is_permission: bool
    is_disk: bool


def closed_path(store: Path) -> ClosedPath | None:
    """Return the part of a store that cannot be written: its folder, its file or SQLite's files.

    Returns None if all can be written, or if the obstacle is temporary, such as a full disk.
    """
    files = (store.with_name(f"{store.name}{end}") for end in ("", "-wal", "-shm"))
    for path in (store.parent, *files):
        try:
            if path == store.parent:
                TemporaryFile(dir=path).close()
            elif path.exists():
                os.close(os.open(path, os.O_RDWR))
        except OSError as error:
            return None if error.errno in _PASSING else _closed(path, error)
    return None


def _closed(path: Path, error: OSError) -> ClosedPath:
    is_disk = error.errno == errno.EROFS or bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    is_permission = error.errno in {errno.EACCES, errno.EPERM}
    return ClosedPath(path, (error.strerror or str(error)).lower(), is_permission, is_disk)
