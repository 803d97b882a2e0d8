"""Rows of one window, read once and kept in memory while several monitors scan them.

They are kept by DuckDB, which moves what does not fit into its temporary folder.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from monitor.files.engine import is_running, running, session
from monitor.files.relations import OpenTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from monitor.domain.model import Window
    from monitor.sources.duckdb_query import Query

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

    def serves(self, window: Window, state: object) -> bool:
        """Whether scans of a window find here what they would find in the table."""
        return window == self.window and state == self.state and is_running(self.engine)

    @contextmanager
    def opened(self) -> Iterator[OpenTable]:
        """Open it as a table."""
        with session(alone=False) as connection:
            yield replace(self.table, connection=connection)

    def leave(self, reader: int) -> None:
        """Drop the rows once the last reader left."""
        self.readers.discard(reader)
        if not self.readers and is_running(self.engine):
            with session(alone=False) as connection:
                connection.execute(f"drop table if exists {self.table.relation}")


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
            connection.execute(f"drop table {name}")
            return None
    kept = OpenTable(
        place=table.place,
        connection=connection,
        relation=name,
        types=table.types,
        is_text=table.is_text,
        refused=table.refused,
        hashed=(seed, HASHED),
    )
    return WindowCopy(window, state, kept, engine)


def _fill(connection: duckdb.DuckDBPyConnection, name: str, rows: object) -> None:
    connection.register("arriving", rows)
    try:
        connection.execute(f"create table {name} as select * from arriving")  # noqa: S608
    finally:
        connection.unregister("arriving")
