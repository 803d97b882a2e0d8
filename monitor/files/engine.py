"""DuckDB as it is started for reading: once in a process, where files need no place of their own.

Starting it takes as long as reading a small file, and a round reads several times.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from monitor.domain.time_limit import stopped_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    # Nothing is downloaded: extensions are neither installed nor loaded.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # What was read is not kept: it would fill the memory, and files change.
    "enable_external_file_cache": "false",
}

_lock = threading.Lock()
_running: dict[int, duckdb.DuckDBPyConnection] = {}
"""The DuckDB of each process, by its id: one that a fork inherited has no threads, so that it
answers nothing and cannot be ended either."""


@contextmanager
def session(*, alone: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that is asked to stop when its time is over.

    Parameters
    ----------
    alone
        Whether it needs a DuckDB of its own, since it attaches a file by name.
    """
    import duckdb  # noqa: PLC0415

    connection = duckdb.connect(config=_OPTIONS) if alone else _started().cursor()

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
        here = os.getpid()
        if here not in _running:
            _running[here] = duckdb.connect(config=_OPTIONS)
        return _running[here]


def running() -> object:
    """Identify the DuckDB of this process; another one has none of its tables."""
    return _started()


def is_running(engine: object) -> bool:
    """Whether a DuckDB is the one that sessions of this process are of."""
    with _lock:
        return _running.get(os.getpid()) is engine


def forget() -> None:
    """Let the next session start DuckDB anew; those that are open go on."""
    with _lock:
        _running.pop(os.getpid(), None)
