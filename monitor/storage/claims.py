"""What claims on rounds and on effects share, and the order of writes to a monitor."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select

from monitor.storage.database import clock_ms
from monitor.storage.tables import monitors

_SUSPECTED = "#"
"""Parts the worker's name from the number of tries by itself in the column ``claimed_by``."""


_PROC = Path("/proc")
_NONE, _UNKNOWN = "-", "?"


def worker_name(pid: int | None = None) -> str:
    """Name a process of this machine: boot and process-id namespace, process id, start time."""
    pid = os.getpid() if pid is None else pid
    return f"{_host()}/{pid}/{_started(pid)}"


def is_dead(worker: str) -> bool:
    """Whether a worker was a process of this machine that no longer runs; false if unknown."""
    host, _, process = worker.partition("/")
    pid, _, started = process.partition("/")
    if host != _host() or started == _UNKNOWN or not pid.isdigit():
        return False
    return _started(int(pid)) not in {started, _UNKNOWN}


def _host() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()[:8]
        namespace = (_PROC / "self/ns/pid").readlink().name
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}-{boot}-{namespace.strip('pid:[]')}"


def _started(pid: int) -> str:
    """Start time of a process in clock ticks, ``-`` without one, ``?`` if unknowable."""
    if not (_PROC / "self/stat").exists():
        return _UNKNOWN
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return _UNKNOWN if _runs(pid) else _NONE
    # The program's name, in brackets, may hold anything; behind it the 20th is the start time
    # (proc(5), field 22), and the first the state, by which a zombie has ended.
    fields = stat.rsplit(")", 1)[1].split()
    return _NONE if fields[0] in {"Z", "X"} else fields[19]


def _runs(pid: int) -> bool:
    """Ask the kernel, since the process may be another user's that /proc hides from us."""
    try:
        os.kill(pid, 0)  # signal 0 is not sent
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def is_free(
    table: Table, claimed_by: str | None, attempt: int, milliseconds: int
) -> ColumnElement[bool]:
    """Whether a row read so may be claimed: unclaimed, run out, or of a worker that is gone.

    A claim that is to end later than the ``milliseconds`` that claims last was made by a clock
    that was ahead of the time, so nobody knows when it ends.
    """
    until = table.c.claimed_until
    # All times are the database's: clocks of two machines may differ by more than a claim lasts.
    free = or_(until.is_(None), until < clock_ms(), until > clock_ms() + milliseconds)
    if claimed_by is not None and is_dead(claimed_by.partition(_SUSPECTED)[0]):
        free = or_(free, table.c.claimed_by == claimed_by)
    # Whoever claimed it since it was read made the attempt one more, and wins.
    return and_(free, table.c.attempt == attempt)


def attempts_alone(claimed_by: str | None) -> int:
    """Read from a claim how many tries in a row were made by themselves; 0: this one was not.

    >>> attempts_alone("host/17/1#3"), attempts_alone("host/17/1"), attempts_alone(None)
    (3, 0, 0)
    """
    return int((claimed_by or "").partition(_SUSPECTED)[2] or 0)


def claim_of_ours(table: Table, milliseconds: int, *, alone: int = 0) -> dict[str, Any]:
    """Values that make a row ours for some time; each claim is its own attempt.

    ``alone`` goes with the claim, since nobody else can say what ended its process.
    """
    return {
        "claimed_by": f"{worker_name()}{_SUSPECTED}{alone}" if alone else worker_name(),
        "claimed_until": clock_ms() + milliseconds,
        "attempt": table.c.attempt + 1,
    }


def wait_for_turn(connection: Connection, which: ColumnElement[bool]) -> int:
    """Wait until nobody else writes to a monitor, as on SQLite to the whole store.

    Without it two writers on PostgreSQL could read the same state and overwrite each other, or
    lock rounds in opposite orders. Every write of estimates, rounds or labels begins with this.
    Returns the monitor's id.
    """
    result = wait_if_recorded(connection, which)
    if result is None:
        message = "the monitor whose turn is waited for is not in the store"
        raise AssertionError(message)
    return result


def wait_if_recorded(connection: Connection, which: ColumnElement[bool]) -> int | None:
    """Wait as `wait_for_turn` does; None if there is no such monitor."""
    # FOR NO KEY UPDATE: who only inserts rows that refer to the monitor does not wait for it.
    query = select(monitors.c.id).where(which).with_for_update(key_share=True)
    return connection.scalar(query)
