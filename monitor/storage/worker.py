"""Who holds a claim: this process, named so that another on the machine can see that it is gone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_PROC = Path("/proc")
_NONE, _UNKNOWN = "-", "?"


def worker_name(pid: int | None = None) -> str:
    """Name a process of this machine: place, process id, start time.

    The place is the boot and the process-id namespace, so that containers which share a host
    name do not take each other's processes for their own.
    """
    pid = os.getpid() if pid is None else pid
    return f"{_host()}/{pid}/{_started(pid)}"


def is_dead(worker: str) -> bool:
    """Whether a worker was a process of this machine that no longer runs.

    False where that cannot be known: then its claim has to run out.
    """
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
