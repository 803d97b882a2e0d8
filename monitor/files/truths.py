"""The truth about items in a table that DuckDB's engine reads: in files, or in a lake."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from monitor.domain.errors import LabelsRefused
from monitor.domain.time_limit import LIMIT, OF_FILES
from monitor.domain.truth import (
    AWARE,
    NAIVE,
    UNREADABLE,
    ZONE,
    TruthColumns,
    TruthRow,
    Truths,
    bare_ids,
    of_items,
    truth_rows,
)
from monitor.files.folders import stamps_of
from monitor.files.missing_markers import TEXTS, TIMES, bare_text, quoted
from monitor.files.relations import DataFiles, OpenTable, opened


class TableTruths:
    """What such truths have in common; one derives, and says where its rows are.

    where: Rows that count: texts that a column may have, by its name.
    """

    def __init__(
        self, truth_columns: TruthColumns, where: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self._asked = truth_columns
        self._where = dict(where or {})

    @property
    def can_be_joined(self) -> bool:
        """Whether another table can be joined by its connection."""
        return True

    def opened(self, *, shared: OpenTable | None = None) -> AbstractContextManager[OpenTable]:
        """Open the table, by the connection of another one if a query is to join both."""
        raise NotImplementedError

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that is named cannot serve."""
        with self.opened() as table:
            self._need(table)
            return dict(table.types)

    def values(self) -> Mapping[str, int]:
        """Count the rows of each value, the most frequent first."""
        with self.opened() as table:
            self._need(table)
            rows = table.rows(
                f"select {self._value}, count(*) from {table.relation} "  # noqa: S608
                f"where {self._value} is not null and {self._counts} group by 1 order by 2 desc, 1",
                self._bound,
            )
        return {text: int(count) for text, count in rows}

    def examples(self, at_most: int) -> tuple[str, ...]:
        """Return ids from both ends of their order."""
        first = self._ids("id", at_most - at_most // 2)
        last = self._ids("id desc", at_most // 2)
        return tuple(dict.fromkeys((*first, *reversed(last))))

    def some_ids(self, at_most: int) -> tuple[str, ...]:
        """Return ids drawn at random, the same each time, without the blanks around them."""
        return tuple(sorted(bare_ids(self._ids("hash(id)", at_most))))

    def _ids(self, order: str, at_most: int) -> tuple[str, ...]:
        with self.opened() as table:
            item_id = table.id_text(self._asked.id, "labeling.id")
            rows = table.rows(
                f"select id from (select distinct {item_id} as id from {table.relation} "  # noqa: S608
                f"where {item_id} is not null and {self._counts}) order by {order} limit {at_most}",
                self._bound,
            )
        return tuple(row[0] for row in rows)

    def of(self, ids: Collection[str]) -> Truths:
        """Read the truth of some items, in one scan."""
        columns, bare = self._asked, sorted(bare_ids(ids))
        with self.opened() as table:
            self._need(table)
            chosen = self.values_of_items(table, table.may_be_padded(columns.id, bare))
            rows = table.rows(
                f"select * from ({chosen}) where id in "  # noqa: S608
                "(select unnest($ids::varchar[])) order by id, value, style",
                {"ids": bare, **self._bound},
            )
        by_item = defaultdict[str, list[tuple[str, int | None, str | None]]](list)
        for item, *row in rows:
            by_item[item].append((row[0], row[1], row[2]))
        truths = {item: self.rows_of(of_item) for item, of_item in by_item.items()}
        return of_items(ids, truths)

    def values_of_items(self, table: OpenTable, among: str = "true") -> str:
        """Write each value of an item among some rows, with the newest time."""
        self._need(table)
        item_id = bare_text(table.id_text(self._asked.id, "labeling.id"))
        time, style = self._time(table)
        return (
            f"select id, value, max(known) as known, style from (select {item_id} as id, "  # noqa: S608
            f"{self._value} as value, {style} as style, {time} as known from {table.relation} "
            f"where {self._counts} and {among}) where value is not null group by id, value, style"
        )

    def relation(self, table: OpenTable) -> str:
        """Write the values of all items so that a query of another table can join them."""
        return self.values_of_items(table)

    def rows_of(self, of_item: Iterable[tuple[str, int | None, str | None]]) -> list[TruthRow]:
        """Make rows of the truth of what was read of one item."""
        return truth_rows(of_item, assumed_zone=True)

    def _time(self, table: OpenTable) -> tuple[str, str]:
        """Write when a row became known, and how a text says it; that is null for other types."""
        if self._asked.time is None:
            return "null", "null"
        name = quoted(self._asked.time)
        time = f"epoch_us(try_cast({name} as timestamptz))"
        if not TEXTS.fullmatch(table.types[self._asked.time]):
            return time, "null"
        text = f"nullif({bare_text(f'cast({name} as varchar)')}, '')"
        is_aware = rf"regexp_matches(upper({text}), ':\d\d.*{ZONE}$')"
        style = (
            f"case when {text} is null then null when {time} is null then '{UNREADABLE}' "
            f"when {is_aware} then '{AWARE}' else '{NAIVE}' end"
        )
        return time, style

    @property
    def _value(self) -> str:
        return f"nullif({bare_text(f'cast({quoted(self._asked.value)} as varchar)')}, '')"

    @property
    def _counts(self) -> str:
        texts = (
            f"cast({quoted(column)} as varchar) in (select unnest($where_{index}::varchar[]))"
            for index, column in enumerate(self._where)
        )
        return " and ".join(["true", *texts])

    @property
    def _bound(self) -> dict[str, list[str]]:
        return {f"where_{index}": [*texts] for index, texts in enumerate(self._where.values())}

    def _need(self, table: OpenTable) -> None:
        table.need(self._asked.value, "labeling.value")
        table.id_text(self._asked.id, "labeling.id")
        for column in self._where:
            table.need(column, "source.where")
        time = self._asked.time
        if time is not None:
            kind = table.need(time, "labeling.time")
            if not (TEXTS.fullmatch(kind) or TIMES.fullmatch(kind)):
                raise table.refuse_type(time, "labeling.time", "times")


class FileTruths(TableTruths):
    """The truth in Parquet, CSV or DuckDB files."""

    timeout = LIMIT
    advice = OF_FILES

    def __init__(self, paths: tuple[str, ...], folder: Path, truth_columns: TruthColumns) -> None:
        super().__init__(truth_columns)
        self.files = DataFiles(paths, folder, truth_columns.table, refused=LabelsRefused)

    def __str__(self) -> str:
        return str(self.files)

    @property
    def place(self) -> str:
        """The files, from the root of the disk."""
        return f"{self.files.folder}: {self.files}"

    @property
    def whole_location(self) -> str:
        """The same: a path from the root names no other."""
        return self.place

    @property
    def reading(self) -> str:
        """What is read: truths that have it in common are the same."""
        columns = self._asked
        return json.dumps([self.place, columns.table, columns.id, columns.value, columns.time])

    @property
    def can_be_joined(self) -> bool:
        """Whether another table can be joined; a DuckDB file has its own connection."""
        return self.files.kind != "duckdb"

    def opened(self, *, shared: OpenTable | None = None) -> AbstractContextManager[OpenTable]:
        """Open the files."""
        return opened(self.files, shared)

    def state(self, now: datetime) -> str:  # noqa: ARG002  files change whenever they do
        """Return what differs between states of the files, found without reading them."""
        return json.dumps(stamps_of(self.files.found()))
