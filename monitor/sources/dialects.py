"""SQL dialects: the few expressions of a draw that databases write differently.

In each template, ``{0}`` is replaced by one expression. The defaults of `Dialect` are standard SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, ColumnElement, String, TypeDecorator
from sqlalchemy import Dialect as EngineDialect
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import IdentifierPreparer
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from sqlalchemy.sql import Executable
    from sqlalchemy.types import TypeEngine


@dataclass(frozen=True, slots=True)
class Dialect:
    """Templates and properties of one database.

    text: A value as text, compared character by character regardless of its collation.
    id_text, uuid, boolean: The same for an id, a UUID and a boolean (or bit); empty means ``text``.
    md5: The md5 of a text's UTF-8 bytes, as lower-case hex.
    double: A number as 64-bit floating point.
    nan, infinite: Whether a number is NaN or infinite; empty if the database has no such numbers.
    ends: The first and the last character of a text; empty if texts cannot be compared with all
        `BLANKS`, so that predictions are not joined with a truth.
    bare: An id without the `BLANKS` around it; empty if only ids without blanks can be joined.
    length: Zero for an empty text, and only for one.
    start: The beginning of a text, which distinguishes segments.
    random: An expression of an id that orders ids at random; empty if none is cheap.
    greatest: The function for the greatest of several values; empty if monitors cannot share a
        reading.
    begin: Statements that begin a read-only transaction with one state and a time limit for
        statements: ``%(seconds)g`` or ``%(ms)d``, as `sqlalchemy.DDL` fills them.
    sees_one_state: Whether this transaction has one state; else rows are recounted after the draw.
    aware, naive_utc: Names of column types for instants, and of types whose values are in UTC
        without a zone.
    has_booleans: Whether booleans are a separate type, not numbers.
    has_types: Whether a column only has values of its type.
    has_one_charset: Whether every text can be compared with every text column.
    """

    text: str = "cast({0} as varchar)"
    id_text: str = ""
    uuid: str = ""
    boolean: str = ""
    md5: str = "md5({0})"
    double: str = "cast({0} as double)"
    nan: str = ""
    infinite: str = ""
    ends: tuple[str, ...] = ("left({0}, 1)", "right({0}, 1)")
    bare: str = ""
    length: str = "length({0})"
    start: str = "substr({0}, 1, 100)"
    random: str = ""
    greatest: str = "greatest"
    begin: tuple[str, ...] = ()
    sees_one_state: bool = False
    aware: frozenset[str] = frozenset()
    naive_utc: frozenset[str] = frozenset()
    has_booleans: bool = True
    has_types: bool = True
    has_one_charset: bool = True

    def hashing_bytes(self) -> Dialect:
        """Return the dialect for a PostgreSQL whose texts are not stored as UTF-8."""
        return replace(self, ends=(), md5="md5(convert_to({0}, 'UTF8')) collate \"C\"")


@dataclass(frozen=True, slots=True)
class Reading:
    """An open transaction, and the dialect of its database.

    ``connection`` is SQLAlchemy's, or an object that executes its statements in another engine.
    """

    connection: Any
    dialect: Dialect


_POSTGRESQL = Dialect(
    text='cast({0} as text) collate "C"',
    md5='md5({0}) collate "C"',
    double="cast({0} as double precision)",
    nan="{0} = 'NaN'::float8",
    infinite="{0} in ('Infinity'::float8, '-Infinity'::float8)",
    begin=(
        "set transaction isolation level repeatable read, read only",
        "set local statement_timeout = %(ms)d",
        "set local time zone 'UTC'",
        "set local datestyle = 'ISO'",  # the text of dates, which `where` and classes may name
        # The planner expects as many groups as rows for an expression, and would sort all rows.
        "set local enable_sort = off",
        "set local jit = off",  # every process of a parallel scan would repeat it
    ),
    sees_one_state=True,
)


def _mysql(collation: str, limit: str) -> Dialect:
    """Return the dialect of MySQL or MariaDB; ``collation`` must be one that compares spaces."""
    text = f"convert({{0}} using utf8mb4) collate {collation}"
    visible = "char(0 using utf8mb4), concat(char(92 using utf8mb4), 'x00')"
    return Dialect(
        text=text,
        id_text=f"replace({text}, {visible})",
        boolean=f"convert(({{0}} + 0) using utf8mb4) collate {collation}",
        double="({0} + 0e0)",
        begin=(
            "set session time_zone = '+00:00'",
            "set session transaction isolation level repeatable read",
            f"set session {limit}",
            "start transaction with consistent snapshot, read only",
        ),
        sees_one_state=True,
        naive_utc=frozenset({"TIMESTAMP"}),
        has_booleans=False,
        has_one_charset=False,
    )


_BY_POSITION = ("substr({0}, 1, 1)", "substr({0}, -1, 1)")

# The number 7.0 must equal the 7 of another row, or of the same column elsewhere.
_SQLITE_TEXT = (
    "cast(case when typeof({0}) = 'real' and {0} = cast({0} as integer) "
    "then cast({0} as integer) else {0} end as text) collate binary"
)

DIALECTS = {
    "postgresql": _POSTGRESQL,
    "mariadb": _mysql("utf8mb4_nopad_bin", "max_statement_time = %(seconds)g"),
    "sqlite": Dialect(
        text=_SQLITE_TEXT,
        id_text=f"case when instr({_SQLITE_TEXT}, char(0)) > 0 "
        f"then monitor_visible({_SQLITE_TEXT}) else {_SQLITE_TEXT} end",
        md5="monitor_md5({0})",
        greatest="max",
        double="case when typeof({0}) in ('real', 'integer') then cast({0} as real) end",
        infinite="{0} in (9e999, -9e999)",
        ends=_BY_POSITION,
        begin=("pragma query_only = on", "begin"),
        sees_one_state=True,
        has_booleans=False,
        has_types=False,
    ),
    # For the following, tests translate statements by sqlglot and execute them on DuckDB.
    "mysql": _mysql("utf8mb4_0900_bin", "max_execution_time = %(ms)d"),
    "redshift": replace(
        _POSTGRESQL,
        text="cast({0} as varchar(65535))",
        boolean="case {0} when true then 'true' when false then 'false' end",
        md5="md5({0})",
        begin=("set transaction read only", "set statement_timeout to %(ms)d"),
    ),
    "mssql": Dialect(
        text="cast(cast({0} as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 "
        "as varchar(8000))",
        uuid="lower(cast(cast({0} as nvarchar(4000)) collate Latin1_General_100_BIN2_UTF8 "
        "as varchar(8000)))",
        md5="lower(convert(varchar(32), hashbytes('MD5', {0}), 2))",
        double="cast({0} as float)",
        length="datalength({0})",
        start="left({0}, 100)",
        greatest="",  # since 2022 only, and cases are nested ten deep at most
        begin=("set transaction isolation level snapshot",),
        sees_one_state=True,
        aware=frozenset({"DATETIMEOFFSET"}),
        has_booleans=False,
    ),
    "snowflake": Dialect(
        text="collate(cast({0} as varchar), '')",
        nan="{0} = 'NaN'::float",
        infinite="{0} in ('inf'::float, '-inf'::float)",
        begin=("alter session set statement_timeout_in_seconds = %(seconds)g, timezone = 'UTC'",),
        aware=frozenset({"TIMESTAMP_TZ", "TIMESTAMP_LTZ"}),
    ),
    "bigquery": Dialect(
        text="cast({0} as string)",
        md5="to_hex(md5({0}))",
        double="cast({0} as float64)",
        nan="is_nan({0})",
        infinite="is_inf({0})",
        aware=frozenset({"TIMESTAMP"}),
    ),
    "databricks": Dialect(
        text="cast({0} as string)",
        nan="isnan({0})",
        infinite="{0} in (double('infinity'), double('-infinity'))",
        begin=("set statement_timeout = %(seconds)g", "set time zone 'UTC'"),
        aware=frozenset({"TIMESTAMP"}),
    ),
    "trino": Dialect(
        ends=_BY_POSITION,
        md5="lower(to_hex(md5(to_utf8({0}))))",
        nan="is_nan({0})",
        infinite="is_infinite({0})",
        begin=("set session query_max_run_time = '%(seconds)gs'",),
    ),
}
"""Dialects by the name of SQLAlchemy's dialect."""


def dialect_of(engine: EngineDialect) -> Dialect | None:
    """Return the dialect of a database; None if it is not supported."""
    is_mariadb = getattr(engine, "is_mariadb", False)
    return DIALECTS.get("mariadb" if is_mariadb else engine.name)


class Written(FunctionElement[Any]):
    """An expression from a template of `Dialect`."""

    inherit_cache = False

    def __init__(self, template: str, operand: ColumnElement[Any], kind: TypeEngine[Any]) -> None:
        self.template = template
        self.type = kind
        super().__init__(operand)


@compiles(Written)
def _written(element: Written, compiler: Any, **options: Any) -> str:
    [operand] = element.clauses
    return element.template.replace("{0}", compiler.process(operand, **options))


def written(template: str, operand: Any, kind: TypeEngine[Any] | None = None) -> ColumnElement[Any]:
    """Return an expression from a template; its default type is text."""
    return Written(template, operand, kind or String())


class Typed(TypeDecorator[Any]):
    """A bound value that the engine casts to a type, regardless of its session's time zone."""

    impl = String
    cache_ok = True

    def __init__(self, spelled: str) -> None:
        super().__init__()
        self.spelled = spelled

    def bind_expression(self, bindparam: BindParameter[Any]) -> ColumnElement[Any]:
        """Write the cast around a bound value."""
        return written(f"cast({{0}} as {self.spelled})", bindparam, self)


class _Quoting(IdentifierPreparer):
    def quote(self, ident: str, force: Any = None) -> str:  # noqa: ARG002  as SQLAlchemy has it
        return self.quote_identifier(ident)


class TextDialect(DefaultDialect):
    """Compiles statements for an engine that accepts text and values; quotes every name."""

    default_paramstyle = "qmark"
    supports_native_boolean = True
    supports_statement_cache = False

    def __init__(self, name: str, quote: str) -> None:
        super().__init__()
        self.name = name
        self.identifier_preparer = _Quoting(self, initial_quote=quote, escape_quote=quote)

    def compiled(self, statement: Executable) -> tuple[str, list[Any]]:
        """Return the text of a statement, and its values in order."""
        made: Any = statement.compile(  # type: ignore[attr-defined]
            dialect=self, compile_kwargs={"render_postcompile": True}
        )
        values = made.construct_params()
        return str(made), [values[name] for name in made.positiontup or ()]
