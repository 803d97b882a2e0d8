"""A source whose engine counts and draws by statements, where the rows are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.time_limit import T, within
from monitor.sources import frames
from monitor.sources.queried_truths import QueriedTruths
from monitor.sources.refusals import check_groups, known_instant, naive_time
from monitor.sources.shown_columns import ShownRows
from monitor.sources.sql_draw import groups_of
from monitor.sources.sql_query import Query
from monitor.sources.sql_times import local_times
from monitor.sources.stored_ids import as_stored
from monitor.sources.table_settings import Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from monitor.domain.model import Frame, Stratum, Window
    from monitor.domain.shown import Shown
    from monitor.domain.truth import TruthColumns
    from monitor.sources.queried_settings import QueriedSettings
    from monitor.sources.sql_reading import Reading
    from monitor.sources.sql_table import Found
    from monitor.sources.sql_times import Times

_MOST_UNKNOWN = 20  # values


class QueriedSource:
    """What such sources have in common; one derives, and says where its rows are.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where relative paths start: the folder of the config file.
    """

    advice: str
    """What somebody can do where a reading does not end."""

    most_ids = 1_000
    """Of one statement."""

    def __init__(self, settings: QueriedSettings, base_folder: Path | str = ".") -> None:
        self.settings = settings
        self.base_folder = base_folder
        self._shown = ShownRows(settings.columns.show, Path(base_folder))

    @property
    def place(self) -> str:
        """Where the rows are, for people."""
        raise NotImplementedError

    @property
    def whole_place(self) -> str:
        """The same told from any other place; never shown, as it may hold secrets."""
        return self.place

    def opened(self) -> AbstractContextManager[Reading]:
        """Begin to read; errors of the engine become ours."""
        raise NotImplementedError

    def found(self, reading: Reading) -> Found:
        """Find the table, with the types of its columns.

        Raises
        ------
        SourceRefused
            If there is none.
        """
        raise NotImplementedError

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first items by md5(seed, id), of one state."""

        def read(reading: Reading, query: Query) -> Frame:
            groups = self.groups_of(reading, query, window, strata, at_most, seed)
            check_groups(self.place, self.settings.columns, groups, len(strata))
            return frames.assemble(
                window,
                strata,
                groups,
                timed_rows=_timed_rows(reading, query, groups),
                at_most=at_most,
                segment_columns=self.settings.columns.segments,
                unknown=_unknown(reading, query, window, groups),
            )

        return self._read(read)

    def groups_of(
        self,
        reading: Reading,
        query: Query,
        window: Window,
        strata: Sequence[Stratum],
        at_most: int,
        seed: str,
    ) -> list[frames.Group]:
        """Count the buckets of a window and take the first candidates of each stratum by md5."""
        return groups_of(reading, query, window, strata, at_most, seed)

    def count(self, window: Window) -> int:
        """Count the rows inside the window, good and bad."""
        return self._read(
            lambda reading, query: int(reading.connection.scalar(query.count(window)) or 0)
        )

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return the columns that labelers may see, for each id found in the window."""
        if not ids:
            return {}
        return self._read(lambda reading, query: self._found(reading, query, ids, window))

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest prediction time, or None where there are no rows."""

        def read(reading: Reading, query: Query) -> tuple[datetime, datetime] | None:
            [(earliest, latest)] = reading.connection.execute(query.span())
            if earliest is None:
                return None
            ends = (query.times.instant(value) for value in (earliest, latest))
            first, last = (known_instant(self.place, self.settings.columns, end) for end in ends)
            return first, last

        return self._read(read)

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return self._read(
            lambda _, query: {name: str(kind) for name, kind in query.table.types.items()}
        )

    def truths(self, asked: TruthColumns) -> QueriedTruths:
        """Return the truth that some columns have, read as the predictions are."""
        return QueriedTruths(self.truth_source(asked), asked)

    def truth_source(self, asked: TruthColumns) -> QueriedSource:
        """Return the source of the table with the truth."""
        raise NotImplementedError

    def _read(self, read: Callable[[Reading, Query], T]) -> T:
        def opened() -> T:
            with self.opened() as reading:
                return read(reading, self._query(reading))

        return within(self.settings.timeout, self.place, opened, self.advice)

    def _query(self, reading: Reading) -> Query:
        settings = self.settings
        table = self.found(reading)
        table.check(settings, [name for name, _ in self._shown.columns])
        self._shown.check()
        times = table.times(settings)
        query = self.query_of(table, times or local_times("UTC"), self._shown.columns)
        looks_at_values = not table.words.has_types and settings.time_zone is None
        if times is None or looks_at_values:
            naive = reading.connection.scalar(query.naive())
            if naive is not None:
                raise naive_time(self.place, settings.columns, naive)
        return query

    def query_of(self, table: Found, times: Times, shown: Sequence[tuple[str, bool]]) -> Query:
        """Make what builds the statements."""
        return Query(table, self.settings, times, shown)

    def _found(
        self, reading: Reading, query: Query, ids: Sequence[str], window: Window
    ) -> dict[str, Shown]:
        kind = query.table.types[self.settings.columns.id]
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(ids), self.most_ids):
            wanted = set(ids[start : start + self.most_ids])
            stored = list(as_stored(wanted, kind if query.table.words.has_types else None))
            if stored:
                found = reading.connection.execute(query.show(stored, window))
                rows += [tuple(row) for row in found if row[0] in wanted]
        rows.sort(key=lambda row: [(value is None, value) for value in row])
        first: dict[str, Sequence[Any]] = {}
        for key, *values in rows:
            first.setdefault(key, values)
        return {key: self._shown.of(values) for key, values in first.items()}


def truth_settings(
    settings: QueriedSettings, asked: TruthColumns, **place: object
) -> dict[str, Any]:
    """Return what is set otherwise for reading a truth, whose table is at this place if it has one.

    Times without a zone are in UTC where the config names none, as in files: only their order
    counts.
    """
    changes: dict[str, Any] = {
        "columns": Columns(id=asked.id, time=asked.time or asked.id),
        "time_zone": settings.time_zone or "UTC",
    }
    return changes if asked.table is None else {**changes, **place, "where": {}}


def _timed_rows(reading: Reading, query: Query, groups: Sequence[frames.Group]) -> int:
    """Count all rows with a time, on which nothing depends unless some have none."""
    if not frames.rows_in(groups, *frames.UNTIMED):
        return sum(group.rows for group in groups)
    return int(reading.connection.scalar(query.timed()) or 0)


def _unknown(
    reading: Reading, query: Query, window: Window, groups: Sequence[frames.Group]
) -> dict[str, int]:
    """Read the values that the config does not name; a query that few windows need."""
    if not frames.rows_in(groups, frames.PREDICTED_UNKNOWN):
        return {}
    rows = reading.connection.execute(query.unknown(window, _MOST_UNKNOWN))
    return {text: int(count) for text, count in rows}
