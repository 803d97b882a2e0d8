"""Settings of all sources with tables: roles of columns, and which rows are flagged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from monitor.domain.adapters import SourceSettings
from monitor.domain.challenger import Challenger
from monitor.domain.errors import SettingRefused
from monitor.domain.judge import Judge, Values
from monitor.domain.masking import one_at
from monitor.domain.sampled_log import LogSampling
from monitor.domain.setting_types import Settings, TimeZone
from monitor.files.relations import all_texts, check_table, kind_of
from monitor.sources.shown_columns import Show, listed

_YES: Values = (1, True)
_NO: Values = (0, False)


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


TextOptions = dict[str, Annotated[str, BeforeValidator(_as_text)]]
"""Options of a library that expects texts; ``true`` and ``9000`` become texts."""


class Columns(Settings):
    """The columns by role. ``show`` lists the columns that people see while labeling, in order.

    A name alone is a column shown as text; other kinds are in the next section.

    ``segments`` are columns, such as a country or a client, whose values get separate precision and
    recall; the 20 largest values of a window are shown separately.

    ``group`` is the column of groups of similar items, such as a user, a session or a campaign. The
    intervals of the process and alerts then allow for similarity within a group. An item without a
    value is a group by itself. A draw does not limit the labels of one group: in simulations,
    labels under such a limit were worth less than plain ones. To label less, lower
    ``sample.max_labels``; to watch one large group, add a monitor with ``source.where``.

    ``released`` marks flagged items that were let through (1 or true, 0 or false), if the model
    prevents the outcome of all others, such as of a blocked payment. ``source.released_with`` is
    the probability of release. Passed items need no mark.

    ``weight`` is the amount of each item, such as money or views. Items are then drawn in
    proportion to it, and all metrics, sizes and limits are by amount. To count items as well, add
    another monitor, for example in a ``for_each`` block. A change of this column starts a new
    history.
    """

    id: str
    time: str
    score: str | None = None
    predicted: str | None = None
    model_version: str | None = None
    show: Show = ()
    segments: Annotated[tuple[str, ...], Field(max_length=10)] = ()
    released: str | None = None
    group: str | None = None
    weight: str | None = None

    @model_validator(mode="after")
    def _segments_are_groups(self) -> Columns:
        for name in ("id", "time", "score", "released", "weight"):
            if getattr(self, name) in self.segments:
                message = (
                    f"{getattr(self, name)!r} is the {name} column; a segment is a "
                    "column with few values, such as a country"
                )
                raise SettingRefused(setting="segments", why=message)
        _refuse_repeated(self.segments, "segments", "name each column once")
        return self

    @model_validator(mode="after")
    def _groups_hold_items(self) -> Columns:
        for name in ("id", "time", "score", "predicted", "model_version", "released"):
            if self.group is not None and getattr(self, name) == self.group:
                message = (
                    f"{self.group!r} is the {name} column; a group is what several items belong "
                    "to, such as a user or a campaign"
                )
                raise SettingRefused(setting="group", why=message)
        return self

    @model_validator(mode="after")
    def _shown_blind(self) -> Columns:
        headings = [one.heading for one in listed(self.show)]
        _refuse_repeated(headings, "show", "give one of them another name")
        for name in ("score", "predicted", "model_version", "released"):
            if getattr(self, name) in self.shown:
                message = (
                    f"{getattr(self, name)!r} is the {name} column; people who see it "
                    "repeat what the model said, so remove it"
                )
                raise SettingRefused(setting="show", why=message)
        return self

    @property
    def shown(self) -> set[str]:
        """The columns that people see while labeling."""
        return {column for one in listed(self.show) for column in one.columns}


def _refuse_repeated(names: Sequence[str], setting: str, remedy: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        message = f"{repeated[0]!r} is listed twice; {remedy}"
        raise SettingRefused(setting=setting, why=message)


class TableSettings(SourceSettings):
    """Columns and the meaning of their values, for any kind of table.

    The predicted class comes either from ``columns.predicted`` (flagged if it is ``positive``) or
    from ``columns.score`` (flagged if it is at least ``threshold``). A row whose predicted value is
    neither ``positive`` nor ``negative`` is bad; if the share of bad rows exceeds
    ``bad_rows_max``, the predictions are refused.

    ``challenger`` names columns of another classifier's decisions on the same predictions, to be
    compared in each round.

    ``released_with`` is the probability in (0, 1] with which a flagged item was let through at
    random, or the column with it. Only items marked by ``columns.released`` have an outcome, so
    only these are labeled among the flagged items.

    ``kept_with`` is the probability with which a sampled log keeps a prediction, from 0.000001 to
    1: a number, one for each class (``{flagged: 1, passed: 0.1}``), or the column with it. Sizes
    are then rows divided by the probability, and intervals and evidence include the noise of this.
    A change starts a new history.

    ``timeout`` limits one reading: after it, the round waits and other monitors continue.
    ``grace`` is how long a round waits, from its first attempt, for predictions that are missing or
    unusable; after that it is abandoned, with a notice. A round never waits beyond the next slot.
    By default, ``grace`` is a quarter of the window, and at least 6 hours.
    """

    columns: Columns
    time_zone: TimeZone | None = None
    where: dict[str, Values] = Field(default_factory=dict)
    positive: Values = _YES
    negative: Values | None = None
    challenger: Challenger | None = None
    released_with: Annotated[float, Field(gt=0, le=1)] | str | None = None
    kept_with: LogSampling | None = None

    @model_validator(mode="after")
    def _released_at_random(self) -> TableSettings:
        columns, probability = self.columns, self.released_with
        if columns.released is not None and probability is None:
            message = (
                "an outcome that the model prevented is not observable, and without the "
                "probability of release precision cannot be estimated from the released items; "
                "give the probability or its column, or leave out columns.released and have "
                "people judge the flagged items"
            )
            raise SettingRefused(setting="released_with", why=message)
        if columns.released is None and probability is not None:
            message = "it needs columns.released: the column that marks the items let through"
            raise SettingRefused(setting="released_with", why=message)
        used = {columns.id, columns.time, columns.score, columns.predicted, columns.released}
        if isinstance(probability, str) and probability in {*used, *columns.segments}:
            message = f"{probability!r} holds something else; name the column of probabilities"
            raise SettingRefused(setting="released_with", why=message)
        if isinstance(probability, str) and probability in columns.shown:
            message = f"{probability!r} is also in columns.show, where it reveals what was flagged"
            raise SettingRefused(setting="released_with", why=message)
        return self

    @model_validator(mode="after")
    def _logged_at_random(self) -> TableSettings:
        columns, sampling = self.columns, self.kept_with
        if sampling is None:
            return self
        for setting, other in (
            ("columns.released", columns.released),
            ("challenger", self.challenger),
        ):
            if other is not None:
                message = f"it cannot be combined with source.{setting} yet; remove one of them"
                raise SettingRefused(setting="kept_with", why=message)
        used = {columns.id, columns.time, columns.score, columns.predicted, *columns.segments}
        if isinstance(sampling, str) and sampling in used:
            message = f"{sampling!r} holds something else; name the column of probabilities"
            raise SettingRefused(setting="kept_with", why=message)
        if isinstance(sampling, str) and sampling in columns.shown:
            message = f"{sampling!r} is also in columns.show, where it reveals what was flagged"
            raise SettingRefused(setting="kept_with", why=message)
        return self

    @model_validator(mode="after")
    def _amounts_are_alone(self) -> TableSettings:
        columns, weight = self.columns, self.columns.weight
        if weight is None:
            return self
        others = {
            "columns.released": columns.released,
            "columns.group": columns.group,
            "challenger": self.challenger,
            "kept_with": self.kept_with,
        }
        for setting, other in others.items():
            if other is not None:
                message = f"it cannot be combined with source.{setting} yet; remove one of them"
                raise SettingRefused(setting="columns.weight", why=message)
        for name in ("id", "time", "score", "predicted", "model_version"):
            if weight == getattr(columns, name):
                message = f"{weight!r} is the {name} column; name the column of amounts"
                raise SettingRefused(setting="columns.weight", why=message)
        return self

    @model_validator(mode="after")
    def _challenger_is_another(self) -> TableSettings:
        challenger, columns = self.challenger, self.columns
        if challenger is None:
            return self
        if challenger.column in columns.shown:
            message = (
                f"{challenger.column!r} is also in columns.show; people who see it repeat what the "
                "challenger said, so remove it there"
            )
            raise SettingRefused(setting="challenger", why=message)
        own = (columns.predicted or columns.score, self.threshold)
        if (challenger.column, challenger.threshold) == own:
            message = "it flags by the classifier's own rule; name another column or threshold"
            raise SettingRefused(setting="challenger", why=message)
        return self

    @model_validator(mode="after")
    def _one_rule_for_the_class(self) -> TableSettings:
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
    def _values_name_classes(self) -> TableSettings:
        by_challenger = self.challenger is not None and self.challenger.predicted is not None
        lists = {"positive": self.positive, "negative": self.negative}
        if self.columns.predicted is None and not by_challenger:
            for name in [each for each in lists if each in self.model_fields_set]:
                message = f"{name} needs columns.predicted: the column whose value it is"
                raise ValueError(message)
        lists |= {f"where.{column}": values for column, values in self.where.items()}
        for name, values in lists.items():
            if values == ():
                message = "an empty list matches nothing; name a value or more"
                raise SettingRefused(setting=name, why=message)
        both = set(all_texts(self.positive)) & set(all_texts(self.negative or ()))
        if both:
            message = f"{min(both)!r} is also in positive; a value means one of them"
            raise SettingRefused(setting="negative", why=message)
        return self

    @property
    def has_truths(self) -> bool:
        """Whether a column labeler can read labels from this source."""
        return True

    @property
    def challenged_by(self) -> Challenger | None:
        """The challenger, whose decisions are in the same rows."""
        return self.challenger

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """Headings of the shown columns."""
        return tuple(one.heading for one in listed(self.columns.show))

    def why_no_judge(self, judge: Judge) -> str | None:
        """Explain why a judge's column cannot be used; None if it can."""
        columns = self.columns
        if judge.column in columns.shown:
            return (
                f"{judge.column!r} is also in source.columns.show; people who see it repeat what "
                "the judge said, so remove it there"
            )
        for name in ("id", "time", "score", "predicted", "model_version"):
            if judge.column == getattr(columns, name):
                return f"{judge.column!r} is the {name} column; a judge is another opinion"
        if set(all_texts(judge.positive or ())) & set(all_texts(judge.negative or ())):
            return "a value is both in positive and in negative; it means one of them"
        return None

    @property
    def negatives(self) -> tuple[str, ...]:
        """Texts that mean not flagged: by default 0 and false, or 1 and true if 0 is positive."""
        if self.negative is not None:
            return tuple(all_texts(self.negative))
        positives = set(all_texts(self.positive))
        usual = _YES if positives <= set(all_texts(_NO)) else _NO
        return tuple(text for text in all_texts(usual) if text not in positives)

    @property
    def unit_of_times(self) -> str | None:
        """Unit of a numeric time column; None if times cannot be numbers."""
        return None

    @property
    def table_setting(self) -> str:
        """Name of the setting for the table."""
        return "table"

    @property
    def has_scores(self) -> bool:
        """Whether there is a column of scores."""
        return self.columns.score is not None

    @property
    def id_column(self) -> str:
        """Name of the column of ids."""
        return self.columns.id


class QueriedSettings(TableSettings):
    """Columns and the meaning of their values, for tables whose times may be numbers.

    ``time_unit`` is the unit of a numeric time column, which counts from 1970 (UTC). ``time_zone``
    is the zone of times that have none.
    """

    time_unit: Literal["seconds", "milliseconds", "microseconds"] | None = None

    @property
    def unit_of_times(self) -> str | None:
        """Unit of a numeric time column."""
        return self.time_unit


def _address(value: str) -> str:
    if re.match(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://.", value):
        return value if value.startswith("sqlite") else one_at(value)
    message = (
        "this is not the address of a database; write sqlite:///FILE, "
        "postgresql+psycopg://${DB_USER}:${DB_PASSWORD}@HOST/DATABASE or another address that "
        "SQLAlchemy takes"
    )
    raise ValueError(message)


class SqlSettings(QueriedSettings):
    """Predictions in a table of a database.

    ``url`` is a database address for SQLAlchemy; the file of ``sqlite:///FILE`` is relative to the
    config. ``table`` is a table or view, as ``name`` or ``schema.name``.
    """

    kind: Literal["sql"] = "sql"
    url: Annotated[str, AfterValidator(_address), Field(repr=False)]  # may hold a password
    table: Annotated[str, Field(min_length=1)]


class DuckdbSettings(TableSettings):
    """Predictions in files.

    A score equal to the threshold rounded to 32 bits counts as equal to the threshold, as in a
    model with 32-bit scores.

    Files may have their columns in different orders and with different types. If they mix numbers,
    texts, booleans, or times with and without a zone, the values of each file are read by its own
    types. A folder ``name=value`` is a column (text or a day) of files without such a column.
    """

    kind: Literal["duckdb"] = "duckdb"
    path: str | tuple[str, ...]
    table: str | None = None

    @model_validator(mode="after")
    def _files_are_readable_kinds(self) -> DuckdbSettings:
        check_table(kind_of(self.paths), self.table)
        return self

    @property
    def has_truths(self) -> bool:
        """Always False: a column labeler reads labels in files by its own path."""
        return False

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, even if there is only one."""
        return (self.path,) if isinstance(self.path, str) else self.path
