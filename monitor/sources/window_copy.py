"""Rows of one window, read once and kept in memory while several monitors scan them.

They are kept by DuckDB, which moves what does not fit to disk (`monitor.files.engine`).
"""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from monitor.files.engine import is_running, running, session
from monitor.files.relations import OpenTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from monitor.domain.model import Window
    from monitor.sources.duckdb_query import Query

log = structlog.get_logger("monitor.sources.window_copy")

HASHED = "monitor_md5"
"""The column with md5(seed, id)."""


@dataclass(eq=False)
class WindowCopy:
    """Rows of a window as the table had them in a ``state``, with what scans of it read.

    ``timed_rows`` are those of the whole table that have a time, once somebody counted them.
    """

    window: Window
    state: object
    table: OpenTable
    engine: object
    readers: set[int] = field(default_factory=set)
    timed_rows: int | None = None
    is_there: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def serves(self, window: Window, state: object) -> bool:
        """Whether scans of a window find here what they would find in the table."""
        is_same = window == self.window and state == self.state
        return is_same and self.is_there and is_running(self.engine)

    @contextmanager
    def opened(self) -> Iterator[OpenTable]:
        """Open it as a table."""
        with session(alone=False) as connection:
            yield replace(self.table, connection=connection)

    def leave(self, reader: int) -> None:
        """Drop the rows once the last reader left."""
        with self._lock:
            self.readers.discard(reader)
            is_last = not self.readers
        if is_last:
            self._drop()

    def give_up(self, error: Exception) -> None:
        """Drop rows that cannot be scanned; every reader reads the table itself from now on."""
        log.warning("rows of a shared window dropped", place=self.table.place, reason=str(error))
        self._drop()

    def _drop(self) -> None:
        """Drop the rows once; what DuckDB says of it is nobody's affair: they hold memory only."""
        with self._lock:
            was_there, self.is_there = self.is_there, False
        if not was_there or not is_running(self.engine):
            return
        try:
            with session(alone=False) as connection:
                _drop(connection, self.table.relation)
        except Exception as error:  # noqa: BLE001  no look at a monitor ends by this
            log.warning("rows of a shared window not dropped", reason=str(error))


def copied(queries: Sequence[Query], window: Window, state: object, seed: str) -> WindowCopy | None:
    """Read what these queries of one open table scan of a window; None where it would change.

    It would where a type of the table has no like in Arrow.
    """
    table = queries[0].table
    columns = [*dict.fromkeys(column for query in queries for column in query.scanned)]
    if HASHED in table.types:
        return None
    engine, name = running(), f"window_{uuid.uuid4().hex}"
    sql, values = queries[0].window_rows(window, columns, seed, HASHED)
    with session(alone=False) as connection, table.stream(sql, values) as rows:
        _fill(connection, name, rows)
        described = connection.execute(f"describe {name}").fetchall()
        types = {row[0]: row[1] for row in described}
        if any(types[column] != table.types[column] for column in columns):
            _drop(connection, name)
            return None
    retained = OpenTable(
        place=table.place,
        connection=connection,
        relation=name,
        types=table.types,
        is_text=table.is_text,
        refused=table.refused,
        hashed=(seed, HASHED),
    )
    return WindowCopy(window, state, retained, engine)


def _drop(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.execute(f"drop table if exists {name}")


def _fill(connection: duckdb.DuckDBPyConnection, name: str, rows: object) -> None:
    connection.register("arriving", rows)
    try:
        connection.execute(f"create table {name} as select * from arriving")  # noqa: S608
    finally:
        connection.unregister("arriving")
