"""Predictions in Parquet, CSV or DuckDB files, read with DuckDB in one scan."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from monitor.domain.adapters import ItemFormat, SourceSettings
from monitor.domain.challenger import Challenger  # noqa: TC001  pydantic reads it
from monitor.domain.errors import SourceRefused
from monitor.domain.refused_setting import SettingRefused
from monitor.domain.setting_types import Settings, TimeZone
from monitor.domain.time_limit import T, within
from monitor.files.relations import DataFiles, all_texts, check_table, kind_of, opened
from monitor.files.stamps import stamps_of
from monitor.sources import frames
from monitor.sources.challenger_columns import ChallengerColumns, why_no_challenger
from monitor.sources.duckdb_draw import draw, draw_again, unknown_values
from monitor.sources.duckdb_query import Query
from monitor.sources.shown_columns import Show, ShownRows, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monitor.domain.model import Frame, Stratum, Window
    from monitor.domain.shown import Shown
    from monitor.files.relations import OpenTable
    from monitor.files.stamps import Stamps

Value = StrictBool | StrictInt | StrictFloat | StrictStr
Values = Value | tuple[Value, ...]

_YES: Values = (1, True)
_NO: Values = (0, False)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Columns(Settings):
    """Which column holds what; ``show`` names what people see while labeling, in its order.

    A name alone is a column shown as text; other kinds are in the next section.

    ``segments`` names columns, such as a country or a client, for whose values precision and
    recall are shown by themselves; the 20 largest values of a window are shown separately.
    """

    id: str
    time: str
    score: str | None = None
    predicted: str | None = None
    model_version: str | None = None
    show: Show = ()
    segments: Annotated[tuple[str, ...], Field(max_length=10)] = ()

    @model_validator(mode="after")
    def _segments_are_groups(self) -> Columns:
        for name in ("id", "time", "score"):
            if getattr(self, name) in self.segments:
                message = (
                    f"{getattr(self, name)!r} is the {name} column; a segment is a "
                    "column with few values, such as a country"
                )
                raise SettingRefused(setting="segments", why=message)
        twice = [column for column, count in Counter(self.segments).items() if count > 1]
        if twice:
            message = f"{twice[0]!r} stands there twice; name each column once"
            raise SettingRefused(setting="segments", why=message)
        return self

    @model_validator(mode="after")
    def _shown_by_different_names(self) -> Columns:
        headings = Counter(one.heading for one in listed(self.show))
        twice = [heading for heading, count in headings.items() if count > 1]
        if twice:
            message = f"{twice[0]!r} stands there twice; give one of them another name"
            raise SettingRefused(setting="show", why=message)
        return self

    @model_validator(mode="after")
    def _blind(self) -> Columns:
        shown = {column for one in listed(self.show) for column in one.columns}
        for name in ("score", "predicted", "model_version"):
            if getattr(self, name) in shown:
                message = (
                    f"{getattr(self, name)!r} is the {name} column; people who see it "
                    "label what the model said, so leave it out"
                )
                raise SettingRefused(setting="show", why=message)
        return self


class DuckdbSettings(SourceSettings):
    """Where predictions are and how to read them.

    The predicted class comes from ``columns.predicted`` (flagged where it is ``positive``) or
    from ``columns.score`` (flagged where it is at least ``threshold``), never from both. A
    predicted value that is neither ``positive`` nor ``negative`` is a bad row; if more than
    ``bad_rows_max`` are, the predictions are refused.

    ``challenger`` names columns of another classifier's decisions on the same predictions, to be
    compared in each round.

    ``timeout`` is how long one reading may take; then the round waits, and other monitors go on.
    ``grace`` is how long a round waits, from its first look, for predictions that are missing or
    cannot be used as they are; after that it is abandoned, with a notice. It never waits beyond
    the next slot. Without it: a quarter of the window, at least 6 hours.
    """

    kind: Literal["duckdb"] = "duckdb"
    path: str | tuple[str, ...]
    table: str | None = None
    columns: Columns
    challenger: Challenger | None = None
    time_zone: TimeZone | None = None
    where: dict[str, Values] = Field(default_factory=dict)
    positive: Values = _YES
    negative: Values | None = None

    @model_validator(mode="after")
    def _files_are_readable_kinds(self) -> DuckdbSettings:
        check_table(kind_of(self.paths), self.table)
        return self

    @model_validator(mode="after")
    def _one_rule_for_the_class(self) -> DuckdbSettings:
        columns = self.columns
        if self.threshold is not None and columns.predicted is not None:
            message = (
                "threshold and columns.predicted both decide which rows are flagged; keep one "
                "(with columns.predicted, columns.score may stay: it makes the score cells)"
            )
            raise ValueError(message)
        if self.threshold is None and columns.predicted is None:
            message = (
                "nothing says which rows are flagged; give threshold with columns.score, "
                "or columns.predicted"
            )
            raise ValueError(message)
        if self.threshold is not None and columns.score is None:
            message = "threshold needs columns.score: the column it is compared with"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _challenger_is_another(self) -> DuckdbSettings:
        if self.challenger is not None:
            columns = self.columns
            shown = {column for one in listed(columns.show) for column in one.columns}
            own = (columns.predicted or columns.score, self.threshold)
            if (why := why_no_challenger(self.challenger, shown, own)) is not None:
                raise SettingRefused(setting="challenger", why=why)
        return self

    @model_validator(mode="after")
    def _values_are_of_a_column(self) -> DuckdbSettings:
        is_read = self.columns.predicted or (self.challenger and self.challenger.predicted)
        for name in ("positive", "negative"):
            if not is_read and name in self.model_fields_set:
                message = f"{name} needs columns.predicted: the column whose value it is"
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _a_value_means_one_class(self) -> DuckdbSettings:
        both = set(all_texts(self.positive)) & set(all_texts(self.negative or ()))
        if both:
            message = f"{min(both)!r} is also in positive; a value means one of them"
            raise SettingRefused(setting="negative", why=message)
        return self

    @model_validator(mode="after")
    def _lists_are_not_empty(self) -> DuckdbSettings:
        lists = {"positive": self.positive, "negative": self.negative}
        lists |= {f"where.{column}": values for column, values in self.where.items()}
        for name, values in lists.items():
            if values == ():
                message = "an empty list matches nothing; name a value or more"
                raise SettingRefused(setting=name, why=message)
        return self

    @property
    def negatives(self) -> tuple[str, ...]:
        """Texts that mean not flagged: 0 and false unless named, or 1 and true if those do not."""
        if self.negative is not None:
            return tuple(all_texts(self.negative))
        positives = set(all_texts(self.positive))
        usual = _YES if positives <= set(all_texts(_NO)) else _NO
        return tuple(text for text in all_texts(usual) if text not in positives)

    @property
    def shows_texts_only(self) -> bool:
        """Whether people see texts of an item and nothing of another kind."""
        return all(one.is_text for one in listed(self.columns.show))

    @property
    def has_scores(self) -> bool:
        """Whether a column holds scores."""
        return self.columns.score is not None

    @property
    def challenged_by(self) -> Challenger | None:
        """Another classifier whose decisions stand in the same rows."""
        return self.challenger

    @property
    def item_format(self) -> ItemFormat:
        """Columns and values of this source, which files beside it share."""
        columns = self.columns
        return ItemFormat(
            columns.id, columns.score, columns.predicted, self.positive, self.negatives
        )

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
            self._check(groups, len(strata))
            timed = self._timed_rows(table, query, groups)
            unknown = unknown_values(query, window, groups)
            fault = query.challenger.fault
        return frames.assemble(
            window,
            strata,
            groups,
            timed_rows=timed,
            at_most=at_most,
            segment_columns=self.settings.columns.segments,
            unknown=unknown,
            challenger_fault=fault,
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
            raise self._naive(naive)
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
            challenger=ChallengerColumns(table, settings.challenger),
        )
        query.check()
        self._shown.check()
        naive = query.first_naive_time()
        if naive is not None:
            raise self._naive(naive)
        return query

    def _naive(self, example: str) -> SourceRefused:
        column = self.settings.columns.time
        message = (
            f"{self.files}: column {column!r} (columns.time) holds times without a time zone, the "
            f"first is {example!r}; set source.time_zone (such as UTC or Europe/Prague), or write "
            "times with an offset"
        )
        return SourceRefused(message)

    def _check(self, groups: Sequence[frames.Group], strata: int) -> None:
        """Refuse the data as a whole where nothing in it can be used."""
        naive = frames.first_example(groups, frames.NAIVE_TIME)
        if naive is not None:
            raise self._naive(naive)
        columns = self.settings.columns
        wrong = frames.first_example(groups, frames.TIME_UNPARSABLE)
        if wrong is not None and all(g.bucket in frames.UNTIMED for g in groups):
            message = (
                f"{self.files}: no value of column {columns.time!r} (columns.time) is a time, the "
                f"first is {wrong!r}; wanted ISO 8601, such as 2026-03-02T06:00:00Z"
            )
            raise SourceRefused(message)
        wrong = frames.first_example(groups, frames.SCORE_UNREADABLE)
        if wrong is not None and not frames.rows_in(groups, *range(strata)):
            message = (
                f"{self.files}: no value of column {columns.score!r} (columns.score) is a number, "
                f"the first is {wrong!r}; wanted numbers with a decimal point, such as 0.73"
            )
            raise SourceRefused(message)

    def _timed_rows(self, table: OpenTable, query: Query, groups: Sequence[frames.Group]) -> int:
        # Texts are scanned whole, so the groups hold all rows; of other files the scan skipped
        # those far from the window. Without untimed rows nothing depends on the number.
        if table.is_text or not frames.rows_in(groups, *frames.UNTIMED):
            return sum(group.rows for group in groups if group.bucket not in frames.UNTIMED)
        sql, parameters = query.timed_rows()
        return int(table.rows(sql, parameters)[0][0])


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
