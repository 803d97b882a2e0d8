"""Make MLflow's tables in a SQLite file completely or not at all, and detect half-made ones.

MLflow makes them by dozens of migrations. A process that is killed meanwhile leaves a file that
neither MLflow nor ``mlflow db upgrade`` can repair.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from monitor.files.atomic_write import make_whole, remove_unfinished

_READABLE = 0o666
"""As SQLite itself makes files, less what the umask takes: ``mlflow server`` may read them."""


def make_tables(path: Path) -> None:
    """Make MLflow's database, unless the file is there already.

    Builds the file under another name and links it, so that a killed process leaves none, and of
    racing processes, the first one's file stays.
    """
    remove_unfinished(path.parent)
    if path.exists():
        return
    with suppress(FileExistsError):  # another process was faster
        make_whole(path, _build, mode=_READABLE, new=True)


def is_half_made(path: Path) -> bool:
    """Whether a database that MLflow refuses for its tables holds no run, model or trace."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            tables = {row[0] for row in database.execute("select name from sqlite_master")}
            held = {"runs", "registered_models", "trace_info"} & tables
            return not any(
                database.execute(f"select 1 from {table} limit 1").fetchone()  # noqa: S608  ours
                for table in held
            )
    except sqlite3.Error:
        return False


def _build(path: Path) -> None:
    from mlflow.store.db.utils import _initialize_tables  # noqa: PLC0415  takes 2.8 s
    from sqlalchemy import URL, NullPool, create_engine, event  # noqa: PLC0415

    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def _without_journal(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("pragma journal_mode = off")  # a half-built file is never used
        connection.execute("pragma synchronous = off")

    _initialize_tables(engine)  # type: ignore[no-untyped-call]
    engine.dispose()
    with path.open("rb") as built:
        os.fsync(built.fileno())  # before it gets its name
