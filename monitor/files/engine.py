"""DuckDB as it is started for reading: once in a process, as that takes as long as a small file."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.domain.time_limit import stopped_by

if TYPE_CHECKING:
    import duckdb

_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    # Nothing is downloaded: extensions are neither installed nor loaded.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # What was read is not kept: it would fill the memory, and files change.
    "enable_external_file_cache": "false",
}

MEMORY = "50%"
"""What a DuckDB takes of the memory of this machine or container before it moves rows to disk; its
own default of 80% leaves too little beside it in a small container."""

_NEWBORN_S = 60  # A folder may have no lock yet for so long

_lock = threading.Lock()
_running: dict[int, duckdb.DuckDBPyConnection] = {}
"""The DuckDB of each process, by its id: one that a fork inherited has no threads, so that it
answers nothing and cannot be ended either."""


@contextmanager
def session(*, alone: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that is asked to stop when its time is over.

    alone: Whether it needs its own DuckDB, since it attaches a file by name.
    """
    import duckdb  # noqa: PLC0415

    connection = duckdb.connect(config=_options()) if alone else _started().cursor()

    def stop() -> None:
        # A thread of it may hang at a disk that does not answer; others start without that one.
        forget()
        connection.interrupt()

    with connection, stopped_by(stop):
        # Else times without a zone would be read in the zone of this machine.
        connection.execute("set TimeZone = 'UTC'")
        connection.execute("set enable_progress_bar = false")  # it writes to standard output
        try:
            yield connection
        except (duckdb.FatalException, duckdb.InternalException):
            forget()  # it answers nothing any more
            raise


def _started() -> duckdb.DuckDBPyConnection:
    import duckdb  # noqa: PLC0415

    with _lock:
        process = os.getpid()
        if process not in _running:
            _running[process] = duckdb.connect(config=_options())
        return _running[process]


def _options() -> dict[str, str | bool | int | float | list[str]]:
    return _OPTIONS | {"memory_limit": MEMORY, "temp_directory": spill_folder(os.getpid())}


@cache
def spill_folder(process: int) -> str:
    """Make the folder to which rows are moved that do not fit into memory, one in a process.

    DuckDB's own would be in the working directory, which may be read-only or open to others. Where
    none can be made it is empty, and what does not fit is refused. It goes when the process ends,
    or, of a killed one, when the next one starts.
    """
    _remove_abandoned()
    try:
        folder = tempfile.mkdtemp(prefix=f"pr-monitor-{process}-")
    except OSError:
        return ""
    with suppress(OSError):  # a lock says that its process lives; never closed, so that it lasts
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _remove_abandoned() -> None:
    """Remove folders of this user on which no process holds a lock any more."""
    for folder in Path(tempfile.gettempdir()).glob("pr-monitor-[0-9]*-*"):
        with suppress(OSError):  # it is another user's, or no folder, or its process lives
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                status = os.fstat(descriptor)
                if status.st_uid == os.geteuid() and status.st_mtime < time.time() - _NEWBORN_S:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder)
            finally:
                os.close(descriptor)


def forget() -> None:
    """Let the next session start a new DuckDB; open sessions continue."""
    with _lock:
        _running.pop(os.getpid(), None)
