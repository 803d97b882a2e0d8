"""A table of a database by reflection: types of its columns, and checks of their use."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, TableClause, column, inspect, types
from sqlalchemy import table as table_of
from sqlalchemy.exc import NoSuchTableError

from monitor.domain.errors import InputRefused, SourceRefused
from monitor.files.relations import no_column_text
from monitor.sources.sql_times import Times, aware_times, local_times, numbered_times, read_times
from monitor.sources.table_settings import TableSettings

if TYPE_CHECKING:
    from sqlalchemy.engine import Inspector
    from sqlalchemy.types import TypeEngine

    from monitor.sources.dialects import Dialect, Reading

_MOST_TABLES = 20  # that an error names
_ANY_TYPE = ("predicted", "model_version", "released", "group")
_CASTED = "cast it where it is written, or in a view that you name as the table"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table or view: its clause, and the type of each column, by reflection.

    ``place`` names it in errors, which have the type ``refused``. ``snapshot`` identifies the state
    that is read, if older ones can be read; ``omitted`` counts other content by reason.
    """

    place: str
    clause: TableClause
    types: Mapping[str, TypeEngine[Any]]
    nullable: frozenset[str]
    dialect: Dialect
    sees_one_state: bool = True
    refused: type[InputRefused] = SourceRefused
    snapshot: str | None = None
    omitted: Mapping[str, int] = field(default_factory=dict)

    def is_unchanged(self) -> bool:
        """Whether all statements so far saw one state of the table."""
        return self.sees_one_state

    @property
    def type_names(self) -> Mapping[str, str]:
        """The type of each column, for people."""
        return {name: str(kind) for name, kind in self.types.items()}

    def is_read_from_text(self, name: str) -> bool:  # noqa: ARG002  others know it by column
        """Whether a column has texts, from which times and numbers are parsed."""
        return not self.dialect.has_types

    def column(self, name: str) -> ColumnElement[Any]:
        """Return a column by its reflected name."""
        return self.clause.c[name]

    def need(self, name: str, setting: str) -> TypeEngine[Any]:
        """Return the type of a column; raises ``refused`` if it is missing."""
        if name in self.types:
            return self.types[name]
        raise self.refused(no_column_text(self.place, self.types, name, setting))

    def check(self, settings: TableSettings, shown: list[str]) -> None:
        """Raise ``refused`` if a column is missing or has an unsuitable type."""
        columns = settings.columns
        lists = {
            "columns.show": shown,
            "columns.segments": list(columns.segments),
            "where": list(settings.where),
        }
        lists |= {f"columns.{name}": [getattr(columns, name)] for name in _ANY_TYPE}
        for setting, names in lists.items():
            for name in names:
                if name is not None:
                    self.need(name, setting)
        self.check_id(columns.id, "columns.id")
        if columns.score is not None:
            self.check_number(columns.score, "columns.score")
        if columns.weight is not None:
            self.check_number(columns.weight, "columns.weight")
        for setting in ("released_with", "kept_with"):
            if isinstance(name := getattr(settings, setting), str):
                self.check_number(name, setting)

    def check_id(self, name: str, setting: str) -> None:
        """Raise ``refused`` if ids are not texts, whole numbers or UUIDs."""
        kind = self.need(name, setting)
        is_whole = isinstance(kind, types.Numeric) and kind.asdecimal and kind.scale == 0
        is_id = is_whole or isinstance(kind, types.String | types.Integer | types.Uuid)
        if self.dialect.has_types and not is_id:
            expected = f"text, whole numbers or UUIDs; {_CASTED}"
            raise self.refuse_type(name, setting, expected)

    def check_number(self, name: str, setting: str) -> None:
        """Raise ``refused`` if a column has no numbers."""
        kind = self.need(name, setting)
        is_number = isinstance(kind, types.Numeric | types.Float | types.Integer)
        if self.dialect.has_types and not is_number:
            raise self.refuse_type(name, setting, f"numbers; {_CASTED}")

    def refuse_type(self, name: str, setting: str, expected: str) -> InputRefused:
        """Return the error for a column of the wrong type."""
        message = (
            f"{self.place}: column {name!r} ({setting}) is {self.shown_type(name)}; "
            f"wanted {expected}"
        )
        return self.refused(message)

    def shown_type(self, name: str) -> str:
        """Return the type of a column for messages."""
        kind = self.types[name]
        return "of a type that is not known" if isinstance(kind, types.NullType) else str(kind)

    def times(self, settings: TableSettings, setting: str = "columns.time") -> Times | None:
        """Return how to read times; None if they lack a zone and the config has none."""
        name = settings.columns.time
        kind = self.need(name, setting)
        if not self.dialect.has_types:
            return read_times()
        if isinstance(kind, types.Numeric | types.Float | types.Integer):
            if settings.unit_of_times is None:
                expected = "times; if it counts since 1970, say in which source.time_unit"
                raise self.refuse_type(name, setting, expected)
            return numbered_times(settings.unit_of_times)
        if not isinstance(kind, types.DateTime | types.Date):
            raise self.refuse_type(name, setting, f"times; {_CASTED}")
        if getattr(kind, "timezone", False) or type(kind).__name__ in self.dialect.aware:
            return aware_times()
        if type(kind).__name__ in self.dialect.naive_utc:
            return local_times("UTC")
        return None if settings.time_zone is None else local_times(settings.time_zone)


def find_table(reading: Reading, location: str, name: str) -> TableInfo:
    """Find a table or view by ``name`` or ``schema.name``; raises `SourceRefused` if missing."""
    inspector = inspect(reading.connection)
    schema, _, last = name.rpartition(".")
    for table_schema, table in ((None, name), (schema, last)):
        if table_schema != "" and (columns := _columns(inspector, table, table_schema)):
            kinds = {one["name"]: _plain(one["type"]) for one in columns}
            typed = kinds if reading.dialect.has_types else dict.fromkeys(kinds)
            clause = table_of(
                table, *(column(*each) for each in typed.items()), schema=table_schema
            )
            nullable = frozenset(one["name"] for one in columns if one.get("nullable", True))
            stable = reading.dialect.sees_one_state and _is_transactional(
                inspector, table, table_schema
            )
            return TableInfo(location, clause, kinds, nullable, reading.dialect, stable)
    raise _no_table(inspector, location, schema or None, last)


def _columns(inspector: Inspector, table: str, schema: str | None) -> list[Any]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Did not recognize type")  # maybe of an unused column
        try:
            return inspector.get_columns(table, schema=schema)
        except NoSuchTableError:
            return []


def _plain(kind: Any) -> TypeEngine[Any]:
    """Return the base type if a type is a domain of PostgreSQL."""
    return _plain(kind.data_type) if type(kind).__name__ == "DOMAIN" else kind


def _is_transactional(inspector: Inspector, table: str, schema: str | None) -> bool:
    """Whether transactions see one state of a table; on MySQL and MariaDB, only with InnoDB."""
    if "mysql" not in inspector.dialect.__class__.__module__:
        return True
    try:
        options = inspector.get_table_options(table, schema=schema)
    except NoSuchTableError:
        return False
    return options.get(f"{inspector.dialect.name}_engine") == "InnoDB"


def _no_table(inspector: Inspector, location: str, schema: str | None, name: str) -> SourceRefused:
    tables = sorted({*inspector.get_table_names(schema), *inspector.get_view_names(schema)})
    close = difflib.get_close_matches(name, tables, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(tables[:_MOST_TABLES]) or "none"
    message = (
        f"{location}: there is no such table or view that this user may read; there are "
        f"{listed}{hint}"
    )
    return SourceRefused(message)
