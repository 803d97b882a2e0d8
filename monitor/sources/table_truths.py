"""The truth about items in a table, read by SQL statements.

If an engine can also read the predictions, two statements join both for all items of a window.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import FromClause, Select, Subquery, func, or_, select

from monitor.domain.census import JoinedItems
from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Stratum, Window
from monitor.domain.truth import TruthColumns, TruthRow, Truths, bare_ids, of_items, truth_rows
from monitor.domain.values import BLANKS
from monitor.sources import buckets
from monitor.sources.dialects import Reading, written
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_draw import tallied
from monitor.sources.sql_query import IdOrder, Query, Scan
from monitor.sources.sql_rows import code_of, of_version
from monitor.sources.sql_times import local_times

if TYPE_CHECKING:
    from monitor.sources.table_source import TableSource


Row = tuple[str, int | None, str | None]
"""A value, the time when it became known, and the style of this time in text."""


class TableTruths:
    """The truth in some columns.

    source: Reads the table of the truth; its ``columns.time`` is the truth's time, if any.
    assumed_zone: Whether the zone of times without one is a guess, since the config has none.
    """

    def __init__(
        self, source: TableSource, truth_columns: TruthColumns, *, assumed_zone: bool = False
    ) -> None:
        self.source = source
        self._columns = truth_columns
        self._assumed_zone = assumed_zone
        self.timeout = source.settings.timeout
        self.advice = source.advice
        self.place = source.waited_for
        self.whole_location = source.whole_location

    def __str__(self) -> str:
        return self.source.place

    @property
    def columns_read(self) -> set[str]:
        """The columns of the truth, and of ``where``."""
        columns = {self._columns.id, self._columns.value, self._columns.time}
        return {*filter(None, columns), *self.source.settings.where}

    def state(self, now: datetime) -> str | None:
        """Return a text that changes when the rows may have changed; None if not cheap."""
        state = self.source.truth_state(now)
        return None if state is None else json.dumps(state)

    def columns(self) -> Mapping[str, str]:
        """Return the type of each column; raises `LabelsRefused` if a needed one is unusable."""
        with self._opened() as (_, query):
            return query.table.type_names

    def values(self) -> Mapping[str, int]:
        """Count the rows of each value, the most frequent first."""
        with self._opened() as (reading, query):
            rows = reading.connection.execute(query.values(self._columns.value))
            counts: Counter[str] = Counter()
            for text, count in sorted(tuple(row) for row in rows):
                counts[text.strip(BLANKS)] += int(count)
        del counts[""]
        return dict(counts.most_common())

    def examples(self, at_most: int) -> tuple[str, ...]:
        """Return ids from both ends of their order."""
        first, last = self._ids("first", at_most - at_most // 2), self._ids("last", at_most // 2)
        return tuple(dict.fromkeys((*first, *reversed(last))))

    def some_ids(self, at_most: int) -> tuple[str, ...]:
        """Return random ids, the same each time, without the blanks around them.

        Empty if the engine cannot order ids at random cheaply.
        """
        return tuple(sorted(bare_ids(self._ids("random", at_most))))

    def _ids(self, which: IdOrder, at_most: int) -> list[str]:
        with self._opened() as (reading, query):
            if which == "random" and not reading.dialect.random:
                return []
            return [row[0] for row in reading.connection.execute(query.ids(at_most, which))]

    def of(self, ids: Collection[str]) -> Truths:
        """Read the truth of some items, in as many statements as needed.

        Blanks around an id in the table are ignored if the database's comparison ignores them
        (CHAR).
        """
        spellings = sorted(bare_ids(ids).union(ids))
        rows: list[tuple[Any, ...]] = []
        with self._opened() as (reading, query):
            for start in range(0, len(spellings), self.source.most_ids):
                part = set(spellings[start : start + self.source.most_ids])
                rows += self._rows_of(reading, query, part)
            by_item = defaultdict[str, list[Row]](list)
            for item, text, at, style in rows:
                time = None if at is None else query.times.instant(at)
                by_item[item.strip(BLANKS)].append((text.strip(BLANKS), time, style))
        truths = {
            item: self.rows_of(sorted(of_item, key=str))
            for item, of_item in sorted(by_item.items())
            if any(value for value, _, _ in of_item)
        }
        return of_items(ids, truths)

    def rows_of(self, of_item: Iterable[Row]) -> list[TruthRow]:
        """Convert the rows read for one item to rows of the truth."""
        return truth_rows(of_item, assumed_zone=self._assumed_zone)

    def in_reading(self, reading: Reading) -> tuple[Query, Subquery]:
        """Return the query and, for joins, a subquery of all values: id, value, known, style."""
        query = self._query(reading)
        timed = self._columns.time is not None
        item_id, value, known, style = (
            query.truths(self._columns.value, None, timed=timed).subquery().c
        )
        bare = query.table.dialect.bare
        key = written(bare, item_id) if bare else item_id
        labeled = {"id": key, "value": value, "known": known, "style": style}
        return query, select(*(column.label(name) for name, column in labeled.items())).subquery()

    def _rows_of(self, reading: Reading, query: Query, ids: set[str]) -> list[tuple[Any, ...]]:
        stored = query.stored(ids)
        if not stored:
            return []
        timed = self._columns.time is not None
        rows = reading.connection.execute(query.truths(self._columns.value, stored, timed=timed))
        bare = bare_ids(ids)
        return [tuple(row) for row in rows if row[0].strip(BLANKS) in bare]

    @contextmanager
    def _opened(self) -> Iterator[tuple[Reading, Query]]:
        """Open a reading; raises `LabelsRefused` if a column is missing or unusable."""
        with self.source.opened() as reading:
            yield reading, self._query(reading)

    def _query(self, reading: Reading) -> Query:
        source, columns = self.source, self._columns
        table = replace(source.describe_table(reading), refused=LabelsRefused)
        table.need(columns.value, "labeling.value")
        table.check_id(columns.id, "labeling.id")
        for column in source.settings.where:
            table.need(column, "source.where")
        times = None
        if columns.time is not None:
            times = table.times(source.settings, "labeling.time")
        return source.query_of(table, times or local_times("UTC"), ())


def joined_items(
    reading: Reading,
    scan: Scan,
    window: Window,
    truth: FromClause,
    missing: Collection[str],
    rows_of: Callable[[Iterable[Row]], list[TruthRow]],
) -> Iterator[JoinedItems]:
    """Yield counts of a window's items by stratum, segments and truth.

    truth: Rows of the truth (id without blanks, value, known, style), with each value of an item
        once for each style.
    missing: Values that count as missing.
    rows_of: Converts the rows read for one item to rows of the truth.

    The engine counts items with one value; the rows of items with several values are read.
    """
    version = _newest_version(reading, scan, window)
    singles, several = joins(scan.query, window, scan.strata, version, truth, missing)
    has_several = False
    for bucket, count, value, values, *segments in reading.connection.execute(singles):
        if (values or 0) > 1:
            has_several = True
            continue
        label = (value or "").strip(BLANKS)
        truths = [TruthRow(label, 0)] if label else []
        yield JoinedItems(bucket, tuple(segments), truths, int(count))
    if has_several:
        by_item = defaultdict[tuple[Any, ...], list[Row]](list)
        for item, bucket, value, at, style, *segments in reading.connection.execute(several):
            by_item[item, bucket, *segments].append((value.strip(BLANKS), at, style))
        for (_, bucket, *segments), of_item in by_item.items():
            truths = rows_of(sorted(of_item, key=str))
            yield JoinedItems(bucket, tuple(segments), truths, 1)


def joins(
    query: Query,
    window: Window,
    strata: Sequence[Stratum],
    version: str | None,
    truth: FromClause,
    missing: Collection[str],
) -> tuple[Select[Any], Select[Any]]:
    """Return two statements: counts of items by value, and the rows of items with several."""
    items, of_item = _items(query, window, strata, version), _values(truth, missing)
    return _singles(query, items, of_item), _several(query, items, of_item, truth)


def padded(query: Query, window: Window) -> Select[Any]:
    """Count the rows of a window whose id has blanks around it."""
    item_id = query.rows_of({"id": query.parts()["id"]}, window).c.id
    ends = (written(end, item_id).in_([*BLANKS]) for end in query.table.dialect.ends)
    return select(func.count()).where(or_(*ends))


def _newest_version(reading: Reading, scan: Scan, window: Window) -> str | None:
    """Return the model version that the window is estimated for; None without such a column."""
    if scan.query.settings.columns.model_version is None:
        return None
    [groups] = tallied(reading, SharedQuery([scan]), window)
    return buckets.newest_version(buckets.in_window(groups))


def _items(
    query: Query, window: Window, strata: Sequence[Stratum], version: str | None
) -> Subquery:
    """Select each item once, in its first stratum."""
    rows = query.classed(window, strata)
    chosen = [rows.c.bucket >= code_of(0), *of_version(rows, version)]
    first = (func.min(rows.c[name]).label(name) for name in ("bucket", *query.segments))
    once = select(rows.c.id, *first).where(*chosen).group_by(rows.c.id).subquery()
    bare = query.table.dialect.bare
    key = written(bare, once.c.id) if bare else once.c.id
    return select(*once.c, key.label("key")).subquery()


def _values(truth: FromClause, missing: Collection[str]) -> Subquery:
    """Select the number of values of each item in the truth, and the first value."""
    value = truth.c.value
    count = func.count(value.distinct()).label("values_of")
    values = select(truth.c.id.label("key"), count, func.min(value).label("value"))
    present = [value.not_in(sorted(missing))] if missing else []
    return values.where(*present).group_by(truth.c.id).subquery()


def _singles(query: Query, items: Subquery, of_item: Subquery) -> Select[Any]:
    segments = [items.c[name] for name in query.segments]
    groups = [items.c.bucket, of_item.c.value, of_item.c.values_of, *segments]
    bucket, *others = groups
    joined = items.outerjoin(of_item, of_item.c.key == items.c.key)
    return select(bucket, func.count(), *others).select_from(joined).group_by(*groups)


def _several(query: Query, items: Subquery, of_item: Subquery, truth: FromClause) -> Select[Any]:
    of_several = items.join(of_item, of_item.c.key == items.c.key)
    joined = of_several.join(truth, truth.c.id == items.c.key)
    columns = [items.c["id", "bucket"], truth.c["value", "known", "style"]]
    segments = [items.c[name] for name in query.segments]
    chosen = select(*(column for some in columns for column in some), *segments)
    return chosen.select_from(joined).where(of_item.c.values_of > code_of(1))
