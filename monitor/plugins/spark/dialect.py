"""Spark's SQL: the words, names and texts that its statements are written with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, types

from monitor.sources.dialects import DIALECTS, TextDialect, written

_TEXT = "collate(cast({0} as string), 'UTF8_BINARY')"
SPARK = replace(
    DIALECTS["databricks"],
    text=_TEXT,
    id_text=f"case when instr({_TEXT}, char(0)) > 0 "
    f"then replace({_TEXT}, char(0), concat(char(92), 'x00')) else {_TEXT} end",
    begin=(),
)
"""As Databricks has them; a text compares by its bytes whatever its column's collation says."""

_INSTANT_TEXT = (
    "concat(cast(timestampadd(microsecond, unix_micros({0}), timestamp_ntz'1970-01-01 00:00:00') "
    "as string), '+00')"
)


SPARK_TEXT = TextDialect("spark", "`")


def type_of(spelled: str) -> types.TypeEngine[Any]:
    """Give the type of a column by what Spark calls it."""
    if spelled.startswith("decimal("):
        precision, scale = (int(part) for part in spelled[8:-1].split(","))
        return types.Numeric(precision, scale)
    if spelled.startswith(("string", "varchar(", "char(")):
        return types.String()
    return _TYPES.get(spelled, types.NullType)()


_TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "tinyint": types.SmallInteger,
    "smallint": types.SmallInteger,
    "int": types.Integer,
    "bigint": types.BigInteger,
    "float": types.Float,
    "double": types.Double,
    "boolean": types.Boolean,
    "binary": types.LargeBinary,
    "date": types.Date,
    "timestamp": types.TIMESTAMP,
    "timestamp_ntz": types.DateTime,
}


def instant_text(instant: ColumnElement[Any]) -> ColumnElement[Any]:
    """Write an instant as text in UTC, as files show it, regardless of the session's time zone."""
    return written(_INSTANT_TEXT, instant)
