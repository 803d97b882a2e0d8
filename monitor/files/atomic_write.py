"""Files that appear whole or not at all, and what killed processes left of others."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from monitor.domain.crashpoint import crashpoint

PRIVATE = 0o660
UNFINISHED = ".unfinished"
STALE_AFTER = 3600.0  # Seconds after which nobody writes on at an unfinished file


def write_whole(
    path: Path, write: Callable[[IO[str]], None], *, same_time: bool = False, new: bool = False
) -> None:
    """Write a text file so that it appears whole or not at all; a ``new`` one never over another.

    It holds what strangers wrote, so it is open to its owner and group alone, as far as the umask
    lets it be; one that is there keeps its permissions, and its time if asked.

    Raises `FileExistsError` if the file was to be new and another process was faster.
    """

    def fill(unfinished: Path) -> None:
        with unfinished.open("w", encoding="utf-8", errors="replace", newline="") as stream:
            write(stream)

    make_whole(path, fill, same_time=same_time, new=new)


def make_whole(
    path: Path,
    fill: Callable[[Path], object],
    *,
    mode: int = PRIVATE,
    same_time: bool = False,
    new: bool = False,
) -> None:
    """Let a file appear that ``fill`` writes under another name, as `write_whole` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        unfinished.unlink(missing_ok=True)
        # Made with its mode before anything is in it: no moment at which others can read it. And
        # always a new file: a link that somebody planted under this name is not followed.
        unfinished.touch(mode=mode, exist_ok=False)
        fill(unfinished)
        if path.exists():
            shutil.copymode(path, unfinished)
        if same_time:
            replaced = path.stat()
            os.utime(unfinished, ns=(replaced.st_atime_ns, replaced.st_mtime_ns))
        crashpoint("file")
        # `replace` would overwrite what another process made meanwhile; a link fails then.
        if not (new and _linked(unfinished, path)):
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _linked(unfinished: Path, path: Path) -> bool:
    """Let a file appear unless one of its name is there; false where no links can be made."""
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left half written; it holds texts that should not stay."""
    for unfinished in folder.glob(f".*{UNFINISHED}"):
        with suppress(OSError):
            if time.time() - unfinished.stat().st_mtime > STALE_AFTER:
                unfinished.unlink()
