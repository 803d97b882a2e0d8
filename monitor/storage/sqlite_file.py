"""Backup of a SQLite store while it is in use, and emptying of its log."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from monitor.domain.errors import ConfigRefused, InputRefused, StoreUnavailable
from monitor.storage.database import PRIVATE, Database


def path_of(database: Database) -> Path:
    """Return the path of a SQLite store."""
    return Path(database.engine.url.database or "")


def back_up(database: Database, target: Path, *, replace: bool = False) -> int:
    """Write a consistent, compact copy of the store while others use it; return its size in bytes.

    The copy is checked before it appears. Raises `InputRefused` if the target exists, is the store
    itself, or cannot be written; `ConfigRefused` if the store is not a SQLite file;
    `StoreUnavailable` if the copy is incomplete.
    """
    _refuse(database, target, replace=replace)
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=PRIVATE)  # SQLite's own file could be read by all while it grows
        try:
            with closing(sqlite3.connect(path_of(database), timeout=30)) as connection:
                connection.execute("vacuum into ?", (str(unfinished),))
        except sqlite3.Error as error:
            message = (
                f"the store {database.shown} cannot be copied now: {error}; nothing was written"
            )
            raise StoreUnavailable(message) from error
        _check(unfinished)
        # Sync the file, rename it, then sync the folder: after a power cut the name refers to the
        # old copy or to the whole new one.
        _to_disk(unfinished)
        unfinished.replace(target)
        _to_disk(target.parent)
    except OSError as error:
        message = f"{target} cannot be written: {(error.strerror or str(error)).lower()}"
        raise InputRefused(message) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return target.stat().st_size


def wipe_log(database: Database) -> bool:
    """Empty the log, which may still contain deleted texts; False if a reader prevented it."""
    if not database.is_sqlite:
        return True
    with closing(sqlite3.connect(path_of(database), timeout=30)) as connection:
        busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
    return not busy


def _refuse(database: Database, target: Path, *, replace: bool) -> None:
    if not database.is_sqlite:
        message = (
            f"the store {database.shown} is not a SQLite file; PostgreSQL has its own tool: "
            "pg_dump --format=custom --file=PATH"
        )
        raise ConfigRefused(message)
    if target.exists() and target.samefile(path_of(database)):
        message = f"{target} is the store itself; name another file"
        raise InputRefused(message)
    if target.is_dir():
        message = f"{target} is a folder; name a file in it"
        raise InputRefused(message)
    if target.exists() and not replace:
        message = f"{target} already exists; name another file, or replace it with --replace"
        raise InputRefused(message)
    if not target.parent.is_dir():
        message = f"there is no folder {target.parent}; create it first"
        raise InputRefused(message)


def _check(copy: Path) -> None:
    """Check the whole copy, and raise `StoreUnavailable` if it is damaged."""
    with closing(sqlite3.connect(copy)) as connection:
        problems = [row[0] for row in connection.execute("pragma integrity_check")]
        broken = connection.execute("pragma foreign_key_check").fetchall()
    if problems != ["ok"] or broken:
        text = (
            problems[0] if problems != ["ok"] else f"{len(broken)} rows without their parent rows"
        )
        message = f"the copy is incomplete ({text}), so it was deleted; check the store's disk"
        raise StoreUnavailable(message)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
