"""Who holds a claim: this process, named so that another on the machine can tell it is gone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_PROC = Path("/proc")


def worker_name(pid: int | None = None) -> str:
    """Name a process of this machine: place, process id, start time.

    The place is the boot and the process-id namespace, so that containers which share a host
    name do not take each other's processes for their own.
    """
    pid = os.getpid() if pid is None else pid
    return f"{_place()}/{pid}/{_started(pid)}"


def is_gone(worker: str) -> bool:
    """Whether a worker was a process of this machine that no longer runs.

    False where that cannot be known: then its claim has to run out.
    """
    place, pid, started = worker.rsplit("/", 2)
    if place != _place() or started == "?":
        return False
    return _started(int(pid)) != started


def _place() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()[:8]
        namespace = (_PROC / "self/ns/pid").readlink().name
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}-{boot}-{namespace.strip('pid:[]')}"


def _started(pid: int) -> str:
    """Start time of a process in clock ticks, ``-`` if there is none, ``?`` if unknowable."""
    if not (_PROC / "self/stat").exists():
        return "?"
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return "-"
    fields = stat.rsplit(")", 1)[1].split()
    return "-" if fields[0] in {"Z", "X"} else fields[19]
