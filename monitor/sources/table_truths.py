"""The truth about items in a table that an engine reads by statements, where the rows are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, Subquery, select

from monitor.domain.errors import LabelsRefused
from monitor.domain.truth import TruthColumns, TruthRow, Truths, bare_ids, of_items, truth_rows
from monitor.domain.values import BLANKS
from monitor.sources.dialects import written
from monitor.sources.sql_times import local_times

if TYPE_CHECKING:
    from monitor.sources.sql_query import IdOrder, Query
    from monitor.sources.sql_reading import Reading
    from monitor.sources.table_source import TableSource


class TableTruths:
    """The truth in some columns.

    source: Reads the table of the truth, whose ``columns.time`` is the truth's if it has one.
    assumed_zone: Whether texts may be times whose zone the config does not name.
    """

    def __init__(
        self, source: TableSource, truth_columns: TruthColumns, *, assumed_zone: bool = False
    ) -> None:
        self.source = source
        self._columns = truth_columns
        self._assumed_zone = assumed_zone
        self.timeout = source.settings.timeout
        self.advice = source.advice
        self.place = source.place
        self.whole_location = source.whole_location

    def __str__(self) -> str:
        return self.source.place

    @property
    def reading(self) -> str:
        """What is read: truths that have it in common are the same."""
        settings = self.source.settings
        times = (settings.time_zone, settings.unit_of_times)
        return repr((self.whole_location, self._columns, settings.where, times))

    @property
    def columns_read(self) -> set[str]:
        """The columns of the truth, and those that decide which rows count."""
        columns = {self._columns.id, self._columns.value, self._columns.time}
        return {*filter(None, columns), *self.source.settings.where}

    def state(self, now: datetime) -> str | None:  # noqa: ARG002  Spark goes by it
        """Return what differs once the rows may; None if nothing cheap tells."""
        return None

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that is named cannot serve."""
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
        """Return ids drawn at random, the same each time, without the blanks around them.

        None where it would sort the table.
        """
        return tuple(sorted(bare_ids(self._ids("random", at_most))))

    def _ids(self, which: IdOrder, at_most: int) -> list[str]:
        with self._opened() as (reading, query):
            if which == "random" and not reading.dialect.random:
                return []
            return [row[0] for row in reading.connection.execute(query.ids(at_most, which))]

    def of(self, ids: Collection[str]) -> Truths:
        """Read the truth of some items, by as many statements as their ids need.

        Blanks around an id in the table count as none if the database compares so (CHAR).
        """
        spellings = sorted(bare_ids(ids).union(ids))
        rows: list[tuple[Any, ...]] = []
        with self._opened() as (reading, query):
            for start in range(0, len(spellings), self.source.most_ids):
                part = set(spellings[start : start + self.source.most_ids])
                rows += self._rows_of(reading, query, part)
            by_item = defaultdict[str, list[tuple[str, int | None, str | None]]](list)
            for item, text, at, style in rows:
                if value := text.strip(BLANKS):
                    time = None if at is None else query.times.instant(at)
                    by_item[item.strip(BLANKS)].append((value, time, style))
        truths = {
            item: self.rows_of(sorted(of_item, key=str))
            for item, of_item in sorted(by_item.items())
        }
        return of_items(ids, truths)

    def rows_of(self, of_item: Iterable[tuple[str, int | None, str | None]]) -> list[TruthRow]:
        """Make rows of the truth of what was read of one item."""
        return truth_rows(of_item, assumed_zone=self._assumed_zone)

    def in_reading(self, reading: Reading) -> tuple[Query, Subquery]:
        """Select the values of all items beside what is read: id, value, known, style."""
        query = self._query(reading)
        timed = self._columns.time is not None
        return query, named_truth(query.truths(self._columns.value, None, timed=timed), query)

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
        """Begin to read; a column that is missing or cannot serve is refused."""
        with self.source.opened() as reading:
            yield reading, self._query(reading)

    def _query(self, reading: Reading) -> Query:
        source, columns = self.source, self._columns
        table = replace(source.found(reading), refused=LabelsRefused)
        table.need(columns.value, "labeling.value")
        table.check_id(columns.id, "labeling.id")
        for column in source.settings.where:
            table.need(column, "source.where")
        times = None
        if columns.time is not None:
            times = table.times(source.settings, "labeling.time")
        return source.query_of(table, times or local_times("UTC"), ())


def named_truth(truths: Select[Any], query: Query) -> Subquery:
    """Select what `Query.truths` does by names: id without blanks, value, known, style."""
    item_id, value, known, style = truths.subquery().c
    bare = query.table.dialect.bare
    key = written(bare, item_id) if bare else item_id
    labeled = {"id": key, "value": value, "known": known, "style": style}
    return select(*(column.label(name) for name, column in labeled.items())).subquery()
