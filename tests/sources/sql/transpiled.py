"""Databases without a server here: their statements, translated by `sqlglot`, on a file of DuckDB.

`sqlglot` parses each statement by the grammar of the database, so that one which the database
could not read fails. What DuckDB then executes has the meaning that the database gives it.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot
from sqlalchemy import Boolean, DateTime, Double, Uuid
from sqlalchemy import table as table_of
from sqlalchemy import types as sql_types
from sqlalchemy.dialects import mssql, mysql, postgresql
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql import column
from sqlalchemy.sql.compiler import IdentifierPreparer
from sqlglot import ErrorLevel, exp

from monitor.domain.errors import SourceRefused
from monitor.sources.dialects import DIALECTS, Reading
from monitor.sources.sql import SqlSource
from monitor.sources.sql_table import TableInfo
from monitor.sources.table_settings import SqlSettings
from tests.sources.sql.databases import COLUMNS, DuckdbPlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Dialect
    from sqlalchemy.types import TypeEngine

_TYPES: dict[str, TypeEngine[Any]] = {
    "VARCHAR": sql_types.String(),
    "BIGINT": sql_types.BigInteger(),
    "INTEGER": sql_types.Integer(),
    "TINYINT": sql_types.SmallInteger(),
    "DOUBLE": Double(),
    "BOOLEAN": Boolean(),
    "UUID": Uuid(),
    "TIMESTAMP WITH TIME ZONE": DateTime(timezone=True),
    "TIMESTAMP": DateTime(),
}


class _Backticks(IdentifierPreparer):
    def __init__(self, dialect):
        super().__init__(dialect, initial_quote="`", escape_quote="`")


def _general(name, preparer=IdentifierPreparer):
    """Make a stand-in for the dialect of a package that is not installed."""
    dialect = DefaultDialect(paramstyle="named")
    dialect.name = name
    dialect.identifier_preparer = preparer(dialect)
    dialect.supports_native_boolean = True
    return dialect


_ENGINES: dict[str, Callable[[], Dialect]] = {
    "mysql": partial(mysql.dialect, paramstyle="named"),
    "redshift": partial(postgresql.dialect, paramstyle="named"),
    "mssql": partial(mssql.dialect, paramstyle="named"),
    "snowflake": partial(_general, "snowflake"),
    "bigquery": partial(_general, "bigquery", _Backticks),
    "databricks": partial(_general, "databricks", _Backticks),
    "trino": partial(_general, "trino"),
}
_GRAMMARS = {"mssql": "tsql"}


def _in_duckdb(node):
    """Write for DuckDB what `sqlglot` leaves as it is, or takes for something else."""
    match node:
        case exp.Collate():
            return node.this  # DuckDB compares texts by their bytes, as these collations do.
        case exp.DataType(this=exp.DType.CHARACTER_SET):
            return exp.DataType.build("text")
        case exp.Anonymous(this=str(name)) if name.lower() == "is_infinite":
            return exp.func("isinf", *node.expressions)
        case exp.Anonymous(this=str(name)) if name.lower() == "datalength":
            return exp.Anonymous(this="strlen", expressions=node.expressions)
        case _:
            return node


def _of_sql_server(node):
    """Write for DuckDB what only SQL Server means by these words."""
    match node:
        case exp.Convert(expression=exp.MD5() as md5):
            return exp.Upper(this=md5)  # the bytes as hexadecimal digits, by style 2
        case exp.Add():
            return exp.DPipe(this=node.this, expression=node.expression)  # of texts alone
        case exp.DataType(this=exp.DType.FLOAT):
            return exp.DataType.build("double")
        case _:
            return _in_duckdb(node)


@cache
def translated(name: str, statement: str) -> str:
    """Translate a statement of a database for DuckDB."""
    tree = sqlglot.parse_one(statement, read=_GRAMMARS.get(name, name))
    meaning = _of_sql_server if name == "mssql" else _in_duckdb
    for node in reversed([*tree.walk()]):  # the innermost first
        node.replace(meaning(node))
    return str(tree.sql("duckdb", unsupported_level=ErrorLevel.RAISE))


class _Connection:
    """Executes the statements of a database on a connection of DuckDB."""

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection) -> None:
        self._name = name
        self._connection = connection

    def execute(self, statement: Any, *, execution_options: Any = None) -> Any:  # noqa: ARG002
        compiled = statement.compile(
            dialect=_ENGINES[self._name](), compile_kwargs={"render_postcompile": True}
        )
        values = compiled.construct_params()
        text = translated(self._name, str(compiled))
        # By Arrow, since DuckDB's own rows need pytz for times with a zone.
        table = self._connection.sql(text, params=values).to_arrow_table()
        return [*zip(*(one.to_pylist() for one in table.columns), strict=True)]

    def scalar(self, statement: Any) -> Any:
        rows = self.execute(statement)
        return rows[0][0] if rows else None


class TranspiledSource(SqlSource):
    """A source whose statements are executed on the file of DuckDB that the address names."""

    @contextmanager
    def opened(self, window=None):  # noqa: ARG002
        url = self.database._url
        with duckdb.connect(str(url.database), read_only=True) as connection:
            connection.execute("set TimeZone = 'UTC'")
            yield Reading(_Connection(url.drivername, connection), DIALECTS[url.drivername])

    def describe_table(self, reading):
        connection = reading.connection._connection
        try:
            described = connection.execute(f"describe {self.settings.table}").fetchall()
        except duckdb.CatalogException as error:
            message = f"{self.place}: there is no such table"
            raise SourceRefused(message) from error
        types = {name: _TYPES.get(kind, sql_types.NullType()) for name, kind, *_ in described}
        clause = table_of(self.settings.table, *(column(*each) for each in types.items()))
        dialect = reading.dialect
        return TableInfo(
            self.place, clause, types, frozenset(types), dialect, dialect.sees_one_state
        )


class TranspiledPlace(DuckdbPlace):
    """A database of a test whose statements DuckDB executes."""

    def __init__(self, name, path):
        super().__init__(path)
        self.name = name

    def make(self, table, kinds, rows):
        """Make a table, with numbers for truths if the database has no type for these."""
        has_booleans = DIALECTS[self.name].has_booleans
        of = {"boolean": "boolean" if has_booleans else "tinyint"}
        super().make(table, {name: of.get(kind, kind) for name, kind in kinds.items()}, rows)

    def source(self, **changes):
        given = {"url": f"{self.name}:///{self.path}", "table": "scored", "columns": COLUMNS}
        asked = SqlSettings.model_validate({**given, "threshold": 0.5, **changes})
        return TranspiledSource(asked)
