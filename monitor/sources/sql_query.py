"""Read-only SQL for one table, with reflected names and bound values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Integer,
    LargeBinary,
    Select,
    String,
    bindparam,
    case,
    func,
    literal_column,
    null,
    or_,
    select,
    types,
)

from monitor.domain.judge import Judge
from monitor.domain.model import Stratum, Window
from monitor.domain.shown import MOST_BYTES
from monitor.domain.truth import AWARE, NAIVE, UNREADABLE
from monitor.domain.values import MISSING_MARKERS, synonyms
from monitor.files.relations import NUL_SHOWN
from monitor.sources import buckets
from monitor.sources.dialects import written
from monitor.sources.sql_rows import RowQuery, code_of

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine


IdOrder = Literal["first", "last", "random"]
_INTEGERS = range(-(2**63), 2**63)
_UNSIGNED = range(2**64)  # MySQL and MariaDB have both


@dataclass(frozen=True, slots=True)
class Query(RowQuery):
    """Builds each statement for one table."""

    def count(self, window: Window) -> Select[Any]:
        """Count the rows in a window, good and bad."""
        return self._from(func.count()).where(self._in(window))

    def excluded(self, window: Window, name: str) -> Select[Any]:
        """Count the rows of a window excluded by ``where`` although their values are similar."""
        text, counted = self._text(name), self._spelled(self.settings.where[name])
        folded = sorted({one for each in counted for one in synonyms(each)})
        is_near = func.lower(func.trim(text)).in_(folded) & text.not_in(counted)
        rows = select(text.label("value")).select_from(self.table.clause)
        similar = rows.where(self._in(window), is_near).subquery()
        return select(similar.c.value, func.count()).group_by(similar.c.value)

    def timed(self) -> Select[Any]:
        """Count the rows of the whole table that have a time."""
        return self._from(func.count()).where(self._t.is_not(None))

    def untimed(self) -> Select[Any] | None:
        """Count the rows without a usable time by reason; None if the column cannot lack times."""
        name = self.settings.columns.time
        if not self.reads_times:
            missing = self._from(code_of(buckets.TIME_MISSING), func.count(), null())
            return missing.where(self._t.is_(None)) if name in self.table.nullable else None
        labeled = self._from(self._untimed_code().label("bucket"), self._text(name).label("text"))
        rows = labeled.where(self._t.is_(None)).subquery()
        return select(rows.c.bucket, func.count(), func.min(rows.c.text)).group_by(rows.c.bucket)

    def _untimed_code(self) -> ColumnElement[Any]:
        """Write the code of the reason why a row has no usable time."""
        if not self.reads_times:
            return code_of(buckets.TIME_MISSING)
        raw = self._text(self.settings.columns.time)
        return case(
            (func.coalesce(func.trim(raw), "") == "", code_of(buckets.TIME_MISSING)),
            (self._is_naive(), code_of(buckets.NAIVE_TIME)),
            else_=code_of(buckets.TIME_UNPARSABLE),
        )

    def naive(self) -> Select[Any]:
        """Select a time without a zone, for a config without one."""
        name = self.settings.columns.time
        naive = self._from(self._text(name)).limit(1)
        if not self.reads_times:
            return naive.where(self.table.column(name).is_not(None))
        return naive.where(self._is_naive())

    def unknown(self, window: Window, at_most: int) -> Select[Any]:
        """List the most frequent predicted values that are neither positive nor negative."""
        rows = self._rows(window)
        value = written(self.table.dialect.start, rows.c.predicted).label("value")
        of_them = select(value).where(rows.c.predicted.not_in(self.named)).subquery()
        count = func.count().label("rows_of_it")
        counted = select(of_them.c.value, count).group_by(of_them.c.value)
        return counted.order_by(count.desc(), of_them.c.value).limit(at_most)

    def other_verdicts(self, judge: Judge, window: Window, at_most: int) -> Select[Any]:
        """List the most frequent verdicts of a judge in a column that are not positive."""
        positives = self._spelled(judge.positive)
        missing = [each for each in MISSING_MARKERS if each not in positives]
        rows = self._from(self.verdict_text(judge).label("text")).where(self._in(window)).subquery()
        value = written(self.table.dialect.start, rows.c.text).label("value")
        of_them = select(value).where(rows.c.text.not_in([*positives, *missing, ""])).subquery()
        count = func.count().label("rows_of_it")
        counted = select(of_them.c.value, count).group_by(of_them.c.value)
        return counted.order_by(count.desc(), of_them.c.value).limit(at_most)

    def span(self) -> Select[Any]:
        """Select the earliest and the latest time."""
        read = self.times.read
        ends = self._from(read(func.min(self._t)), self.newest(self._t))
        return ends.where(self.times.of_calendar(self._t))

    def show(self, ids: Collection[Any], window: Window) -> Select[Any]:
        """Select the shown columns of rows that may have one of these ids.

        Ids are compared by the column's collation, to use its index. The caller drops additional
        rows, such as from a collation that ignores case.
        """
        shown = [self._seen(name, is_picture=is_picture) for name, is_picture in self.shown]
        return self._from(self._id, *shown).where(self._in(window), self._may_be(ids))

    def first_times(self, ids: Collection[Any], window: Window) -> Select[Any]:
        """Select the earliest time of each id among rows that may have one of these ids."""
        rows = self._from(self._id.label("id"), self._t.label("t"))
        chosen = rows.where(self._in(window), self._may_be(ids)).subquery()
        return select(chosen.c.id, self.times.read(func.min(chosen.c.t))).group_by(chosen.c.id)

    def truths(self, value: str, ids: Collection[Any] | None, *, timed: bool) -> Select[Any]:
        """Select the values of rows that may have one of these ids, or of all, with newest times.

        Empty values are '' if ``timed``, and otherwise left out. The last column is the style of a
        time in text: a constant of `monitor.domain.truth`.
        """
        parts = {"id": self._id, "value": self._trimmed(value)}
        if timed:
            parts["value"] = func.coalesce(parts["value"], "")
            parts["t"] = case((self.times.of_calendar(self._t), self._t))
        if timed and self.reads_times:
            is_readable = self._t.is_not(None)
            parts["style"] = case(
                (is_readable & self._names_no_zone(), literal_column(f"'{NAIVE}'")),
                (is_readable, literal_column(f"'{AWARE}'")),
                (self._untimed_code() == code_of(buckets.TIME_MISSING), null()),
                else_=literal_column(f"'{UNREADABLE}'"),
            )
        labeled = (part.label(name) for name, part in parts.items())
        chosen = [] if ids is None else [self._may_be_padded(ids)]
        rows = self._from(*labeled).where(*chosen).subquery()
        newest = self.newest(rows.c.t) if timed else null()
        styles = [rows.c.style] if "style" in parts else []
        style = rows.c.style if styles else null()
        result = select(rows.c.id, rows.c.value, newest, style)
        result = result.where(rows.c.value.is_not(None))
        return result.group_by(rows.c.id, rows.c.value, *styles)

    def values(self, name: str) -> Select[Any]:
        """Count the rows of each value of a column."""
        rows = self._from(self._trimmed(name).label("value")).subquery()
        result = select(rows.c.value, func.count()).where(rows.c.value.is_not(None))
        return result.group_by(rows.c.value)

    def ids(self, at_most: int, which: IdOrder) -> Select[Any]:
        """Select the first, the last or random ids."""
        rows = self._from(self._id.label("id")).subquery()
        some = select(rows.c.id).where(func.coalesce(rows.c.id, "") != "").distinct()
        if which == "random":
            some = select(some.subquery().c.id)
        item_id = some.selected_columns.id
        orders = {
            "first": item_id,
            "last": item_id.desc(),
            "random": written(self.table.dialect.random, item_id),
        }
        return some.order_by(orders[which]).limit(at_most)

    def stored(self, ids: Collection[str]) -> list[object]:
        """Return ids as values of the column's type, without ids that it cannot contain."""
        kind = self.table.types[self.settings.columns.id]
        return [*_as_stored(ids, kind if self.table.dialect.has_types else None)]

    def _may_be(self, ids: Collection[Any]) -> ColumnElement[bool]:
        column = self.table.column(self.settings.columns.id)
        strange = [each for each in ids if self._is_strange(each)]
        common = [each for each in ids if each not in strange]
        listed = bindparam(None, common, types.NullType(), unique=True, expanding=True)
        is_one = column.in_(common if self.table.dialect.has_types else listed)
        return or_(is_one, self._id.in_(strange)) if strange else is_one

    def _may_be_padded(self, ids: Collection[Any]) -> ColumnElement[bool]:
        """Compare ids with a column that may have blanks around them, if the engine can."""
        return self._may_be(ids)

    def _is_strange(self, stored: object) -> bool:
        """Whether an id has characters that the column may lack, so that its text is compared."""
        if not isinstance(stored, str):
            return False
        return NUL_SHOWN in stored or not (self.table.dialect.has_one_charset or stored.isascii())

    def newest(self, time: ColumnElement[Any]) -> ColumnElement[Any]:
        """Write the newest of some times."""
        return self.times.read(func.max(time))

    def _is_naive(self) -> ColumnElement[Any]:
        if self.settings.time_zone is not None:
            return literal_column("0", Integer()) == code_of(1)
        return self._names_no_zone()

    def _names_no_zone(self) -> ColumnElement[Any]:
        column = self.table.column(self.settings.columns.time)
        return written("monitor_naive({0})", column, Integer()) == code_of(1)

    def _seen(self, name: str, *, is_picture: bool) -> ColumnElement[Any]:
        if is_picture and not isinstance(self.table.types[name], String):
            start = func.substring if self.table.dialect.has_types else func.substr
            return start(self.table.column(name), 1, MOST_BYTES + 1, type_=LargeBinary())
        return self._text(name)


class Scan(NamedTuple):
    """A scan of a window for one source: the first ``at_most`` items of each stratum."""

    source: Any
    query: Query
    strata: Sequence[Stratum]
    at_most: int

    @property
    def candidates(self) -> int:
        """Most items that it returns."""
        return self.at_most * len(self.strata)

    @property
    def values(self) -> int:
        """Most values that a statement binds for it."""
        return 2 * (2 * len(self.query.named) + len(self.strata) + 6) + 8


def _as_stored(ids: Collection[str], kind: TypeEngine[Any] | None) -> Iterator[object]:
    """Yield ids as values of a column type, without ids that it cannot contain.

    If ``kind`` is None, the column has no type, and each id is yielded in all possible forms.
    """
    for each in sorted(ids):
        if kind is None:
            yield from _in_every_form(each)
        elif isinstance(kind, types.Integer):
            allowed = _UNSIGNED if getattr(kind, "unsigned", False) else _INTEGERS
            yield from (number for number in _as_number(each) if number in allowed)
        elif isinstance(kind, types.Numeric):
            yield from map(Decimal, _as_number(each))
        elif isinstance(kind, types.Uuid):
            yield from _as_uuid(each)
        else:
            yield each


def _in_every_form(text: str) -> Iterator[object]:
    yield text
    yield text.encode()
    numbers: list[float] = [number for number in _as_number(text) if number in _INTEGERS]
    try:
        yield from numbers or [float(text)]
    except ValueError:
        return


def _as_number(text: str) -> Iterator[int]:
    try:
        number = int(text)
    except ValueError:
        return
    if str(number) == text:
        yield number


def _as_uuid(text: str) -> Iterator[UUID]:
    try:
        uuid = UUID(text)
    except ValueError:
        return
    if str(uuid) == text:
        yield uuid
