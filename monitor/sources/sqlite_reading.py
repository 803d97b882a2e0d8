"""Read-only access to SQLite files: options of addresses, and reading without a lock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from monitor.domain.errors import SourceRefused, SourceUnavailable

_OPTIONS = ("cache", "immutable", "nolock", "psow", "timeout", "vfs")
_READ_ONLY = "SQLITE_READONLY"  # begins the names of several errors
_OWN = {"mode": "ro", "uri": "true"}
_WAL_VERSIONS, _AT = b"\x02\x02", 18  # of the header: the file is read and written by its log


def sqlite_options(shown: str, query: Mapping[str, str | tuple[str, ...]]) -> dict[str, str]:
    """Return the options of an address, with those for read-only access.

    >>> sqlite_options("sqlite:///p.db", {"immutable": "1"})
    {'immutable': '1', 'mode': 'ro', 'uri': 'true'}
    """
    for name, value in query.items():
        if name in _OWN and str(value).lower() in {_OWN[name], "1"}:
            continue
        if name not in _OPTIONS or not isinstance(value, str):
            message = (
                f"{shown}: source.url has the option {name!r}, which is not used here; a file is "
                f"opened with mode=ro, and known options are {', '.join(_OPTIONS)}"
            )
            raise SourceRefused(message)
    return {**{name: str(query[name]) for name in query if name in _OPTIONS}, **_OWN}


def is_closed_log(path: Path) -> bool:
    """Whether SQLite would have to create the log of a file, which this user may not.

    Such a file is in WAL mode, its log is empty or absent, and its folder cannot be written. The
    file is then complete, so it can be read without a lock (``immutable=1``).
    """
    try:
        with path.open("rb") as file:
            file.seek(_AT)
            is_wal = file.read(len(_WAL_VERSIONS)) == _WAL_VERSIONS
    except OSError:  # SQLite says why it cannot be opened
        return False
    log = path.with_name(f"{path.name}-wal")
    is_empty = not log.exists() or not log.stat().st_size
    return is_wal and is_empty and not os.access(path.parent, os.W_OK | os.X_OK)


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Raise `SourceUnavailable` if a file changes within this block."""
    before = _version(path)
    yield
    if _version(path) != before:
        message = f"{path} changed while it was read; it is tried again"
        raise SourceUnavailable(message)


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        at = path.stat()
    except OSError:
        return None
    return at.st_ino, at.st_size, at.st_mtime_ns


def way_out(path: Path, code: str) -> str:
    """Return advice on a file that SQLite cannot open, or would have to write before reading."""
    if not code.startswith(_READ_ONLY):
        return "check source.url and its table"
    return (
        f"SQLite has to write beside {path} before it can read it. Let this user write the folder "
        f"{path.parent}, or close the file cleanly where it is written; if nobody writes it any "
        "more, add ?immutable=1 to source.url"
    )
