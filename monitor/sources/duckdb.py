"""Predictions and truth in Parquet, CSV or DuckDB files, and in any other table of DuckDB.

DuckDB gets the same statements as databases, except for times in texts, ids of files, and lists of
ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

from sqlalchemy import (
    ColumnElement,
    Select,
    TableClause,
    case,
    column,
    literal,
    literal_column,
    select,
    true,
    types,
)
from sqlalchemy.ext.compiler import compiles

from monitor.domain.errors import InputRefused, LabelsRefused, SourceRefused
from monitor.domain.model import Window
from monitor.domain.time_limit import OF_FILES
from monitor.domain.truth import ZONE, TruthColumns
from monitor.domain.values import BLANKS
from monitor.files.duckdb_sql import (
    AWARE_TIMES,
    NUMBERS,
    TEXTS,
    TIMES,
    WHOLE_NUMBERS,
    Stamps,
    bare_text,
    quoted,
    value_text,
)
from monitor.files.relations import NUL_SHOWN, DataFiles, OpenTable, opened, visible
from monitor.sources.dialects import Dialect, Reading, TextDialect, Typed, written
from monitor.sources.shown_columns import read_as
from monitor.sources.sql_query import Query
from monitor.sources.sql_table import TableInfo
from monitor.sources.sql_times import Times, aware_times, local_times
from monitor.sources.table_settings import Columns, DuckdbSettings, TableSettings
from monitor.sources.table_source import TableSource
from monitor.sources.table_truths import TableTruths

if TYPE_CHECKING:
    from sqlalchemy.sql import Executable


_TEXT = "cast({0} as varchar)"
# A search for NUL costs a third of a replacement, which almost no id needs.
_ID_TEXT = f"case when contains({_TEXT}, chr(0)) then {visible(_TEXT)} else nullif({_TEXT}, '') end"

DUCKDB = Dialect(
    text=_TEXT,
    id_text=_ID_TEXT,
    double="try_cast({0} as double)",
    nan="isnan({0})",
    infinite="isinf({0})",
    bare=bare_text("{0}"),
    random="hash({0})",
    sees_one_state=True,
)
"""The dialect of DuckDB. Stamps detect files that change while they are read."""

ENGINE = TextDialect("duckdb", '"')
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  local times
_DAY = r"\d{4}-\d{1,2}-\d{1,2}"
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.]\d+)?)?"
_NAIVE_TEXT = rf"{_DAY}([T ]{_CLOCK})?"
_AWARE_TEXT = rf"{_DAY}[T ]{_CLOCK} ?{ZONE}"
_WHOLE_TABLE = "monitor_whole_table"


FIRST, LAST = datetime(1970, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001  local times
_DAY_MICROS, _SECOND = timedelta(days=1), timedelta(seconds=1)

Changes = tuple[tuple[datetime, int], ...]


@lru_cache(maxsize=256)
def clock_changes(zone: str) -> tuple[int, Changes]:
    """Return the offset of a zone from UTC in seconds, and the local times of its changes.

    A local time that occurs twice is the later of the two.
    """
    zone_info = ZoneInfo(zone)
    first_offset = offset = _upcoming(FIRST, zone_info)
    changes = []
    day = FIRST
    while day < LAST:
        if (next_offset := _upcoming(day + _DAY_MICROS, zone_info)) != offset:
            changes.append((_change(day, zone_info), next_offset))
            offset = next_offset
        day += _DAY_MICROS
    return first_offset, tuple(changes)


def _instant_sql(local: str, zone: str) -> ColumnElement[Any]:
    """Write the conversion of a local time to an instant, by Python's time zone rules.

    DuckDB's rules may have another date: if they differed from Python's, which computes windows, a
    window would have rows of another hour.
    """
    offset = _offset_sql(zone).format(local)
    return literal_column(f"cast({local} - to_seconds({offset}) as timestamptz)")


def _offset_sql(zone: str) -> str:
    """Write the offset of a zone from UTC in seconds at the local time ``{0}``.

    Changes are in lists by year, since DuckDB takes a second to plan one case for each change.
    """
    offset, changes = clock_changes(zone)
    years: dict[int, list[tuple[datetime, int]]] = {
        year: [] for year in range(FIRST.year, LAST.year + 1)
    }
    for change in changes:
        years[change[0].year].append(change)
    offsets = []
    for of_year in years.values():
        offsets.append(offset)
        offset = of_year[-1][1] if of_year else offset
    year = f"[least(greatest(year({{0}}), {FIRST.year}), {LAST.year}) - {FIRST.year - 1}]"
    offset_sql = f"{offsets}{year}"
    for nth in zip_longest(*years.values()):
        at = ", ".join("null" if one is None else f"timestamp '{one[0]}'" for one in nth)
        after = ", ".join("null" if one is None else str(one[1]) for one in nth)
        later = f"when {{0}} >= [{at}]{year} then [{after}]{year}"
        offset_sql = f"case {later} else {offset_sql} end"
    return offset_sql


def _upcoming(local: datetime, zone: ZoneInfo) -> int:
    offset = local.replace(tzinfo=zone, fold=1).utcoffset() or timedelta()
    return offset // _SECOND


def _change(day: datetime, zone: ZoneInfo) -> datetime:
    """Return the first second of a day with the offset of the next day."""
    after = _upcoming(day + _DAY_MICROS, zone)
    low, high = day, day + _DAY_MICROS
    while high - low > _SECOND:
        middle = low + (high - low) // 2 // _SECOND * _SECOND
        low, high = (low, middle) if _upcoming(middle, zone) == after else (middle, high)
    return high


class Statements:
    """Executes statements over an open table."""

    def __init__(self, table: OpenTable) -> None:
        self.table = table

    def execute(
        self,
        statement: Executable,
        *,
        execution_options: Mapping[str, Any] | None = None,  # noqa: ARG002  as SQLAlchemy's
    ) -> Iterator[tuple[Any, ...]]:
        """Return an iterator of the rows of a statement."""
        is_whole = statement.get_execution_options().get(_WHOLE_TABLE)
        table = self.table.whole() if is_whole else self.table
        return table.stream(*ENGINE.compiled(statement))

    def scalar(self, statement: Executable) -> Any:
        """Return the first value of a statement."""
        return next((row[0] for row in [*self.execute(statement)]), None)


class _Relation(TableClause):
    """The relation of an open table, under our own name."""

    inherit_cache = False
    relation = ""


@compiles(_Relation)
def _relation(element: _Relation, compiler: Any, **_: Any) -> str:
    return f"{element.relation} as {compiler.preparer.quote(element.name)}"


@dataclass(frozen=True, slots=True)
class DuckdbTable(TableInfo):
    """An open table of DuckDB."""

    open: OpenTable = field(kw_only=True)
    state: Callable[[], object] = field(kw_only=True)
    opened_at: object = field(kw_only=True)

    def is_unchanged(self) -> bool:
        """Whether the rows have not changed since the table was opened."""
        return self.snapshot is not None or self.state() == self.opened_at

    @property
    def type_names(self) -> Mapping[str, str]:
        """The type of each column, by DuckDB's names."""
        return dict(self.open.types)

    def is_read_from_text(self, name: str) -> bool:
        """Whether a column has texts, from which times and numbers are parsed."""
        return TEXTS.fullmatch(self.open.types[name]) is not None

    def shown_type(self, name: str) -> str:
        """Return the type of a column and its first value, for messages."""
        is_mixed = name.lower() in self.open.mixed
        kind = "of several types over the files" if is_mixed else self.open.types[name]
        first = self.open.rows(
            f"select cast({quoted(name)} as varchar) from {self.open.relation} "  # noqa: S608
            f"where {quoted(name)} is not null limit 1"
        )
        return f"{kind} (first value {first[0][0]!r})" if first else kind

    def check_number(self, name: str, setting: str) -> None:
        """Refuse a column without numbers; in files of texts, any column may have them."""
        if not self.open.is_text:
            TableInfo.check_number(self, name, setting)
        self.need(name, setting)

    def times(self, settings: TableSettings, setting: str = "columns.time") -> Times | None:
        """Return how to read times; None if they lack a zone and the config has none."""
        name = settings.columns.time
        self.need(name, setting)
        kind = self.open.types[name]
        if TEXTS.fullmatch(kind):
            return _DuckDbTimes(Typed("timestamptz"), aware_times().bound, int, read=_micros)
        if not TIMES.fullmatch(kind):
            expected = "times; numbers of seconds become times with to_timestamp(...)"
            raise self.refuse_type(name, setting, expected)
        if AWARE_TIMES.fullmatch(kind):
            return _DuckDbTimes(Typed(kind), aware_times().bound, int, read=_micros)
        if settings.time_zone is None:
            return None
        local = local_times(settings.time_zone)
        kind = "timestamp" if kind == "DATE" else kind
        return _DuckDbTimes(Typed(kind), local.bound, _local_instant(local), read=_local_micros)


def table_info(table: OpenTable, state: Callable[[], object]) -> DuckdbTable:
    """Describe an open table; ``state()`` changes with its rows."""
    kinds = {name: _type_of(kind) for name, kind in table.types.items()}
    clause = _Relation("rows", *(column(name, kind) for name, kind in kinds.items()))
    clause.relation = table.relation
    return DuckdbTable(
        *(table.place, clause, kinds, frozenset(kinds), DUCKDB),
        refused=table.refused,
        open=table,
        state=state,
        opened_at=None if table.snapshot is not None else state(),
        snapshot=table.snapshot,
    )


def _type_of(kind: str) -> types.TypeEngine[Any]:
    if WHOLE_NUMBERS.fullmatch(kind):
        return types.BigInteger()
    if NUMBERS.fullmatch(kind):
        return types.Double()
    if TEXTS.fullmatch(kind):
        return types.String()
    return types.Uuid() if kind == "UUID" else types.NullType()


@dataclass(frozen=True, slots=True)
class _DuckDbTimes(Times):
    def of_calendar(self, column: ColumnElement[Any]) -> ColumnElement[bool]:
        return written("isfinite(cast({0} as timestamptz))", column, types.Boolean())


def _micros(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return written("epoch_us(cast({0} as timestamptz))", value, types.BigInteger())


def _local_micros(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return written("epoch_us(cast({0} as timestamp))", value, types.BigInteger())


def _local_instant(local: Times) -> Any:
    def instant(micros: int) -> int:
        try:
            return local.instant(_EPOCH + timedelta(microseconds=micros))
        except OverflowError:  # no calendar has it, and its number says so
            return micros

    return instant


@dataclass(frozen=True, slots=True)
class DuckdbQuery(Query):
    """Builds each statement for one open table."""

    table: DuckdbTable

    def timed(self) -> Select[Any]:
        """Count the rows of the whole table that have a time."""
        return Query.timed(self).execution_options(**{_WHOLE_TABLE: True})

    @property
    def _t(self) -> ColumnElement[Any]:
        name = self.settings.columns.time
        if not self.reads_times:
            return self.table.column(name)
        text, zone = f"upper(trim(cast({quoted(name)} as varchar)))", self.settings.time_zone
        aware = f"replace(replace(replace({text}, ' UTC', 'Z'), ' +', '+'), ' -', '-')"
        aware = f"replace(replace({aware}, 'UTC', 'Z'), ' Z', 'Z')"
        forms: list[tuple[str, ColumnElement[Any]]] = [
            (_AWARE_TEXT, literal_column(f"try_cast({aware} as timestamptz)"))
        ]
        if zone is not None:
            forms.insert(0, (_NAIVE_TEXT, _instant_sql(f"try_cast({text} as timestamp)", zone)))
        return case(
            *((literal_column(f"regexp_full_match({text}, '{form}')"), at) for form, at in forms)
        )

    def _names_no_zone(self) -> ColumnElement[Any]:
        naive = f"regexp_full_match(upper(trim({{0}})), '{_NAIVE_TEXT}')"
        return written(naive, self._text(self.settings.columns.time), types.Boolean())

    def _value_text(self, name: str) -> ColumnElement[Any]:
        opened = self.table.open
        text = value_text(name, opened.types[name], is_text=opened.is_text)
        return literal_column(visible(text), types.String())

    def _seen(self, name: str, *, is_picture: bool) -> ColumnElement[Any]:
        return literal_column(read_as(name, self.table.open.types[name], is_picture=is_picture))

    def stored(self, ids: Collection[str]) -> list[object]:
        """Return ids for comparisons: as texts, which statements cast to the column's type."""
        return [*ids]

    def _may_be(self, ids: Collection[Any]) -> ColumnElement[bool]:
        """Compare the stored column, so that DuckDB can skip whole parts of a file."""
        if any(NUL_SHOWN in each for each in ids):
            return true()  # may be a NUL or its visible form; only the rows show which
        name = self.settings.columns.id
        kind = "varchar" if self.table.is_read_from_text(name) else self.table.open.types[name]
        return self.table.column(name).in_(_each_of(ids, kind))

    def _may_be_padded(self, ids: Collection[Any]) -> ColumnElement[bool]:
        """Compare ids within their range of the sort order, and texts that begin with a blank."""
        name = self.settings.columns.id
        if not self.table.is_read_from_text(name) or any(NUL_SHOWN in each for each in ids):
            return self._may_be(ids)
        column, bare = self.table.column(name), [each.strip(BLANKS) for each in ids]
        is_near = column.between(min(bare), max(bare) + "\U0010ffff")
        is_one = written(DUCKDB.bare, self._id).in_(_each_of(bare, "varchar"))
        return (is_near | (column < "!") | (column > "~")) & is_one


def _each_of(ids: Collection[Any], kind: str) -> Select[Any]:
    """Select ids as values of a type, from one bound list."""
    listed = literal(list(ids), types.NullType())
    template = f"try_cast(unnest({{0}}::varchar[]) as {kind})"
    return select(written(template, listed, types.NullType()))


class EngineSource(TableSource):
    """Base class of sources over tables that DuckDB reads; subclasses define the table."""

    advice = OF_FILES

    most_ids = 1_000_000  # since each statement is a scan

    def open_table(
        self, window: Window | None = None, other: OpenTable | None = None
    ) -> AbstractContextManager[OpenTable]:
        """Open the table, with the connection of another table if one is passed.

        The table may lack rows outside the window, but not rows without a time.
        """
        raise NotImplementedError

    @contextmanager
    def opened(self, window: Window | None = None) -> Iterator[Reading]:
        """Open a reading; it may lack rows outside the window, but not rows without a time."""
        with self.open_table(window) as table:
            yield Reading(Statements(table), DUCKDB)

    def describe_table(self, reading: Reading) -> DuckdbTable:
        """Describe the table."""
        return table_info(reading.connection.table, self.state)

    def query_of(self, table: TableInfo, times: Times, shown: Sequence[tuple[str, bool]]) -> Query:
        """Return the builder of statements."""
        return DuckdbQuery(cast("DuckdbTable", table), self.settings, times, shown)

    def can_be_joined(self, other: EngineSource) -> bool:  # noqa: ARG002  some tables can by some
        """Whether queries of another table can name this one."""
        return True

    def truth_reading(
        self, reading: Reading, truths: TableTruths
    ) -> AbstractContextManager[Reading] | None:
        """Open a truth with the connection of a reading; None if the engine cannot join the two."""
        source = truths.source
        if not isinstance(source, EngineSource) or not source.can_be_joined(self):
            return None
        return source.opened_for(reading.connection.table, truths.columns_read)

    @contextmanager
    def opened_for(self, other: OpenTable, columns: Collection[str]) -> Iterator[Reading]:  # noqa: ARG002
        """Open some columns so that queries of another table can name them."""
        with self.open_table(other=other) as table:
            yield Reading(Statements(table), DUCKDB)


class DuckdbSource(EngineSource):
    """A `Source` over files.

    refused: The error to raise when the files cannot be used.
    """

    def __init__(
        self,
        settings: DuckdbSettings,
        base_folder: Path | str = ".",
        *,
        refused: type[InputRefused] = SourceRefused,
    ) -> None:
        super().__init__(settings, base_folder)
        self.files = DataFiles(settings.paths, Path(base_folder), settings.table, refused=refused)
        self.place = str(self.files)
        self.whole_location = ", ".join(str(self.files.folder / path) for path in self.files.paths)

    @property
    def waited_for(self) -> str:
        """The absolute paths, since relative ones depend on the folder."""
        return self.whole_location

    def open_table(
        self,
        window: Window | None = None,  # noqa: ARG002
        other: OpenTable | None = None,
    ) -> AbstractContextManager[OpenTable]:
        """Open the files; each query selects the parts that it reads."""
        return opened(self.files, other)

    def can_be_joined(self, other: EngineSource) -> bool:
        """Whether queries of another table can name this one; only one DuckDB file can be open."""
        if self.files.kind != "duckdb":
            return True
        return isinstance(other, DuckdbSource) and other.files.found() == self.files.found()

    def state(self) -> Stamps:
        """Return the size and time of each file and of its log."""
        return self.files.stamps()


def truths_in_files(
    paths: Sequence[str], base_folder: Path | str, truth_columns: TruthColumns
) -> TableTruths:
    """Return the truth in some columns of files; a time without a zone is in UTC."""
    item_id = truth_columns.id
    settings = DuckdbSettings(
        path=tuple(paths),
        table=truth_columns.table,
        columns=Columns(id=item_id, time=truth_columns.time or item_id, score="score"),
        threshold=0.5,
        time_zone="UTC",
    )
    source = DuckdbSource(settings, base_folder, refused=LabelsRefused)
    return TableTruths(source, truth_columns, assumed_zone=True)
