"""Stores as released versions left them, with the rows those versions wrote."""

import json
from datetime import datetime
from pathlib import Path

from alembic import command
from sqlalchemy import DateTime, LargeBinary, MetaData, Table, delete, insert, text

from monitor.storage import schema
from monitor.storage.tables import metadata

RELEASED = Path(__file__).parent / "released"
REVISIONS = sorted(path.stem for path in RELEASED.glob("*.json"))


def written_rows(revision):
    """Rows of each table, as the version with this schema wrote them."""
    return json.loads((RELEASED / f"{revision}.json").read_text())


def make_old_store(database, revision):
    """Make an empty database a store of that version, as it was released."""
    make_store_of(database, revision, written_rows(revision))


def make_store_of(database, revision, written):
    """Make an empty database a store of that version, with these rows of each table."""
    with database.write() as connection:
        command.upgrade(schema.alembic_config(connection), revision)
        tables = tables_of(connection)
        connection.execute(delete(tables["store"]))
        for name, rows in written.items():
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


def rows_of(database, columns):
    """Read these columns of each table: what an upgrade must not change."""
    with database.read() as connection:
        return {name: _rows(connection, name, wanted) for name, wanted in columns.items()}


def _rows(connection, table, columns):
    listed = ", ".join(f'"{name}"' for name in columns)
    found = connection.exec_driver_sql(f"select {listed} from {table}")
    return sorted((tuple(row) for row in found), key=str)


def newer_program(monkeypatch, folder, body):
    """Give this program a migration more; returns the folder of its migrations."""
    shipped, head = schema.migrations_folder(), schema.revisions()[-1]
    (folder / "versions").mkdir(parents=True)
    for path in (*shipped.glob("*.py"), *shipped.glob("versions/*.py")):
        (folder / path.relative_to(shipped)).write_text(path.read_text())
    (folder / "versions" / "0999_next.py").write_text(
        f'revision = "0999"\ndown_revision = "{head}"\n\n\n{body}'
    )
    monkeypatch.setattr(schema, "migrations_folder", lambda: folder)
    return folder


def columns_of(revision):
    """Name the columns that the store of a version has, by table, of those that stay."""
    return columns_of_rows(written_rows(revision))


def columns_of_rows(written):
    """Name the columns of the rows of each table, of those that stay."""
    tables = metadata.tables
    return {
        name: [column for column in rows[0] if column in tables[name].c]
        for name, rows in written.items()
        if rows and name in tables
    }


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
