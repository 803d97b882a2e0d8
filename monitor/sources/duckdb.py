"""Predictions in Parquet, CSV or DuckDB files, read with DuckDB in one scan."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from monitor.domain.time_limit import T, within
from monitor.files.relations import DataFiles, all_texts, check_table, kind_of, opened
from monitor.files.stamps import stamps_of
from monitor.sources import frames
from monitor.sources.duckdb_draw import draw, draw_again
from monitor.sources.duckdb_query import Query
from monitor.sources.refusals import check_groups, naive_time
from monitor.sources.shown_columns import ShownRows
from monitor.sources.table_settings import TableSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monitor.domain.model import Frame, Stratum, Window
    from monitor.domain.shown import Shown
    from monitor.files.relations import OpenTable
    from monitor.files.stamps import Stamps

_MOST_UNKNOWN = 20  # values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class DuckdbSettings(TableSettings):
    """Where predictions are and how to read them.

    The predicted class comes from ``columns.predicted`` (flagged where it is ``positive``) or
    from ``columns.score`` (flagged where it is at least ``threshold``), never from both. A
    predicted value that is neither ``positive`` nor ``negative`` is a bad row; if more than
    ``bad_rows_max`` are, the predictions are refused.

    ``timeout`` is how long one reading may take; then the round waits, and other monitors go on.
    ``grace`` is how long a round waits, from its first look, for predictions that are missing or
    cannot be used as they are; after that it is abandoned, with a notice. It never waits beyond
    the next slot. Without it: a quarter of the window, at least 6 hours.
    """

    kind: Literal["duckdb"] = "duckdb"
    path: str | tuple[str, ...]
    table: str | None = None

    @model_validator(mode="after")
    def _files_are_readable_kinds(self) -> DuckdbSettings:
        check_table(kind_of(self.paths), self.table)
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, also where one was given."""
        return (self.path,) if isinstance(self.path, str) else self.path


class DuckdbSource:
    """A `Source` over files.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where relative paths start: the folder of the config file.
    """

    def __init__(self, settings: DuckdbSettings, base_folder: Path | str = ".") -> None:
        self.settings = settings
        self.files = DataFiles(settings.paths, Path(base_folder), settings.table)
        self._shown = ShownRows(settings.columns.show, Path(base_folder))
        self._scanned: tuple[Window, str, Stamps] | None = None

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first items by md5(seed, id), one read."""

        def read(query: Query) -> list[frames.Group]:
            self._scanned = (window, seed, self._stamps())
            return draw(query, window, strata, at_most, seed)

        return self._within(lambda: self._framed(window, strata, at_most, read))

    def scan_again(
        self, before: Frame, strata: Sequence[Stratum], at_most: int, seed: str
    ) -> Frame:
        """Scan the window of a frame by other strata; its candidates are not drawn again.

        They are where files changed since: candidates and sizes must be of the same rows.
        """

        def read(query: Query) -> list[frames.Group]:
            if self._scanned != (before.window, seed, self._stamps()):
                return draw(query, before.window, strata, at_most, seed)
            return draw_again(query, before, strata, at_most, seed)

        return self._within(lambda: self._framed(before.window, strata, at_most, read))

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return the columns that labelers may see, as text, for each id found in the window."""
        return self._within(lambda: self._show(ids, window)) if ids else {}

    def count(self, window: Window) -> int:
        """Count the rows inside the window, good and bad."""
        return self._within(lambda: self._count(window))

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest prediction time, or None where there are no rows."""
        return self._within(self._span)

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return self._within(self._columns)

    def _stamps(self) -> Stamps:
        return stamps_of(self.files.found())

    def _within(self, read: Callable[[], T]) -> T:
        place = ", ".join(str(self.files.folder / path) for path in self.settings.paths)
        return within(self.settings.timeout, place, read)

    def _framed(
        self,
        window: Window,
        strata: Sequence[Stratum],
        at_most: int,
        read: Callable[[Query], list[frames.Group]],
    ) -> Frame:
        with opened(self.files) as table:
            query = self._query(table)
            groups = read(query)
            check_groups(self.files, self.settings.columns, groups, len(strata))
            timed = self._timed_rows(table, query, groups)
            unknown = _unknown(table, query, window, groups)
        return frames.assemble(
            window,
            strata,
            groups,
            timed_rows=timed,
            at_most=at_most,
            segment_columns=self.settings.columns.segments,
            unknown=unknown,
        )

    def _count(self, window: Window) -> int:
        with opened(self.files) as table:
            sql, parameters = self._query(table).count(window)
            return int(table.rows(sql, parameters)[0][0])

    def _show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        with opened(self.files) as table:
            sql, parameters = self._query(table).show(ids, window)
            rows = table.rows(sql, parameters)
        first: dict[str, Sequence[Any]] = {}
        for key, *values in rows:
            first.setdefault(key, values)
        return {key: self._shown.of(values) for key, values in first.items()}

    def _span(self) -> tuple[datetime, datetime] | None:
        with opened(self.files) as table:
            sql, parameters = self._query(table).span()
            earliest, latest, naive = table.rows(sql, parameters)[0]
        if naive is not None:
            raise naive_time(self.files, self.settings.columns, naive)
        return None if earliest is None else (_instant(earliest), _instant(latest))

    def _columns(self) -> Mapping[str, str]:
        with opened(self.files) as table:
            self._query(table)
            return dict(table.types)

    def _query(self, table: OpenTable) -> Query:
        settings = self.settings
        query = Query(
            table=table,
            columns=settings.columns.model_dump() | {"show": self._shown.columns},
            time_zone=settings.time_zone,
            where={column: all_texts(values) for column, values in settings.where.items()},
            threshold=settings.threshold,
            positive=all_texts(settings.positive),
            negative=settings.negatives,
        )
        query.check()
        self._shown.check()
        naive = query.first_naive_time()
        if naive is not None:
            raise naive_time(self.files, self.settings.columns, naive)
        return query

    def _timed_rows(self, table: OpenTable, query: Query, groups: Sequence[frames.Group]) -> int:
        # Texts are scanned whole, so the groups hold all rows; of other files the scan skipped
        # those far from the window. Without untimed rows nothing depends on the number.
        if table.is_text or not frames.rows_in(groups, *frames.UNTIMED):
            return sum(group.rows for group in groups if group.bucket not in frames.UNTIMED)
        sql, parameters = query.timed_rows()
        return int(table.rows(sql, parameters)[0][0])


def _unknown(
    table: OpenTable, query: Query, window: Window, groups: Sequence[frames.Group]
) -> dict[str, int]:
    """Read the values that the config does not name; a query that few windows need."""
    if not frames.rows_in(groups, frames.PREDICTED_UNKNOWN):
        return {}
    sql, parameters = query.unknown(window, _MOST_UNKNOWN)
    return {text: int(rows) for text, rows in table.rows(sql, parameters)}


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
