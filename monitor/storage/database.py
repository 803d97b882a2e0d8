"""Connections and transactions on SQLite and PostgreSQL."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Engine, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DataError, DBAPIError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from monitor.domain.errors import ConfigRefused, InputRefused, StoreUnavailable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Table

    from monitor.domain.errors import MonitorError

_WRITES = "monitor_writes"
_INSERTS: dict[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_NOT_ALLOWED = "42501"  # PostgreSQL's code for a privilege that is missing


class clock_ms(FunctionElement[int]):  # noqa: N801  reads as the SQL function it stands for
    """The database's own clock in milliseconds since 1970, as all claims are timed by it."""

    type = BigInteger()
    inherit_cache = True


@compiles(clock_ms, "sqlite")
def _sqlite_clock(*_: Any, **__: Any) -> str:
    return "cast((julianday('now') - 2440587.5) * 86400000 as integer)"


@compiles(clock_ms, "postgresql")
def _postgresql_clock(*_: Any, **__: Any) -> str:
    return "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)"


def insert_new(connection: Connection, table: Table, **values: Any) -> int | None:
    """Insert a row and return its id; None where another row has one of its unique keys.

    Of several workers who insert the same row at once one wins, and the others are told so.
    """
    insert = _INSERTS[connection.dialect.name](table)
    added = insert.values(**values).on_conflict_do_nothing().returning(table.c.id)
    return connection.execute(added).scalar()


class Database:
    """One store: opens transactions and says in a sentence why one cannot be had.

    Raises
    ------
    ConfigRefused
        If the address is malformed or names a database this store does not support.
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self.shown = self.engine.url.render_as_string(hide_password=True)

    @property
    def is_sqlite(self) -> bool:
        """Whether the store is one file on this machine."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Run one transaction that may write; all of it is kept, or nothing."""
        with self._said(), self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})  # noqa: PLW2901
            with connection.begin():
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Run one transaction that sees one state of the store and writes nothing."""
        options: dict[str, Any] = (
            {_WRITES: False}
            if self.is_sqlite
            else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        )
        with self._said(), self.engine.connect() as connection:
            connection = connection.execution_options(**options)  # noqa: PLW2901
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            said = self._sentence(error)
            if said is None:
                raise
            raise said from error

    def _sentence(self, error: DBAPIError) -> MonitorError | None:
        """Say what an error of the database means for a person; None for a bug of ours."""
        cause = (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
        if isinstance(error, DataError):
            return InputRefused(f"the store {self.shown} cannot hold a value: {cause}")
        if getattr(error.orig, "sqlstate", None) == _NOT_ALLOWED:
            return ConfigRefused(
                f"the store {self.shown} does not let this user do it: {cause}. Its user must own "
                "the database, or may use and create in its schema"
            )
        if self.is_sqlite and (folder := self._missing_folder()):
            return ConfigRefused(f"store: there is no folder {folder}; make it or change the path")
        if self.is_sqlite and type(error) is DatabaseError:
            return ConfigRefused(
                f"store: {self.shown} cannot be read as a store: {cause}. Name another file, or "
                "move this one away if it is no store"
            )
        if isinstance(error, OperationalError) or error.connection_invalidated:
            return StoreUnavailable(
                f"the store {self.shown} cannot be used now: {cause}. Nothing changed, or it is "
                "unknown whether it did; running again is safe"
            )
        return None

    def _missing_folder(self) -> Path | None:
        folder = Path(self.engine.url.database or "").parent
        return None if folder.is_dir() else folder


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        message = "store: not a database address; use sqlite:///monitor.db or postgresql+psycopg://"
        raise ConfigRefused(message) from error
    if parsed.get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    if parsed.get_backend_name() == "postgresql":
        return _postgresql_engine(url)
    message = (
        f"store: {parsed.get_backend_name()} is not supported; use sqlite:///monitor.db or "
        "postgresql+psycopg://user@host/database"
    )
    raise ConfigRefused(message)


def _postgresql_engine(url: str) -> Engine:
    if make_url(url).drivername == "postgresql":
        url = url.replace("postgresql:", "postgresql+psycopg:", 1)
    try:
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as error:
        message = "store: PostgreSQL needs its driver: pip install 'mlflow-pr-monitor[postgres]'"
        raise ConfigRefused(message) from error


def _sqlite_engine(url: str) -> Engine:
    engine = create_engine(url)

    @event.listens_for(engine, "connect")
    def _settings(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin where _begin says so
        for pragma in (
            "busy_timeout=30000",  # first, since setting the journal mode may have to wait
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
        ):
            connection.execute(f"pragma {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A deferred transaction that reads and then writes fails at once when another writes, so
        # those that write say so at their start, and those that read cannot.
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql(f"pragma query_only={'ON' if writes is False else 'OFF'}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
