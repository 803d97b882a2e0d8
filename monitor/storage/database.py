"""Connections and transactions on SQLite and PostgreSQL."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from monitor.domain.errors import ConfigRefused, StoreUnavailable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from sqlalchemy import Connection, CursorResult

_WRITES = "monitor_writes"


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


def new_id(added: CursorResult[Any]) -> int:
    """Id that the database gave to the inserted row."""
    key = added.inserted_primary_key
    if key is None:
        message = "one row must be inserted to have an id"
        raise AssertionError(message)
    return int(key[0])


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
        with self._said(), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(  # noqa: PLW2901
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except OperationalError as error:
            cause = str(error.orig).strip().splitlines()[0]
            message = (
                f"the store {self.shown} cannot be used now: {cause}. Nothing changed, or it is "
                "unknown whether it did; running again is safe"
            )
            raise StoreUnavailable(message) from error
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            message = f"the store {self.shown} closed the connection; running again is safe"
            raise StoreUnavailable(message) from error


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
            "journal_mode=WAL",
            "busy_timeout=30000",
            "synchronous=NORMAL",
            "foreign_keys=ON",
        ):
            connection.execute(f"pragma {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A deferred transaction that reads and then writes fails at once when another writes.
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
