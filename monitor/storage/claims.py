"""Functions common to claims on rounds and on effects, and the lock for writes to a monitor."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, or_, select

from monitor.storage.database import clock_ms
from monitor.storage.tables import monitors

_SUSPECTED = "#"
"""Separates the worker's name from the number of isolated attempts in column ``claimed_by``."""


_PROC = Path("/proc")
_NONE, _UNKNOWN = "-", "?"


def worker_name(pid: int | None = None) -> str:
    """Return the name of a process on this machine: host, process id, start time.

    The host part includes boot id and process-id namespace, since containers may share a host name.
    """
    pid = os.getpid() if pid is None else pid
    return f"{_host()}/{pid}/{_started(pid)}"


def is_dead(worker: str) -> bool:
    """Whether a worker was a process of this machine that no longer runs; False if unknown."""
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
    """Return a process's start time in clock ticks; ``-`` if it does not run, ``?`` if unknown."""
    if not (_PROC / "self/stat").exists():
        return _UNKNOWN
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return _UNKNOWN if _runs(pid) else _NONE
    # The program's name, in parentheses, may contain anything. After it, the first field is the
    # state (zombies count as ended) and the 20th is the start time (proc(5), field 22).
    fields = stat.rsplit(")", 1)[1].split()
    return _NONE if fields[0] in {"Z", "X"} else fields[19]


def _runs(pid: int) -> bool:
    """Whether a process exists; asks the kernel, since /proc may hide other users' processes."""
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
    """Whether a row with these values is free: unclaimed, expired, or claimed by a dead worker.

    A claim that ends later than a new claim would was made by a clock that was ahead, and is free.
    """
    until = table.c.claimed_until
    # All times are the database's: the clocks of machines may differ by more than a claim lasts.
    free = or_(until.is_(None), until < clock_ms(), until > clock_ms() + milliseconds)
    if claimed_by is not None and is_dead(claimed_by.partition(_SUSPECTED)[0]):
        free = or_(free, table.c.claimed_by == claimed_by)
    # A worker that claimed it since it was read has raised the attempt, and wins.
    return and_(free, table.c.attempt == attempt)


def attempts_alone(claimed_by: str | None) -> int:
    """Return the number of isolated attempts in a row from a claim; 0 if it is not isolated.

    >>> attempts_alone("host/17/1#3"), attempts_alone("host/17/1"), attempts_alone(None)
    (3, 0, 0)
    """
    return int((claimed_by or "").partition(_SUSPECTED)[2] or 0)


def claim_of_ours(table: Table, milliseconds: int, *, alone: int = 0) -> dict[str, Any]:
    """Return the column values that claim a row for this process; each claim is a new attempt."""
    return {
        "claimed_by": f"{worker_name()}{_SUSPECTED}{alone}" if alone else worker_name(),
        "claimed_until": clock_ms() + milliseconds,
        "attempt": table.c.attempt + 1,
    }


def wait_for_turn(connection: Connection, which: ColumnElement[bool]) -> int:
    """Lock a monitor for writing until the transaction ends, and return its id.

    Without this lock, two writers on PostgreSQL could overwrite each other, or lock rounds in
    opposite orders. Every write of estimates, rounds or labels begins with it.
    """
    result = wait_if_recorded(connection, which)
    if result is None:
        message = "the monitor whose turn is waited for is not in the store"
        raise AssertionError(message)
    return result


def wait_if_recorded(connection: Connection, which: ColumnElement[bool]) -> int | None:
    """Lock a monitor as `wait_for_turn` does; None if there is no such monitor."""
    # FOR NO KEY UPDATE: inserts of rows that refer to the monitor do not wait for it.
    query = select(monitors.c.id).where(which).with_for_update(key_share=True)
    return connection.scalar(query)
