"""Databases with a table of predictions, and sources over them."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import duckdb
import pytest
from sqlalchemy import create_engine, text

from monitor.domain.judge import Judge
from monitor.files.duckdb_sql import quoted
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.sql import SqlSource
from monitor.sources.table_settings import DuckdbSettings, SqlSettings

COLUMNS = {"id": "id", "time": "at", "score": "score", "show": ["text"]}
BY_COUNTRY = {**COLUMNS, "segments": ["country"]}
BY_CLASS = {"id": "id", "time": "at", "predicted": "predicted"}
AT = datetime(2026, 3, 3, tzinfo=UTC)

DATABASES = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgresql),
    pytest.param("mariadb", marks=pytest.mark.mariadb),
]
TRANSPILED = ("mysql", "redshift", "mssql", "snowflake", "bigquery", "databricks", "trino")
"""Databases without a server here: DuckDB executes their statements (`TranspiledPlace`)."""


def also_in_files(test):
    """Let a test, or a class of them, run on a file of DuckDB beside the databases."""
    test.in_files = True
    return test


def also_transpiled(test):
    """Let a test, or a class of them, run on databases whose statements DuckDB executes."""
    test.is_transpiled = True
    return test


KINDS = {
    "sqlite": {"aware": "text", "double": "real", "text": "text"},
    "postgresql": {"aware": "timestamptz", "double": "double precision", "text": "text"},
    "duckdb": {"aware": "timestamptz", "double": "double", "text": "varchar"},
    "mariadb": {"aware": "timestamp(6) null", "double": "double", "text": "varchar(200)"},
}


def make_by_sql(place, table, kinds, rows):
    """Make a table of a place anew, with columns of these types and these rows."""
    listed = ", ".join(f"{place.quoted(name)} {kind}" for name, kind in kinds.items())
    place.run(f"drop table if exists {table}", f"create table {table} ({listed})")
    place.add(table, rows)


@dataclass
class Place:
    """A database of a test: its name, its address, and statements by a connection of its own."""

    name: str
    url: str
    kinds: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.kinds = KINDS[self.name]
        self._engine = create_engine(self.url)

    make = make_by_sql

    def run(self, *statements):
        with self._engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement.replace(":", "\\:")))

    def add(self, table, rows):
        """Add rows, the values of each by the columns' names."""
        if not rows:
            return
        names = list(rows[0])
        columns = ", ".join(self.quoted(name).replace(":", "\\:") for name in names)
        values = ", ".join(f":v{place}" for place in range(len(names)))
        statement = text(f"insert into {table} ({columns}) values ({values})")
        bound = [{f"v{n}": row[name] for n, name in enumerate(names)} for row in rows]
        with self._engine.begin() as connection:
            connection.execute(statement, bound)

    def quoted(self, name):
        preparer = self._engine.dialect.identifier_preparer
        return preparer.quote_identifier(name).replace("%%", "%")

    @contextmanager
    def connected(self):
        with self._engine.connect() as connection:
            yield connection

    def moment(self, at):
        """Write an instant as the column of `make_table` takes it."""
        if at is None:
            return None
        if self.name == "sqlite":
            return at.isoformat()
        return at if self.name == "postgresql" else at.astimezone(UTC).replace(tzinfo=None)

    def source(self, **changes):
        given = {"url": self.url, "table": "scored", "columns": COLUMNS, "threshold": 0.5}
        return SqlSource(SqlSettings.model_validate({**given, **changes}))

    def close(self):
        self._engine.dispose()


class DuckdbPlace:
    """A DuckDB file of a test, as `Place` is a database."""

    name, kinds = "duckdb", KINDS["duckdb"]
    make = make_by_sql

    def __init__(self, path):
        self.path = path

    def run(self, *statements):
        with duckdb.connect(self.path) as connection:
            connection.execute("set TimeZone = 'UTC'")
            for statement in statements:
                connection.execute(statement)

    def add(self, table, rows):
        """Add rows, the values of each by the columns' names."""
        if not rows:
            return
        columns = ", ".join(map(self.quoted, rows[0]))
        marks = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(rows))
        values = [value for row in rows for value in row.values()]
        with duckdb.connect(self.path) as connection:
            connection.execute(f"insert into {table} ({columns}) values {marks}", values)

    def quoted(self, name):
        return quoted(name)

    def moment(self, at):
        return at

    def source(self, **changes):
        given = {"path": self.path.name, "table": "scored", "columns": COLUMNS, "threshold": 0.5}
        return DuckdbSource(DuckdbSettings.model_validate({**given, **changes}), self.path.parent)


class OnPlace:
    """Tests of a class that have a place of their own."""

    @pytest.fixture(autouse=True)
    def _place(self, place):
        self.place = place


def make_table(place, rows, **kinds):
    """Make the table ``scored`` of rows as `MemorySource` takes them."""
    of = {
        "id": place.kinds["text"],
        "at": place.kinds["aware"],
        "score": place.kinds["double"],
        "predicted": "boolean",
        "text": place.kinds["text"],
        "country": place.kinds["text"],
        **kinds,
    }
    named = [
        {name: place.moment(row["time"]) if name == "at" else row.get(name) for name in of}
        for row in rows
    ]
    place.make("scored", of, named)


def source_of(place, judge=None, **changes):
    source = place.source(**changes)
    source.settings.judge_by(None if judge is None else Judge.model_validate(judge))
    return source


def rows_with(**columns):
    [first, *_] = columns.values()
    good = {"time": AT, "score": 0.9, "predicted": True, "text": "x", "country": "CZ"}
    return [
        {"id": str(n), **good, **{name: values[n] for name, values in columns.items()}}
        for n in range(len(first))
    ]


def classes(frame):
    return {part.stratum.name: sorted(c.id for c in part.candidates) for part in frame.strata}


def drawn(frame):
    """Ids of all candidates, in their order."""
    return [candidate.id for part in frame.strata for candidate in part.candidates]
