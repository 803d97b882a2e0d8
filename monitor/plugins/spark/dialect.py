"""Spark's SQL: its words and types, and what it is asked otherwise than databases are."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, func, literal, literal_column, select, types

from monitor.sources.dialects import DIALECTS, TextDialect, Typed, written
from monitor.sources.sql_query import Query
from monitor.sources.sql_table import TableInfo
from monitor.sources.sql_times import Times, first_local, local_times
from monitor.sources.table_settings import TableSettings

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


@dataclass(frozen=True, slots=True)
class SparkTable(TableInfo):
    """A table as Spark finds it."""

    def times(self, settings: TableSettings, setting: str = "columns.time") -> Times | None:
        """Choose how times are read, by nothing that the session's time zone decides."""
        # Named, since a dataclass with slots is another class and super() knows the old.
        times = TableInfo.times(self, settings, setting)
        kind = self.types[settings.columns.time]
        if times is None or not isinstance(kind, types.DateTime | types.Date):
            return times
        if isinstance(kind, types.TIMESTAMP):
            return _INSTANTS
        if isinstance(kind, types.Date):
            return _dates(settings.time_zone or "UTC")
        return _local(settings.time_zone or "UTC")


def _micros(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return written("unix_micros({0})", value, types.BigInteger())


_INSTANTS = Times(Typed("timestamp"), lambda at: at.astimezone(UTC).isoformat(), int, read=_micros)


def _local(zone: str) -> Times:
    zone_times = local_times(zone)
    return Times(
        Typed("timestamp_ntz"), lambda at: zone_times.bound(at).isoformat(), zone_times.instant
    )


def _dates(zone: str) -> Times:
    """Read dates, each its midnight: a bound is the first of them that is not before it."""
    return Times(
        Typed("date"), lambda at: _first_date(at, zone).isoformat(), local_times(zone).instant
    )


def _first_date(at: datetime, zone: str) -> date:
    local = first_local(at, ZoneInfo(zone))
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight if midnight == local else midnight + timedelta(days=1)).date()


@dataclass(frozen=True, slots=True)
class SparkQuery(Query):
    """Builds each statement for one table of Spark."""

    def _may_be(self, ids: Collection[Any]) -> ColumnElement[bool]:
        """Compare with all ids in one bound value, as to bind each of them is slow here."""
        listed = literal(json.dumps([str(each) for each in ids]), types.String())
        texts = func.from_json(listed, literal_column("'array<string>'"))
        return self._id.in_(select(func.explode(texts)))

    def _text(self, name: str) -> ColumnElement[Any]:
        if isinstance(self.table.types[name], types.TIMESTAMP):
            # In UTC, as files show it, regardless of the session's time zone.
            return written(_INSTANT_TEXT, self.table.column(name))
        return Query._text(self, name)
