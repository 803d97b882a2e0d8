"""Copy a store to an empty database: ``python deploy/move_store.py FROM TO``.

FROM and TO are addresses such as ``sqlite:///monitor.db`` and
``postgresql+psycopg://monitor@db.example.org/monitor``, with passwords written out; a path is
relative to where you are. Stop all that works on the store first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from monitor.domain.errors import MonitorError
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.pages import page_tables  # noqa: F401 - the tables of the pages are part of it
from monitor.storage.tables import metadata, monitors, store

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

BATCH = 1000


def move(source_url: str, target_url: str) -> dict[str, int]:
    """Copy every row in one transaction; return the number of rows of each table."""
    path = source_url.removeprefix("sqlite:///")
    if path != source_url and not Path(path).is_file():
        sys.exit(f"there is no file {path}")
    source, target = Database(source_url), Database(target_url)
    schema.check(source)
    schema.ready(target)
    with source.read() as reading, target.write() as writing:
        if writing.execute(select(func.count()).select_from(monitors)).scalar_one():
            sys.exit(f"{target.shown} has monitors already; give an empty database")
        writing.execute(store.delete())
        copied = {table.name: _copy(reading, writing, table) for table in metadata.sorted_tables}
        if target.engine.dialect.name == "postgresql":
            _count_on(writing)
    source.close()
    target.close()
    return copied


def _copy(reading: Connection, writing: Connection, table: Table) -> int:
    rows = 0
    query = select(table).execution_options(yield_per=BATCH)
    for batch in reading.execute(query).mappings().partitions(BATCH):
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


def main(arguments: list[str]) -> None:
    """Move the store that the command line names."""
    try:
        source, target = arguments
    except ValueError:
        sys.exit("usage: python deploy/move_store.py FROM TO")
    try:
        copied = move(source, target)
    except MonitorError as error:
        sys.exit(str(error))
    for name, rows in copied.items():
        print(f"{rows:9,} {name}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
