"""The database user of dashboards, as deploy/grafana/reader.sql makes it on a real PostgreSQL."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import InternalError, ProgrammingError

from monitor.storage import schema
from monitor.storage.pages import page_tables  # noqa: F401  adds its tables to the metadata
from monitor.storage.tables import metadata
from monitor.storage.views import NAMES

OF_PARTS = {"agreement", "segments"}  # which no round here has


def test_the_reader_reads_every_view(reader):
    with reader.connect() as connection:
        for view in NAMES:
            rows = connection.execute(text(f"select * from {view}")).all()
            assert rows or view in OF_PARTS, view


def test_the_reader_reads_no_table_with_what_people_saw_said_or_are(reader):
    tables = {*metadata.tables, schema.VERSION_TABLE}

    for table in tables:
        with reader.connect() as connection, pytest.raises(ProgrammingError, match="denied"):
            connection.execute(text(f"select 1 from {table}"))

    assert {"payloads", "label_events", "page_answers", "page_users", "reports"} < tables


@pytest.mark.parametrize(
    "statement",
    [
        "delete from label_events",
        "update alerts set state = 'resolved'",
        "insert into monitors (name, created_at) values ('x', now())",
        "create table mine (id integer)",
        "drop view round_results",
    ],
)
def test_the_reader_changes_nothing(reader, statement):
    with reader.connect() as connection, pytest.raises(InternalError, match="read-only"):
        connection.execute(text(statement))
    with reader.connect() as connection:
        connection.execute(text("set transaction read write"))
        with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
            connection.execute(text(statement))
