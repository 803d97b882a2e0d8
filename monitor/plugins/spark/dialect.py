"""Spark's SQL: the words, names and texts that its statements are written with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import String, TypeDecorator, types
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import IdentifierPreparer

from monitor.sources.sql_words import WORDS, written

if TYPE_CHECKING:
    from sqlalchemy import BindParameter, ColumnElement
    from sqlalchemy.sql import Executable

_TEXT = "collate(cast({0} as string), 'UTF8_BINARY')"
SPARK = replace(
    WORDS["databricks"],
    text=_TEXT,
    id_text=f"case when instr({_TEXT}, char(0)) > 0 "
    f"then replace({_TEXT}, char(0), concat(char(92), 'x00')) else {_TEXT} end",
    begin=(),
)
"""As Databricks has them; a text compares by its bytes whatever its column's collation says."""

_INSTANT_TEXT = (
    "concat(cast(timestampadd(microsecond, unix_micros({0}), timestamp_ntz'1970-01-01 00:00:00') "
    "as string), '+00')"
)


class CompiledSpark(TypeDecorator[Any]):
    """A bound text that the engine reads as a type, whatever the time zone of its session."""

    impl = String
    cache_ok = True

    def __init__(self, spelled: str) -> None:
        super().__init__()
        self.spelled = spelled

    def bind_expression(self, bindparam: BindParameter[Any]) -> ColumnElement[Any]:
        """Write the cast around a bound value."""
        return written(f"cast({{0}} as {self.spelled})", bindparam, self)


class _Backticks(IdentifierPreparer):
    def __init__(self, dialect: DefaultDialect) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`")

    def quote(self, ident: str, force: Any = None) -> str:  # noqa: ARG002  as SQLAlchemy has it
        return self.quote_identifier(ident)


class _Dialect(DefaultDialect):
    name = "spark"
    default_paramstyle = "qmark"
    supports_native_boolean = True
    supports_statement_cache = False
    preparer: Any = _Backticks


_DIALECT = _Dialect()


def compiled(statement: Executable) -> tuple[str, list[Any]]:
    """Write a statement as Spark reads it, with its values in their order."""
    made: Any = statement.compile(  # type: ignore[attr-defined]
        dialect=_DIALECT, compile_kwargs={"render_postcompile": True}
    )
    values = made.construct_params()
    return str(made), [values[name] for name in made.positiontup or ()]


def type_of(spelled: str) -> types.TypeEngine[Any]:
    """Give the type of a column by what Spark calls it."""
    if spelled.startswith("decimal("):
        precision, scale = (int(part) for part in spelled[8:-1].split(","))
        return types.Numeric(precision, scale)
    if spelled.startswith(("string", "varchar(", "char(")):
        return types.String()
    return _TYPES.get(spelled, types.NullType)()


_TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "tinyint": types.SmallInteger,
    "smallint": types.SmallInteger,
    "int": types.Integer,
    "bigint": types.BigInteger,
    "float": types.Float,
    "double": types.Double,
    "boolean": types.Boolean,
    "binary": types.LargeBinary,
    "date": types.Date,
    "timestamp": types.TIMESTAMP,
    "timestamp_ntz": types.DateTime,
}


def instant_text(instant: ColumnElement[Any]) -> ColumnElement[Any]:
    """Write an instant as text in UTC, as files show it, whatever the session's time zone."""
    return written(_INSTANT_TEXT, instant)
