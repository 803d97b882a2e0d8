"""Description of a database table for `pr-monitor init`, before there is a config."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import literal, select, types
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from monitor.domain.errors import InputRefused
from monitor.sources.dialects import Dialect, Reading, written
from monitor.sources.sql import SqlSource
from monitor.sources.sql_table import TableInfo
from monitor.sources.table_settings import Columns, SqlSettings

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MOST_VALUES = 20
_FIRST_ROWS = 10_000


class DescribedTable:
    """A table described by its columns and values.

    address: The address as in the config, with environment variables as ``${NAME}``.

    Raises `InputRefused` if the address has a password, or a variable that is not set.
    """

    def __init__(self, address: str, table: str, folder: Path) -> None:
        url = _VARIABLE.sub(_value, _without_password(address))
        columns = Columns(id="id", time="time", score="score")  # not asked for yet
        settings = SqlSettings(url=url, table=table, columns=columns, threshold=0.5)
        self._source = SqlSource(settings, folder)

    def columns(self) -> dict[str, str]:
        """Return the type of each column, with the names of types in files."""
        with self._opened() as (reading, table):
            return {name: _named(kind, reading.dialect) for name, kind in table.types.items()}

    def class_values(self, column: str) -> tuple[str, ...]:
        """Return the values of a column; empty if there are too many for classes."""
        with self._opened() as (reading, table):
            value = written(reading.dialect.text, table.column(column)).label("value")
            rows = select(value).where(table.column(column).is_not(None)).subquery()
            distinct = select(rows.c.value).distinct().limit(_MOST_VALUES + 1)
            values = sorted({str(row[0]).strip() for row in reading.connection.execute(distinct)})
        return tuple(values) if len(values) <= _MOST_VALUES else ()

    def first_values(
        self, types: Mapping[str, str], *, filled: str | None = None, at_most: int = _FIRST_ROWS
    ) -> dict[str, list[Any]]:
        """Return the first values of some columns.

        filled: Skip rows in which this column is empty.
        """
        with self._opened() as (reading, table):
            query = select(literal(1), *map(table.column, types)).limit(at_most)
            if filled is not None:
                query = query.where(table.column(filled).is_not(None))
            rows = reading.connection.execute(query).all()
        return {name: [row[index] for row in rows] for index, name in enumerate(types, start=1)}

    @contextmanager
    def _opened(self) -> Iterator[tuple[Reading, TableInfo]]:
        with self._source.opened() as reading:
            yield reading, self._source.describe_table(reading)


def _without_password(address: str) -> str:
    try:
        password = make_url(address).password
    except (ArgumentError, ValueError):
        password = None
    if password is not None and not _VARIABLE.search(str(password)):
        message = (
            "do not write a password into the config or on the command line; set a variable and "
            "write it as ${NAME}, the whole address in single quotes"
        )
        raise InputRefused(message)
    return address


def _value(match: re.Match[str]) -> str:
    if match[1] not in os.environ:
        message = f"the environment has no variable {match[1]}; set it first"
        raise InputRefused(message)
    return os.environ[match[1]]


def _named(kind: TypeEngine[Any], dialect: Dialect) -> str:
    """Return the name of a type in files, which is used to recognize columns."""
    if isinstance(kind, types.DateTime):
        is_aware = getattr(kind, "timezone", False) or type(kind).__name__ in (
            dialect.aware | dialect.naive_utc
        )
        return "TIMESTAMP WITH TIME ZONE" if is_aware else "TIMESTAMP"
    names: list[tuple[type[TypeEngine[Any]], str]] = [
        (types.Date, "DATE"),
        (types.Boolean, "BOOLEAN"),
        (types.Uuid, "UUID"),
        (types.Integer, "BIGINT"),
        (types.Numeric, "DOUBLE"),
        (types.Float, "DOUBLE"),
        (types.String, "VARCHAR"),
    ]
    return next((name for base, name in names if isinstance(kind, base)), str(kind))
