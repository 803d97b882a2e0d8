"""Copy a store to an empty database: ``python deploy/move_store.py FROM TO``.

FROM and TO are addresses as `store` in the config has them, such as ``sqlite:///monitor.db`` and
``postgresql+psycopg://monitor@db.example.org/monitor``. Stop all that works on the store first.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.tables import metadata, monitors, store

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

BATCH = 1000


def move(source_url: str, target_url: str) -> dict[str, int]:
    """Copy every row in one transaction; return the number of rows of each table."""
    source, target = Database(source_url), Database(target_url)
    schema.check(source)
    schema.ready(target)
    with source.read() as reading, target.write() as writing:
        if writing.execute(select(func.count()).select_from(monitors)).scalar_one():
            sys.exit(f"{target_url} has monitors already; give an empty database")
        writing.execute(store.delete())
        copied = {table.name: _copy(reading, writing, table) for table in metadata.sorted_tables}
        if target.engine.dialect.name == "postgresql":
            _count_on(writing)
    source.close()
    target.close()
    return copied


def _copy(reading: Connection, writing: Connection, table: Table) -> int:
    rows = 0
    for batch in reading.execute(select(table)).mappings().partitions(BATCH):
        writing.execute(insert(table), [dict(row) for row in batch])
        rows += len(batch)
    return rows


def _count_on(writing: Connection) -> None:
    """Let PostgreSQL number new rows from the highest number on."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None:
            continue
        sequence = func.pg_get_serial_sequence(table.name, column.name)
        highest = select(func.max(column)).scalar_subquery()
        writing.execute(select(func.setval(sequence, func.coalesce(highest, 1))))


if __name__ == "__main__":
    for table, rows in move(*sys.argv[1:]).items():
        print(f"{rows:9,} {table}")  # noqa: T201
