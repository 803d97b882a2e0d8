"""The SQL of the DuckDB source: names quoted, values bound, one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from monitor.domain.segments import NO_VALUE
from monitor.files.relations import at_threshold, visible
from monitor.files.words import NUMBERS, TEXTS, TIMES, quoted
from monitor.sources import frames
from monitor.sources.challenger_columns import ChallengerColumns, class_text
from monitor.sources.clock_changes import FIRST, LAST, instant_sql
from monitor.sources.cuts import Cuts
from monitor.sources.shown_columns import read_as

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from monitor.domain.model import Stratum, Window
    from monitor.files.relations import OpenTable

_AWARE = "TIMESTAMP WITH TIME ZONE"
_AWARE_NS = "TIMESTAMPTZ_NS"  # what pandas writes, as DuckDB 2 reads it
_NAIVE = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"})
_DAY = r"\d{4}-\d{1,2}-\d{1,2}"
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.]\d+)?)?"
_NAIVE_TEXT = rf"{_DAY}([T ]{_CLOCK})?"
_AWARE_TEXT = rf"{_DAY}[T ]{_CLOCK} ?(Z|UTC|[+-]\d{{2}}(:?\d{{2}})?)"
_ANY_TYPE = ("predicted", "model_version")
ALL = "g"  # above every md5
_LONGEST_VALUE = 100  # characters by which segment values are distinguished
_SLACK = timedelta(days=1)  # more than any time zone is away from UTC (14 hours)
_RULES = timedelta(days=3)  # around a window, whose ends may be of another zone

Bound = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Query:
    """Builds each query for one open table; `check` must pass first."""

    table: OpenTable
    columns: Mapping[str, Any]
    time_zone: str | None
    where: Mapping[str, Sequence[str]]
    threshold: float | None
    positive: Sequence[str]
    negative: Sequence[str]
    challenger: ChallengerColumns

    def check(self) -> None:
        """Refuse a missing column or one of a type that cannot serve."""
        single = [(f"columns.{name}", [self.columns[name]]) for name in _ANY_TYPE]
        lists = [
            ("columns.show", [column for column, _ in self.columns["show"]]),
            ("columns.segments", self.columns["segments"]),
        ]
        for setting, columns in [*single, *lists, ("where", self.where)]:
            for column in columns:
                if column is not None:
                    self.table.need(column, setting)
        self.table.id_text(self.columns["id"], "columns.id")
        self._check_time()
        self._check_score()

    def _check_score(self) -> None:
        score = self.columns["score"]
        if score is None:
            return
        kind = self.table.need(score, "columns.score")
        if not self.table.is_text and not NUMBERS.fullmatch(kind):
            raise self.table.refuse_type(score, "columns.score", "numbers")

    def _check_time(self) -> None:
        column = self.columns["time"]
        kind = self.table.need(column, "columns.time")
        if not (TIMES.fullmatch(kind) or TEXTS.fullmatch(kind)):
            expected = "times; numbers of seconds become times with to_timestamp(...)"
            raise self.table.refuse_type(column, "columns.time", expected)

    def first_naive_time(self) -> str | None:
        """Return a value of a typed time column without a zone, where the config names none.

        Texts are looked at while they are scanned.
        """
        if self.time_zone is not None or self._time_type not in _NAIVE:
            return None
        column = quoted(self.columns["time"])
        rows = self.table.rows(
            f"select cast({column} as varchar) from {self.table.relation} "  # noqa: S608
            f"where {column} is not null limit 1"
        )
        return rows[0][0] if rows else None

    def scan(
        self,
        window: Window,
        strata: Sequence[Stratum],
        at_most: int,
        seed: str,
        bounds: Mapping[int, str],
        only: Collection[int] = (),
    ) -> Bound:
        """Count each bucket and model version, or ``only`` some, and take its first candidates.

        Only rows whose md5 is below the bound of their bucket may become candidates: the first
        ones are among them wherever as many were found as were asked for. A bucket without a
        bound takes all of its rows.
        """
        values: dict[str, Any] = {}
        names = ["h", "id", "score", *self.challenger.names, *self._segments]
        drawn = ", ".join(f"'{name}': {name}" for name in names)
        first = f"min({{{drawn}}}, {at_most}) filter (where bucket >= 0 and h < bound)"
        chosen = f"where bucket in ({', '.join(map(str, only))})" if only else ""
        sql = f"""
            with classed as ({self._classed(window, strata, values)}),
            hashed as (
                select *, {self._hash(seed, values)} as h, {_bound_of(bounds)} as bound
                from classed {chosen}
            )
            select * replace ({self._in_columns} as drawn)
            from ({self._counted(first)} from hashed {self._grouped})
        """  # noqa: S608
        return sql, values

    def _hash(self, seed: str, values: dict[str, Any]) -> str:
        if self.table.hashed is not None and self.table.hashed[0] == seed:
            return "known_h"
        values["seed"] = f"{seed}|"
        return "md5($seed || id)"

    def tally(self, window: Window, strata: Sequence[Stratum]) -> Bound:
        """Count each bucket and model version, and draw nothing."""
        values: dict[str, Any] = {}
        rows = self._classed(window, strata, values)
        return f"{self._counted('null')} from ({rows}) {self._grouped}", values

    def _classed(self, window: Window, strata: Sequence[Stratum], values: dict[str, Any]) -> str:
        """Rows near the window, each with its bucket."""
        values |= {"start": window.start, "end": window.end}
        rows = self._source_rows(values, near=True)
        return f"select *, {self._bucket(strata, values)} as bucket from ({rows})"  # noqa: S608

    def _counted(self, first: str) -> str:
        by_value = "".join(
            f", histogram({name}) filter (where bucket >= 0)" for name in self._segments
        )
        return f"""select
            bucket,
            {"null" if self.columns["model_version"] is None else "version"},
            count(*),
            epoch_us(max(t) filter (where t >= $start and t < $end)),
            {first} as drawn,
            {self._example},
            {self.challenger.counted}
            {by_value}"""

    @property
    def _in_columns(self) -> str:
        """Turn the items drawn into lists, each of one thing: Python holds them in a third."""
        retained = ["id", "score", *self.challenger.names, *self._segments]
        return (
            "{" + ", ".join(f"'{name}': [each.{name} for each in drawn]" for name in retained) + "}"
        )

    @property
    def _grouped(self) -> str:
        # Groups of numbers alone are found faster than those with a text beside them.
        return "group by bucket" + ("" if self.columns["model_version"] is None else ", version")

    @property
    def _segments(self) -> list[str]:
        return [f"segment_{index}" for index in range(len(self.columns["segments"]))]

    @property
    def _example(self) -> str:
        """A text that cannot be read, to be named in an error; typed columns have none."""
        if not (self.time_is_text or self._score_is_text):
            return "null"
        return f"""min(case
            when bucket in ({frames.NAIVE_TIME}, {frames.TIME_UNPARSABLE}) then time_text
            when bucket = {frames.SCORE_UNREADABLE} then score_text
        end)"""

    def window_rows(self, window: Window, columns: Sequence[str], seed: str, hashed: str) -> Bound:
        """Take these columns of the rows near a window, and ``hashed``: md5(seed, id)."""
        values: dict[str, Any] = {"start": window.start, "end": window.end, "seed": f"{seed}|"}
        condition = " and ".join([*self._where(values), *self._near(values)]) or "true"
        if "$start" not in condition:
            del values["start"], values["end"]
        drawn = f"md5($seed || {self.table.id_text(self.columns['id'], 'columns.id')})"
        listed = ", ".join([*map(quoted, columns), f"{drawn} as {quoted(hashed)}"])
        return f"select {listed} from {self.table.relation} where {condition}", values  # noqa: S608

    @property
    def scanned(self) -> list[str]:
        """Columns that a scan reads, those that only people see left out."""
        named = [self.columns[key] for key in ("id", "time", "score", *_ANY_TYPE)]
        existing = [column for column in named if column is not None]
        challenger = self.challenger.read
        of_other = [] if challenger is None else [challenger.column]
        return [*existing, *self.columns["segments"], *self.where, *of_other]

    def buckets(self, window: Window, strata: Sequence[Stratum], at_most: int) -> Bound:
        """Count the rows of each bucket among the first ones of the window in the files."""
        values: dict[str, Any] = {}
        rows = f"select bucket from ({self._classed(window, strata, values)}) limit {at_most}"  # noqa: S608
        return f"select bucket, count(*) from ({rows}) group by bucket", values  # noqa: S608

    def count(self, window: Window) -> Bound:
        """Count the rows in the window, good and bad."""
        values: dict[str, Any] = {"start": window.start, "end": window.end}
        condition = " and ".join([*self._where(values), *self._near(values)]) or "true"
        relation = self.table.relation
        return (
            f"select count(*) from (select {self._time(values)} as t from {relation} "  # noqa: S608
            f"where {condition}) where t >= $start and t < $end",
            values,
        )

    def unknown(self, window: Window, at_most: int) -> Bound:
        """List the most frequent predicted values that are neither positive nor negative."""
        values: dict[str, Any] = {"start": window.start, "end": window.end}
        rows = self._source_rows(values, near=True)
        return (
            f"select left(predicted_text, {_LONGEST_VALUE}), count(*) from ({rows}) "  # noqa: S608
            "where t >= $start and t < $end and flagged is null and predicted_text is not null "
            f"group by 1 order by 2 desc, 1 limit {at_most}",
            values,
        )

    def timed_rows(self) -> Bound:
        """Count the rows of the whole source that have a time."""
        values: dict[str, Any] = {}
        rows = self._source_rows(values, near=False)
        return f"select count(*) from ({rows}) where t is not null", values  # noqa: S608

    def span(self) -> Bound:
        """Find the earliest and the latest time, and a naive text where that is not allowed."""
        values: dict[str, Any] = {}
        rows = self._source_rows(values, near=False)
        naive = "min(case when naive then time_text end)" if self.time_zone is None else "null"
        ends = ", ".join(f"epoch_us({end}(t) filter (where isfinite(t)))" for end in ("min", "max"))
        sql = f"select {ends}, {naive} from ({rows})"  # noqa: S608
        return sql, values

    def show(self, ids: Sequence[str], window: Window) -> Bound:
        """Fetch the shown columns of these ids, in a fixed order where an id comes twice."""
        values: dict[str, Any] = {"ids": list(ids), "start": window.start, "end": window.end}
        shown = [f"shown_{index}" for index in range(len(self.columns["show"]))]
        rows = self._source_rows(values, near=True, shown=True)
        rows += f" and {self.table.may_be(self.columns['id'], ids)}"
        listed = ", ".join(["id", *shown])
        return (
            f"select {listed} from ({rows}) "  # noqa: S608
            "where t >= $start and t < $end and id in (select unnest($ids::varchar[])) "
            f"order by {listed}",
            values,
        )

    @property
    def _time_type(self) -> str:
        return self.table.types[self.columns["time"]]

    def _source_rows(self, values: dict[str, Any], *, near: bool, shown: bool = False) -> str:
        """Rows in our words: id, t (UTC), naive, score, flagged, version; texts for examples."""
        text = self._text_of("time")
        score = self._text_of("score")
        naive = f"regexp_full_match(upper(trim({text})), '{_NAIVE_TEXT}')"
        parts = {
            "id": self.table.id_text(self.columns["id"], "columns.id"),
            "no_id": f"coalesce(cast({quoted(self.columns['id'])} as varchar), '') = ''",
            "time_text": text,
            "naive": naive if self.time_is_text else "false",
            "t": self._time(values),
            "score_text": score,
            "score": self._score(values),
            "flagged": self._flagged(values),
            "predicted_text": self._predicted,
            "version": f"nullif({visible(self._value_text('model_version'))}, '')",
        }
        parts |= self.challenger.parts(partial(self._is_positive, values), values)
        if self.table.hashed is not None:
            parts["known_h"] = quoted(self.table.hashed[1])
        for index, column in enumerate(self.columns["segments"]):
            text = f"nullif(trim({self.table.value_text(column)}), '')"
            parts[f"segment_{index}"] = f"coalesce(left({text}, {_LONGEST_VALUE}), '{NO_VALUE}')"
        if shown:
            for index, (column, is_picture) in enumerate(self.columns["show"]):
                kind = self.table.types[column]
                parts[f"shown_{index}"] = read_as(column, kind, is_picture=is_picture)
        listed = ", ".join(f"{sql} as {name}" for name, sql in parts.items())
        conditions = [*self._where(values), *(self._near(values) if near else [])]
        condition = " and ".join(conditions) or "true"
        return f"select {listed} from {self.table.relation} where {condition}"  # noqa: S608

    def _column(self, name: str) -> str:
        column = self.columns[name]
        return "null" if column is None else quoted(column)

    def _value_text(self, name: str) -> str:
        column = self.columns[name]
        return "cast(null as varchar)" if column is None else self.table.value_text(column)

    def _text_of(self, name: str) -> str:
        column = self.columns[name]
        if column is None or not TEXTS.fullmatch(self.table.types[column]):
            return "cast(null as varchar)"
        return f"nullif(trim(cast({quoted(column)} as varchar)), '')"

    @property
    def time_is_text(self) -> bool:
        """Whether each time is read from text."""
        return TEXTS.fullmatch(self._time_type) is not None

    @property
    def _score_is_text(self) -> bool:
        score = self.columns["score"]
        return score is not None and TEXTS.fullmatch(self.table.types[score]) is not None

    def _time(self, values: dict[str, Any]) -> str:
        column = quoted(self.columns["time"])
        if self._time_type in {_AWARE, _AWARE_NS}:
            return f"cast({column} as timestamptz)"
        if not self.time_is_text:
            return self._zoned(f"cast({column} as timestamp)", values)
        text = f"upper(trim(cast({column} as varchar)))"
        local = self._zoned(f"try_cast({text} as timestamp)", values)
        aware = f"replace(replace(replace({text}, ' UTC', 'Z'), ' +', '+'), ' -', '-')"
        aware = f"replace(replace({aware}, 'UTC', 'Z'), ' Z', 'Z')"
        return (
            f"case when regexp_full_match({text}, '{_NAIVE_TEXT}') then {local} "
            f"when regexp_full_match({text}, '{_AWARE_TEXT}') "
            f"then try_cast({aware} as timestamptz) end"
        )

    def _zoned(self, local: str, values: dict[str, Any]) -> str:
        if self.time_zone in (None, "UTC"):
            return f"cast({local} as timestamptz)"
        first, last = FIRST, LAST
        if "start" in values:  # others are outside of the window by any rule
            first, last = (_midnight(values[name]) for name in ("start", "end"))
            first, last = first - _RULES, last + _RULES
        return instant_sql(local, self.time_zone, first, last)

    def _score(self, values: dict[str, Any]) -> str:
        number = f"try_cast({self._column('score')} as double)"
        return at_threshold(number, self.threshold, values, "threshold")

    def _flagged(self, values: dict[str, Any]) -> str:
        if self.threshold is not None:
            values["threshold"] = self.threshold
            return f"{self._score(values)} >= $threshold"
        return self._is_positive(values, self._predicted)

    def _is_positive(self, values: dict[str, Any], text: str) -> str:
        values["positive"], values["negative"] = list(self.positive), list(self.negative)
        return (
            f"case when list_contains($positive::varchar[], {text}) then true "
            f"when list_contains($negative::varchar[], {text}) then false end"
        )

    @property
    def _predicted(self) -> str:
        if self.threshold is not None:
            return "cast(null as varchar)"
        return class_text(self._column("predicted"))

    def _where(self, values: dict[str, Any]) -> list[str]:
        conditions = []
        for index, (column, expected) in enumerate(self.where.items()):
            names = []
            for number, value in enumerate(expected):
                values[f"where_{index}_{number}"] = value
                names.append(f"$where_{index}_{number}")
            conditions.append(f"cast({quoted(column)} as varchar) in ({', '.join(names)})")
        return conditions

    def _near(self, values: dict[str, Any]) -> list[str]:
        """Bound the stored column itself, so that files sorted by time are read in part."""
        column = quoted(self.columns["time"])
        if self.time_is_text:
            return []
        if self._time_type == _AWARE:
            return [f"({column} >= $start and {column} < $end or {column} is null)"]
        # In UTC, from which a zone is never a day away, as two zones may be from one another.
        start, end = (values[name].astimezone(UTC) for name in ("start", "end"))
        start, end = start - _SLACK, end + _SLACK
        lower, upper = "$near_start", "$near_end"
        if self._time_type == _AWARE_NS:  # which DuckDB compares with its like alone
            lower, upper = (f"cast({each} as {_AWARE_NS})" for each in (lower, upper))
        else:
            start, end = start.replace(tzinfo=None), end.replace(tzinfo=None)
        values["near_start"], values["near_end"] = start, end
        return [f"({column} >= {lower} and {column} < {upper} or {column} is null)"]

    def _bucket(self, strata: Sequence[Stratum], values: dict[str, Any]) -> str:
        """Put a row into its stratum, or name the reason why it is in none."""
        versioned = self.columns["model_version"] is not None
        decided_by_score = self.threshold is not None
        scored = self.columns["score"] is not None
        cases = [
            ("naive", frames.NAIVE_TIME, self.time_is_text and self.time_zone is None),
            ("t is null and time_text is null", frames.TIME_MISSING, True),
            ("t is null", frames.TIME_UNPARSABLE, True),
            ("not (t >= $start and t < $end)", frames.OUTSIDE, True),
            ("no_id", frames.ID_MISSING, True),
            ("version is null", frames.VERSION_MISSING, versioned),
            ("score is null and score_text is not null", frames.SCORE_UNREADABLE, scored),
            ("score is null", frames.SCORE_MISSING, decided_by_score),
            ("isnan(score)", frames.SCORE_NAN, scored),
            ("isinf(score)", frames.SCORE_INFINITE, scored),
            ("predicted_text is not null and flagged is null", frames.PREDICTED_UNKNOWN, True),
            ("flagged is null", frames.PREDICTED_MISSING, True),
        ]
        listed = " ".join(f"when {sql} then {code}" for sql, code, used in cases if used)
        flagged, passed = (_in_class(strata, values, flagged=up) for up in (True, False))
        return f"case {listed} when flagged then {flagged} else {passed} end"


def _midnight(at: datetime) -> datetime:
    return datetime(at.year, at.month, at.day)  # noqa: DTZ001  a local time


def _bound_of(bounds: Mapping[int, str]) -> str:
    """Give the md5 below which rows of a bucket may be candidates; all are below ``g``."""
    listed = ", ".join(
        f"'{bounds.get(index, ALL)}'" for index in range(max(bounds, default=-1) + 1)
    )
    return f"coalesce([{listed}][bucket + 1], '{ALL}')" if listed else f"'{ALL}'"


def _in_class(strata: Sequence[Stratum], values: dict[str, Any], *, flagged: bool) -> str:
    """Put a row of one class into its stratum by halving: strata are many, and rows more."""
    cuts = Cuts.of(strata, flagged=flagged)
    names = [f"{'flagged' if flagged else 'passed'}_{index}" for index in range(len(cuts.ends))]
    values |= dict(zip(names, cuts.ends, strict=True))
    return f"case when score is null then {cuts.unscored} else {_halved(names, cuts.codes)} end"


def _halved(names: Sequence[str], codes: Sequence[int]) -> str:
    if not names:
        return str(codes[0])
    middle = len(names) // 2
    below = _halved(names[:middle], codes[: middle + 1])
    above = _halved(names[middle + 1 :], codes[middle + 1 :])
    return f"case when score < ${names[middle]} then {below} else {above} end"
