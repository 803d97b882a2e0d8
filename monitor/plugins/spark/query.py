"""What Spark is asked, where it differs from what databases are: times, and lists of ids."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, func, literal, literal_column, select, types

from monitor.plugins.spark.dialect import instant_text
from monitor.sources.dialects import Typed, written
from monitor.sources.sql_query import Query
from monitor.sources.sql_table import TableInfo
from monitor.sources.sql_times import Times, first_local, local_times

if TYPE_CHECKING:
    from monitor.sources.table_settings import TableSettings


@dataclass(frozen=True, slots=True)
class SparkTable(TableInfo):
    """A table as Spark finds it."""

    def times(self, settings: TableSettings, setting: str = "columns.time") -> Times | None:
        """Choose how times are read, by nothing that the session's time zone decides."""
        # Named, since a dataclass with slots is made anew and zero-argument super() knows the old.
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
            return instant_text(self.table.column(name))
        return Query._text(self, name)
