"""Base class of sources whose engine counts and draws by SQL statements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.domain.census import JoinedItems
from monitor.domain.errors import MonitorError, SourceRefused
from monitor.domain.extras import install_command
from monitor.domain.model import Frame, Stratum, Window
from monitor.domain.ports import PlannedScan, TruthTable
from monitor.domain.shown import Shown
from monitor.domain.time_limit import T, within
from monitor.domain.truth import TruthColumns, TruthRow
from monitor.sources.dialects import Reading
from monitor.sources.frames import FrameBuilder, datetime_of, naive_time
from monitor.sources.shared_query import readings_of
from monitor.sources.shown_columns import ShownRows
from monitor.sources.sql_draw import groups_of
from monitor.sources.sql_query import Query, Scan
from monitor.sources.sql_times import Times, local_times
from monitor.sources.table_settings import Columns, TableSettings
from monitor.sources.table_truths import Row, TableTruths, joined_items, padded

if TYPE_CHECKING:
    from sqlalchemy import Select

    from monitor.sources.sql_table import TableInfo

_OF_ONE_MONITOR = {"columns", "threshold", "positive", "negative", "challenger", "timeout"}
_OF_ONE_MONITOR |= {"grace", "released_with", "kept_with"}
"""Settings in which sources of the same table may differ."""


class CachedScan(NamedTuple):
    """The frame of a planned scan, with its arguments and the state of the table."""

    requested: tuple[Window, tuple[Stratum, ...], int, str]
    state: object
    frame: Frame


class TableSource:
    """Base class of sources over tables; subclasses define how to open the table.

    place: Location of the rows, for people.
    whole_location: Unique location of the rows; never shown, as it may contain secrets.
    setting: The setting that names the rows, if it is not a setting of the source.
    """

    place: str
    whole_location: str
    advice: str  # What to do if a reading does not end
    most_ids = 1_000  # of one statement

    def __init__(
        self, settings: TableSettings, base_folder: Path | str = ".", *, setting: str | None = None
    ) -> None:
        self.settings = settings
        self.base_folder = base_folder
        self.setting = setting
        self._shown = ShownRows(settings.columns.show, Path(base_folder))
        self.cached: CachedScan | None = None

    def opened(self, window: Window | None = None) -> AbstractContextManager[Reading]:
        """Open a reading; it may lack rows outside the window, but not rows without a time."""
        raise NotImplementedError

    def state(self) -> object:
        """Return a value that changes with the rows; None if there is no cheap one."""
        return None

    def truth_state(self, now: datetime) -> object:  # noqa: ARG002  Spark goes by it
        """Return a value that changes with a truth in the table; None if there is no cheap one."""
        return self.state()

    @property
    def waited_for(self) -> str:
        """Name that identifies a hanging reading, also for people."""
        return self.place

    def describe_table(self, reading: Reading) -> TableInfo:
        """Find the table and its column types; raises `SourceRefused` if it does not exist."""
        raise NotImplementedError

    @property
    def table(self) -> str:
        """Key of the table, its times and the rows that count; it may contain secrets."""
        columns = self.settings.columns.model_dump(include={"id", "time", "model_version"})
        rows = self.settings.model_dump(exclude=_OF_ONE_MONITOR)
        return repr((self.whole_location, rows, columns))

    def read_for(self, scans: Sequence[PlannedScan], window: Window, seed: str) -> None:
        """Count and draw for several sources of the same table by common statements.

        Skips sources whose scan has a fault, or that would be alone in a reading.
        """
        state = self.within(self.state)
        drawn = self._within(
            lambda reading: self._read_together(reading, scans, window, seed), window
        )
        if self.within(self.state) != state:
            return
        for scan, frame in drawn:
            requested = (window, tuple(scan.strata), scan.at_most, seed)
            scan.source.cached = CachedScan(requested, state, frame)

    def release(self) -> None:
        """Drop the cached frame, so that the next scan reads the table."""
        self.cached = None

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first items by md5(seed, id), of one state."""
        cached, self.cached = self.cached, None
        requested = (window, tuple(strata), at_most, seed)
        if cached is not None and cached[:2] == (requested, self.within(self.state)):
            return cached.frame

        def read(reading: Reading, query: Query) -> Frame:
            scan = Scan(self, query, strata, at_most)
            [groups] = groups_of(reading, [scan], window, seed)
            return FrameBuilder(reading, window).frame(scan, groups)

        return self.read_window(read, window)

    def truths(self, truth_columns: TruthColumns) -> TableTruths:
        """Return the truth in some columns of this table, or of another table beside it.

        Times without a zone are read as UTC if the config has none, since only their order matters.
        """
        settings = self.settings
        changes: dict[str, Any] = {
            "columns": Columns(id=truth_columns.id, time=truth_columns.time or truth_columns.id),
            "time_zone": settings.time_zone or "UTC",
        }
        if truth_columns.table is not None:
            changes |= {settings.table_setting: truth_columns.table, "where": {}}
        source = type(self)(
            settings.model_copy(update=changes),
            self.base_folder,
            setting=None if truth_columns.table is None else "labeling.table",
        )
        return TableTruths(source, truth_columns, assumed_zone=settings.time_zone is None)

    def truth_reading(
        self,
        reading: Reading,  # noqa: ARG002  some engines know
        truths: TableTruths,  # noqa: ARG002  as above
    ) -> AbstractContextManager[Reading] | None:
        """Open a truth so that statements of a reading can use its rows; None if impossible."""
        return None

    def joined(
        self,
        window: Window,
        strata: Sequence[Stratum],
        truths: TruthTable,
        missing: Collection[str],
    ) -> tuple[Sequence[str], Iterable[JoinedItems]] | None:
        """Join the items of a window with a truth beside them.

        Returns None if the engine cannot read both, or if it cannot strip blanks from ids and an id
        has some.
        """
        if not isinstance(truths, TableTruths):
            return None

        def read(reading: Reading, query: Query) -> list[JoinedItems] | None:
            opened = self.truth_reading(reading, truths)
            if opened is None or not (reading.dialect.bare or _are_bare(reading, query, window)):
                return None
            with opened as of_truth:
                truth_query, truth = truths.in_reading(of_truth)
                scan, instant = Scan(self, query, strata, 0), truth_query.times.instant

                def rows_of(rows: Iterable[Row]) -> list[TruthRow]:
                    return truths.rows_of(
                        (value, None if at is None else instant(at), style)
                        for value, at, style in rows
                    )

                return [*joined_items(reading, scan, window, truth, missing, rows_of)]

        items = self.read_window(read, window)
        return None if items is None else (self.settings.columns.segments, items)

    def count(self, window: Window) -> int:
        """Count the rows inside the window, good and bad."""
        return self.read_window(
            lambda reading, query: int(reading.connection.scalar(query.count(window)) or 0), window
        )

    def excluded(self, window: Window) -> dict[str, dict[str, int]]:
        """Count rows excluded by ``where`` although their values are similar, by column."""

        def read(reading: Reading, query: Query) -> dict[str, dict[str, int]]:
            rows = {
                name: reading.connection.execute(query.excluded(window, name))
                for name in self.settings.where
            }
            return {name: {text: int(count) for text, count in rows[name]} for name in rows}

        return self.read_window(read, window) if self.settings.where else {}

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return the columns that labelers may see, for each id found in the window."""
        if not ids:
            return {}
        return self.read_window(
            lambda reading, query: self._shown_items(reading, query, ids, window), window
        )

    def prediction_times(self, ids: Sequence[str], window: Window) -> Mapping[str, datetime]:
        """Return the earliest prediction time of each id in the window."""

        def read(reading: Reading, query: Query) -> dict[str, datetime]:
            def statement(stored: Sequence[object]) -> Select[Any]:
                return query.first_times(stored, window)

            rows = self._rows_of(reading, query, ids, statement)
            place, columns, instant = self.place, self.settings.columns, query.times.instant
            return {id_: datetime_of(place, columns, instant(at)) for id_, at in rows}

        return self.read_window(read, window) if ids else {}

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest prediction time, or None if there are no rows."""

        def read(reading: Reading, query: Query) -> tuple[datetime, datetime] | None:
            self._check_texts(reading, query)
            [(earliest, latest)] = reading.connection.execute(query.span())
            if earliest is None:
                return None
            ends = (query.times.instant(value) for value in (earliest, latest))
            first, last = (datetime_of(self.place, self.settings.columns, end) for end in ends)
            return first, last

        return self.read_window(read)

    def columns(self) -> Mapping[str, str]:
        """Return the type of each column; raises `SourceRefused` if a configured one is missing."""
        return self.read_window(lambda _, query: query.table.type_names)

    def read_window(self, read: Callable[[Reading, Query], T], window: Window | None = None) -> T:
        """Call ``read`` with a reading and a checked query, for a window or all rows."""

        def by_query(reading: Reading) -> T:
            query = self.query(self.describe_table(reading))
            self._check_times(reading, query)
            return read(reading, query)

        return self._within(by_query, window)

    def _within(self, read: Callable[[Reading], T], window: Window | None = None) -> T:
        def opened() -> T:
            with self.opened(window) as reading:
                return read(reading)

        return self.within(opened)

    def within(self, read: Callable[[], T]) -> T:
        """Call ``read`` within the configured time limit."""
        return within(self.settings.timeout, self.waited_for, read, self.advice)

    def _read_together(
        self, reading: Reading, scans: Sequence[PlannedScan], window: Window, seed: str
    ) -> list[tuple[Scan, Frame]]:
        table, builder = self.describe_table(reading), FrameBuilder(reading, window)
        if not table.dialect.greatest:
            return []
        usable = []
        for source, strata, at_most in scans:
            with suppress(SourceRefused):  # its own scan reports the fault
                usable.append(Scan(source, source.query(table), strata, at_most))
        if usable:
            self._check_times(reading, usable[0].query)
        results = []
        for similar in readings_of(usable):
            if len(similar) == 1:
                continue
            drawn = groups_of(reading, similar, window, seed)
            for scan, groups in zip(similar, drawn, strict=True):
                with suppress(SourceRefused):  # its own scan reports the fault
                    results.append((scan, builder.frame(scan, groups)))
        return results

    def query(self, table: TableInfo) -> Query:
        """Return the checked builder of statements for a table."""
        table.check(self.settings, [name for name, _ in self._shown.columns])
        self._shown.check()
        times = table.times(self.settings) or local_times("UTC")
        challenger, judge = self.settings.challenged_by, self.settings.judged_by
        fault = judge_fault = None
        if challenger is not None:
            by_score = challenger.predicted is None
            setting = f"challenger.{'score' if by_score else 'predicted'}"
            fault = _fault(table, challenger.column, setting, is_number=by_score)
        if judge is not None:
            is_number = judge.threshold is not None
            judge_fault = _fault(table, judge.column, "judge.column", is_number=is_number)
        return replace(
            self.query_of(table, times, self._shown.columns),
            challenger=challenger if fault is None else None,
            challenger_fault=fault,
            judge=judge,
            judge_fault=judge_fault,
        )

    def _check_times(self, reading: Reading, query: Query) -> None:
        """Raise `SourceRefused` if times lack a zone and the config has none."""
        if not query.table.dialect.has_types:
            self._check_texts(reading, query)
        elif query.table.times(self.settings) is None:
            self._refuse_naive(reading, query)

    def _check_texts(self, reading: Reading, query: Query) -> None:
        if query.reads_times and self.settings.time_zone is None:
            self._refuse_naive(reading, query)

    def _refuse_naive(self, reading: Reading, query: Query) -> None:
        naive = reading.connection.scalar(query.naive())
        if naive is not None:
            raise naive_time(self.place, self.settings.columns, naive)

    def query_of(self, table: TableInfo, times: Times, shown: Sequence[tuple[str, bool]]) -> Query:
        """Return the builder of statements."""
        return Query(table, self.settings, times, shown)

    def _rows_of(
        self,
        reading: Reading,
        query: Query,
        ids: Sequence[str],
        statement: Callable[[Sequence[object]], Select[Any]],
    ) -> list[tuple[Any, ...]]:
        """Read the rows of some ids, in statements of at most `most_ids` ids."""
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(ids), self.most_ids):
            expected = set(ids[start : start + self.most_ids])
            if stored := query.stored(expected):
                result = reading.connection.execute(statement(stored))
                rows += [tuple(row) for row in result if row[0] in expected]
        return rows

    def _shown_items(
        self, reading: Reading, query: Query, ids: Sequence[str], window: Window
    ) -> dict[str, Shown]:
        rows = self._rows_of(reading, query, ids, lambda stored: query.show(stored, window))
        rows.sort(key=lambda row: [(value is None, value) for value in row])
        first: dict[str, Sequence[Any]] = {}
        for key, *values in rows:
            first.setdefault(key, values)
        return {key: self._shown.of(values) for key, values in first.items()}


@contextmanager
def engine_errors(
    location: str, extra: str, ours: Callable[[Exception], MonitorError]
) -> Iterator[None]:
    """Convert errors of an engine to ours, without their texts, which may contain keys.

    extra: The extra to install if the engine is missing.
    """
    try:
        yield
    except MonitorError:
        raise
    except ImportError as error:
        message = f"{location} needs the extra {extra}: {install_command(extra)} ({error})"
        raise SourceRefused(message, is_public=True) from error
    except Exception as error:  # noqa: BLE001  stores, catalogs, Spark, py4j: no common base
        raise ours(error) from None


def _fault(table: TableInfo, column: str, setting: str, *, is_number: bool) -> str | None:
    """Explain why a challenger or judge cannot be read; None if it can. Rounds are drawn anyway."""
    try:
        (table.check_number if is_number else table.need)(column, setting)
    except SourceRefused as error:
        return str(error)
    return None


def _are_bare(reading: Reading, query: Query, window: Window) -> bool:
    """Whether no id in a window has blanks around it; False if the engine cannot tell."""
    return bool(reading.dialect.ends) and not reading.connection.scalar(padded(query, window))
