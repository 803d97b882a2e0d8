"""What Spark is asked, where it differs from what databases are: times, and the first by md5."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    and_,
    case,
    func,
    literal,
    literal_column,
    null,
    select,
    types,
)

from monitor.plugins.spark.dialect import instant_text
from monitor.sources import frames
from monitor.sources.dialects import Typed, written
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_query import Query, code_of, decisions_of, of_version
from monitor.sources.sql_table import TableInfo
from monitor.sources.sql_times import Times, first_local, local_times

if TYPE_CHECKING:
    from monitor.domain.model import Stratum, Window
    from monitor.sources.table_settings import TableSettings

_MOST_FIRST = 100_000  # that min_by takes


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
    """Builds each statement for one table of Spark.

    To read ids costs most; where they are not read, every row is taken to have one.
    """

    reads_ids: bool = True

    def draw(
        self,
        window: Window,
        strata: Sequence[Stratum],
        seed: str,
        bounds: Mapping[int, str],
        version: str | None,
        expected: int,
    ) -> Select[Any]:
        """Take the first rows of some strata by md5: no more come back than are wanted of each.

        The bound keeps nearly all rows from the part of Spark that puts them in order.
        """
        below = Query.draw(self, window, strata, seed, bounds, version, expected)
        if expected > _MOST_FIRST or self.has_chances:
            return below
        few = below.subquery()
        carried = [few.c[name] for name in self.carried]
        row = func.struct(few.c.h, few.c.id, few.c.score, *carried)
        order = func.struct(few.c.h, few.c.id, few.c.score.is_(None), few.c.score, *carried)
        first = func.explode(func.min_by(row, order, literal_column(str(expected)))).label("item")
        rows = select(few.c.bucket, first).group_by(few.c.bucket).subquery()
        parts = ("h", "id", "score", *self.carried)
        return select(rows.c.bucket, *(literal_column(f"item.{name}") for name in parts))

    def count_and_draw(
        self,
        window: Window,
        strata: Sequence[Stratum],
        seed: str,
        bounds: Mapping[int, str],
        version: str | None,
    ) -> Select[Any]:
        """Count each bucket and model version, those rows apart whose md5 is below their bound.

        One group by for both: numbers are kept for each group, of which a row below its bound is
        a separate one, so that Spark puts nothing in order. A duplicate id is counted.
        """
        rows = self._rows(window)
        bucket = self.placed(rows.c, strata, code_of).label("bucket")
        classed = select(*rows.c, bucket, self.hashed(seed, rows.c.id).label("h")).subquery()
        c = classed.c
        listed = (bounds.get(index, "") for index in range(max(bounds, default=0) + 1))
        return _count_and_draw(
            c,
            keys=(c.bucket, c.version),
            drawn=[c.h < func.get(_texts(listed), c.bucket), *of_version(classed, version)],
            newest=self.newest(c.t),
            score=null() if self.settings.columns.score is None else func.min(c.score),
            carried=self.carried,
            decisions=self.decisions(c),
        )

    def _may_be(self, ids: Collection[Any]) -> ColumnElement[bool]:
        """Compare with all ids in one bound value, as to bind each of them is slow here."""
        listed = literal(json.dumps([str(each) for each in ids]), types.String())
        texts = func.from_json(listed, literal_column("'array<string>'"))
        return self._id.in_(select(func.explode(texts)))

    def _text(self, name: str) -> ColumnElement[Any]:
        if isinstance(self.table.types[name], types.TIMESTAMP):
            return instant_text(self.table.column(name))
        return Query._text(self, name)

    def _reasons(self, c: Any) -> list[tuple[ColumnElement[bool], int]]:
        reasons = Query._reasons(self, c)
        return [each for each in reasons if self.reads_ids or each[1] != frames.ID_MISSING]


@dataclass(frozen=True, slots=True)
class SharedSparkQuery(SharedQuery):
    """Builds statements of Spark for several monitors."""

    def for_each(self, rows: Subquery) -> Subquery:
        """Repeat each row once for every monitor, whose index it has as ``k``."""
        positions = func.sequence(code_of(0), code_of(len(self.scans) - 1))
        return select(*rows.c, func.explode(positions).label("k")).subquery()

    def count_and_draw(
        self,
        window: Window,
        seed: str,
        bounds: Mapping[int, Mapping[int, str]],
        version: str | None,
    ) -> Select[Any]:
        """Count for each monitor, rows below its bounds apart, as `SparkQuery` does for one."""
        rows = self.rows(window)
        hashed = select(*rows.c, self.common.hashed(seed, rows.c.id).label("h")).subquery()
        per_monitor = self.for_each(hashed)
        bucket = self.chosen(
            per_monitor,
            [self.placed(per_monitor, position, code_of) for position in self.positions],
        )
        score = self.chosen(
            per_monitor, [per_monitor.c[f"score_{position}"] for position in self.positions]
        )
        names = ("k", "h", "id", "t", "version", *self.common.segments)
        classed = select(
            *(per_monitor.c[name] for name in names),
            *(score.label("score"), bucket.label("bucket"), *self.decided(per_monitor)),
        ).subquery()
        c = classed.c
        most = max(len(scan.strata) for scan in self.scans)
        listed = [
            bounds.get(position, {}).get(n, "") for position in self.positions for n in range(most)
        ]
        bound = func.get(_texts(listed), c.k * code_of(most) + c.bucket)
        return _count_and_draw(
            c,
            keys=(c.k, c.bucket, c.version),
            drawn=[c.bucket >= code_of(0), c.h < bound, *of_version(classed, version)],
            newest=self.common.newest(c.t),
            score=func.min(c.score),
            carried=[*self.common.segments, *(["challenged"] if self.has_challenger else [])],
            decisions=decisions_of(c) if self.has_challenger else [],
        )


def _count_and_draw(
    c: Any,
    *,
    keys: Sequence[ColumnElement[Any]],
    drawn: Sequence[ColumnElement[bool]],
    newest: ColumnElement[Any],
    score: ColumnElement[Any],
    carried: Sequence[str],
    decisions: Sequence[ColumnElement[Any]],
) -> Select[Any]:
    """Group rows by their keys, each row that is drawn as a separate group."""
    is_drawn = and_(*drawn)
    md5, item_id, *own = (
        case((is_drawn, c[name])).label(f"own_{name}") for name in ("h", "id", *carried)
    )
    return select(
        *keys, func.count(), newest, md5, item_id, score.label("s"), *own, *decisions
    ).group_by(*keys, md5, item_id, *own)


def _texts(listed: Iterable[str]) -> ColumnElement[Any]:
    """Write bounds into the statement, to be found by their places: our hex digits."""
    return literal_column(f"array({', '.join(repr(bound) for bound in listed)})")
