"""Stores as released versions left them, with the rows those versions wrote."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from alembic import command
from sqlalchemy import DateTime, LargeBinary, MetaData, Table, delete, insert, inspect, text

from monitor.storage import schema

RELEASED = Path(__file__).parent / "released"
REVISIONS = sorted(path.stem for path in RELEASED.glob("*.json"))


def written_rows(revision):
    """Rows of each table, as the version with this schema wrote them."""
    return json.loads((RELEASED / f"{revision}.json").read_text())


def make_old_store(database, revision):
    """Make an empty database a store of that version."""
    with database.write() as connection:
        command.upgrade(schema.alembic_config(connection), revision)
        tables = tables_of(connection)
        connection.execute(delete(tables["store"]))
        for name, rows in written_rows(revision).items():
            if rows:
                connection.execute(insert(tables[name]), [_stored(tables[name], r) for r in rows])
        if not database.is_sqlite:
            _count_on(connection, tables)


def tables_of(connection):
    """Find the tables that are there, in an order in which rows can be inserted."""
    reflected = MetaData()
    reflected.reflect(connection)
    found = {table.name: table for table in reflected.sorted_tables}
    found.pop(schema.VERSION_TABLE)
    return found


RENAMED = {  # by revisions 0005 and 0007
    "precision_carried": "precision_pooled",
    "recall_carried": "recall_pooled",
    "carried": "pooled",
    "carry": "pooling",
    "own_share": "robust_weight",
    "lean": "shift",
    "gold": "audit",
}
PUBLISHED_AGAIN = "/renamed"  # ends the keys of effects that revision 0005 adds


def rows_of(database, columns):
    """Read these columns of each table as they are stored, in today's words.

    That is what an upgrade must not change.
    """
    with database.read() as connection:
        return {name: _rows(connection, name, wanted) for name, wanted in columns.items()}


def _rows(connection, table, columns):
    listed = ", ".join(f'"{name}"' for name in columns)
    found = connection.exec_driver_sql(f"select {listed} from {_whole(connection, table)}")
    rows = [tuple(_in_todays_words(cell) for cell in row) for row in found]
    return sorted((row for row in rows if not _is_published_again(row)), key=str)


def _whole(connection, table):
    """Name a table, or for effects say how to read them with the reports that they refer to."""
    if table != "effects" or not inspect(connection).has_table("reports"):
        return table
    names = [column["name"] for column in inspect(connection).get_columns(table)]
    own = ", ".join(f'e."{name}"' for name in names if name != "payload")
    return (
        f"(select {own}, coalesce(p.payload, e.payload) as payload from effects e left join"
        " reports p on p.round_id = e.round_id and p.version = e.report_version) whole"
    )


def _is_published_again(row):
    return any(str(cell).endswith(PUBLISHED_AGAIN) for cell in row)


def _in_todays_words(cell):
    if isinstance(cell, str) and cell.startswith("{"):
        cell = json.loads(cell)
    if isinstance(cell, dict):
        return {RENAMED.get(key, key): _in_todays_words(value) for key, value in cell.items()}
    if isinstance(cell, list):
        return [_in_todays_words(each) for each in cell]
    return RENAMED.get(cell, cell) if isinstance(cell, str) else cell


def columns_of(revision):
    """Name the columns that the store of a version has, by table."""
    return {name: list(rows[0]) for name, rows in written_rows(revision).items() if rows}


def _stored(table: Table, row):
    return {name: _value(table.c[name].type, value) for name, value in row.items()}


def _value(kind, value):
    if value is not None and isinstance(kind, DateTime):
        return datetime.fromisoformat(value)
    return bytes.fromhex(value) if isinstance(kind, LargeBinary) else value


def _count_on(connection, tables):
    """Let PostgreSQL go on counting after the ids that were inserted."""
    for name, table in tables.items():
        if "id" in table.c and table.c.id.type.python_type is int:
            count = f"pg_get_serial_sequence('{name}', 'id')"
            connection.execute(
                text(
                    f"select setval({count}, (select coalesce(max(id), 0) + 1 from {name}), false)"
                )
            )
