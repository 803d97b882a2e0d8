"""A source over a table that DuckDB's engine reads, whatever holds it: one scan a window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import MonitorError, SourceRefused
from monitor.domain.time_limit import OF_FILES, T, within
from monitor.files.relations import all_texts
from monitor.sources import frames
from monitor.sources.challenger_columns import ChallengerColumns
from monitor.sources.duckdb_draw import draw, draw_again, unknown_values
from monitor.sources.duckdb_query import Query
from monitor.sources.refusals import check_groups, naive_time, parsed_instant
from monitor.sources.shown_columns import ShownRows
from monitor.sources.window_copy import copied

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from monitor.domain.model import Frame, Stratum, Window
    from monitor.domain.ports import PlannedScan
    from monitor.domain.shown import Shown
    from monitor.files.relations import OpenTable
    from monitor.sources.challenged_settings import ChallengedSettings
    from monitor.sources.window_copy import WindowCopy


class TableSource:
    """What such sources have in common; one derives, and says where its rows are.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where relative paths start: the folder of the config file.
    """

    advice = OF_FILES
    """What somebody can do where a reading does not end."""

    def __init__(self, settings: ChallengedSettings, base_folder: Path | str = ".") -> None:
        self._settings = settings
        self._shown = ShownRows(settings.columns.show, Path(base_folder))
        self._scanned: tuple[Window, str, object] | None = None
        self.copied: WindowCopy | None = None

    @property
    def place(self) -> str:
        """Where the rows are, for people."""
        raise NotImplementedError

    @property
    def whole_place(self) -> str:
        """The same where a reading does not end: by it, one that hangs is known again."""
        return self.place

    def opened(self, window: Window | None = None) -> AbstractContextManager[OpenTable]:
        """Open the table; rows outside the window may be left out, but none without a time."""
        raise NotImplementedError

    def state(self) -> object:
        """Return what differs once the rows do."""
        raise NotImplementedError

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first items by md5(seed, id), one read."""

        def read(query: Query) -> list[frames.BucketCount]:
            self._scanned = (window, seed, self.state())
            return draw(query, window, strata, at_most, seed)

        return self.within(lambda: self._framed(window, strata, at_most, read))

    def scan_again(
        self, before: Frame, strata: Sequence[Stratum], at_most: int, seed: str
    ) -> Frame:
        """Scan the window of a frame by other strata; its candidates are not drawn again.

        They are where files changed since: candidates and sizes must be of the same rows.
        """

        def read(query: Query) -> list[frames.BucketCount]:
            if self._scanned != (before.window, seed, self.state()):
                return draw(query, before.window, strata, at_most, seed)
            return draw_again(query, before, strata, at_most, seed)

        return self.within(lambda: self._framed(before.window, strata, at_most, read))

    @property
    def table(self) -> str:
        """What is read: the files or the table, their times and the rows that count."""
        columns = self._settings.columns.model_dump(include={"id", "time", "model_version"})
        rows = self._settings.model_dump(
            include={"kind", "path", "table", "delta", "iceberg", "storage", "catalog"}
            | {"time_zone", "where"}
        )
        return repr((self.whole_place, rows, columns))

    def pinned(self) -> TableSource:
        """Return the source of one state of the table, where it has states to choose from."""
        return self

    def read_for(self, scans: Sequence[PlannedScan], window: Window, seed: str) -> None:
        """Read a window once for these sources of the same table, by whatever strata they scan."""
        sources = [scan.source for scan in scans]
        usable, copy = self.within(lambda: self._copy_for(sources, window, seed))
        if copy is not None:
            copy.readers |= {id(source) for source in usable}
            for source in usable:
                source.release()
                source.copied = copy

    def release(self) -> None:
        """Scan the table itself again."""
        if self.copied is not None:
            self.copied.leave(id(self))
            self.copied = None

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return the columns that labelers may see, as text, for each id found in the window."""
        return self.within(lambda: self._show(ids, window)) if ids else {}

    def count(self, window: Window) -> int:
        """Count the rows inside the window, good and bad."""
        return self.within(lambda: self._count(window))

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest prediction time, or None where there are no rows."""
        return self.within(self._span)

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return self.within(self._columns)

    def within(self, read: Callable[[], T]) -> T:
        """Read, and wait for it no longer than the config allows."""
        return within(self._settings.timeout, self.whole_place, read, self.advice)

    def _framed(
        self,
        window: Window,
        strata: Sequence[Stratum],
        at_most: int,
        read: Callable[[Query], list[frames.BucketCount]],
    ) -> Frame:
        import duckdb  # noqa: PLC0415

        copy = self._copy_of(window)
        if copy is not None:
            try:
                return self._frame_of(copy.opened(), window, strata, at_most, read)
            except (MonitorError, duckdb.InterruptException):
                raise  # of what the rows are, or nobody waits for them any more
            except Exception as error:  # noqa: BLE001  whatever it is, the table may be read
                copy.give_up(error)
        return self._frame_of(self.opened(window), window, strata, at_most, read)

    def _frame_of(
        self,
        opened: AbstractContextManager[OpenTable],
        window: Window,
        strata: Sequence[Stratum],
        at_most: int,
        read: Callable[[Query], list[frames.BucketCount]],
    ) -> Frame:
        with opened as table:
            query = self._query(table)
            groups = read(query)
            check_groups(self.place, self._settings.columns, groups, len(strata))
            timed = self._timed_rows(table, groups)
            unknown = unknown_values(query, window, groups)
            fault = query.challenger.fault
        return frames.assemble(
            window,
            strata,
            groups,
            timed_rows=timed,
            at_most=at_most,
            segment_columns=self._settings.columns.segments,
            unknown=unknown,
            challenger_fault=fault,
        )

    def _copy_for(
        self, sources: Sequence[TableSource], window: Window, seed: str
    ) -> tuple[list[TableSource], WindowCopy | None]:
        pinned = self.pinned()
        state = pinned.state()
        with pinned.opened(window) as table:
            queries = {source: source._usable(table) for source in sources}
            usable = {source: query for source, query in queries.items() if query is not None}
            copy = copied([*usable.values()], window, state, seed) if usable else None
        return [*usable], copy

    def _usable(self, table: OpenTable) -> Query | None:
        """Make the query of a table; None where its own scan finds a fault and says which."""
        try:
            query = self._query(table)
        except SourceRefused:
            return None
        return query if query.challenger.fault is None else None

    def _copy_of(self, window: Window) -> WindowCopy | None:
        """Give the rows of a window that were read for several monitors, if they hold."""
        copy = self.copied
        return copy if copy is not None and copy.serves(window, self.state()) else None

    def _count(self, window: Window) -> int:
        with self.opened(window) as table:
            sql, parameters = self._query(table).count(window)
            return int(table.rows(sql, parameters)[0][0])

    def _show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        with self.opened(window) as table:
            sql, parameters = self._query(table).show(ids, window)
            rows = table.rows(sql, parameters)
        first: dict[str, Sequence[Any]] = {}
        for key, *values in rows:
            first.setdefault(key, values)
        return {key: self._shown.of(values) for key, values in first.items()}

    def _span(self) -> tuple[datetime, datetime] | None:
        with self.opened() as table:
            sql, parameters = self._query(table).span()
            earliest, latest, naive = table.rows(sql, parameters)[0]
        if naive is not None:
            raise naive_time(self.place, self._settings.columns, naive)
        if earliest is None:
            return None
        columns = self._settings.columns
        first, last = (parsed_instant(self.place, columns, end) for end in (earliest, latest))
        return first, last

    def _columns(self) -> Mapping[str, str]:
        with self.opened() as table:
            self._query(table)
            return dict(table.types)

    def _query(self, table: OpenTable) -> Query:
        settings = self._settings
        query = Query(
            table=table,
            columns=settings.columns.model_dump() | {"show": self._shown.columns},
            time_zone=settings.time_zone,
            where={column: all_texts(values) for column, values in settings.where.items()},
            threshold=settings.threshold,
            positive=all_texts(settings.positive),
            negative=settings.negatives,
            challenger=ChallengerColumns(table, settings.challenger),
        )
        query.check()
        self._shown.check()
        naive = query.first_naive_time()
        if naive is not None:
            raise naive_time(self.place, self._settings.columns, naive)
        return query

    def _timed_rows(self, table: OpenTable, groups: Sequence[frames.BucketCount]) -> int:
        # Texts are scanned whole, so the groups hold all rows; of other tables the scan skipped
        # those far from the window. Without untimed rows nothing depends on the number.
        if table.is_text or not frames.rows_in(groups, *frames.UNTIMED):
            return sum(group.rows for group in groups if group.bucket not in frames.UNTIMED)
        copy = self.copied if table.hashed is not None else None
        if copy is not None and copy.timed_rows is not None:
            return copy.timed_rows
        with self.opened() as whole:
            sql, parameters = self._query(whole).timed_rows()
            rows = int(whole.rows(sql, parameters)[0][0])
        if copy is not None:
            copy.timed_rows = rows
        return rows
