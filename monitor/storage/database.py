"""Connections and transactions on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    Select,
    Table,
    cast,
    create_engine,
    delete,
    event,
    func,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
    PendingRollbackError,
)
from sqlalchemy.exc import TimeoutError as NoneFree
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from monitor.domain.crashpoint import crashpoint
from monitor.domain.errors import ConfigRefused, InputRefused, MonitorError, StoreUnavailable
from monitor.domain.extras import install_command
from monitor.domain.masking import masked, secrets_of
from monitor.storage.closed_path import ClosedPath, closed_path

Of = TypeVar("Of")
Id = TypeVar("Id", int, str)

_WRITES = "monitor_writes"
_ONLY_READS = "monitor_only_reads"  # current mode of a connection
_INSERTS: dict[str, Callable[[Table], sqlite.Insert | postgresql.Insert]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}
_BEGIN_WRITING = "BEGIN IMMEDIATE"  # takes SQLite's write lock before anything is read
_LOCK_MS = 30_000  # longer than any transaction should take
_TURN_AWAY_S = 0.01  # between two tries to switch the log on
_IDLE_MS = 60_000
"""Longest idle time in a transaction, so that a stopped process does not block others for ever."""
PRIVATE = 0o660
"""Mode of a store's file and its copies, before the umask: they contain texts of other people."""

_CLOSED = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY})
_PRIMARY_CODE = 0xFF  # mask for SQLite's primary error code; higher bits have details
_CHUNK = 500  # Bound values of a statement, under every database's limit
_NOT_ALLOWED = "42501"  # PostgreSQL's code for a privilege that is missing
_CLOSED_UNDER_US = "closed database"
_READ_ONLY = "25006"  # its code for a write to a standby


def chunks(ids: Sequence[Id]) -> Iterator[Sequence[Id]]:
    """Split ids into parts that one statement can bind."""
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]


def in_chunks(
    connection: Connection,
    ids: Sequence[Id],
    read: Callable[[Connection, Sequence[Id]], Mapping[Id, Of]],
) -> dict[Id, Of]:
    """Call ``read`` with chunks of the ids and merge its results."""
    result: dict[Id, Of] = {}
    for some in chunks(ids):
        result.update(read(connection, some))
    return result


class clock_ms(FunctionElement[int]):  # noqa: N801  reads as the SQL function it stands for
    """The database's clock in milliseconds since 1970, which times all claims."""

    type = BigInteger()
    inherit_cache = True


@compiles(clock_ms, "sqlite")
def _sqlite_clock(*_: Any, **__: Any) -> str:
    return "cast((julianday('now') - 2440587.5) * 86400000 as integer)"


@compiles(clock_ms, "postgresql")
def _postgresql_clock(*_: Any, **__: Any) -> str:
    return "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)"


def listed(connection: Connection, texts: Sequence[str]) -> Select[tuple[str]]:
    """Return a query of texts, for use with IN; it binds one value for any number of texts."""
    if connection.dialect.name == "sqlite":
        rows: Any = func.json_each(json.dumps(list(texts))).table_valued("value")
    else:
        rows = func.json_array_elements_text(cast(list(texts), JSON)).table_valued("value")
    return select(rows.c.value)


def change(connection: Connection, table: Table, *which: ColumnElement[bool], **values: Any) -> int:
    """Update the rows that meet all conditions; returns their number."""
    return connection.execute(update(table).where(*which).values(**values)).rowcount


def remove(connection: Connection, table: Table, *which: ColumnElement[bool]) -> int:
    """Delete the rows that meet all conditions; returns their number."""
    return connection.execute(delete(table).where(*which)).rowcount


def insert_all(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows, if there are any."""
    if written := list(rows):
        connection.execute(table.insert(), written)


def insert_some(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows; raises `ValueError` if there are none, which would be a bug."""
    if not (written := list(rows)):
        message = f"there are no rows for {table.name}"
        raise ValueError(message)
    connection.execute(table.insert(), written)


def insert_all_new(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]
) -> list[int]:
    """Insert the rows whose unique keys are new, and return their ids."""
    insert = _INSERTS[connection.dialect.name](table)
    added = insert.on_conflict_do_nothing().returning(table.c.id)
    return [int(scalar) for scalar in connection.execute(added, list(rows)).scalars()]


def add_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows in this order, except those whose unique key exists."""
    if rows:
        insert = _INSERTS[connection.dialect.name](table)
        connection.execute(insert.on_conflict_do_nothing(), list(rows))


def put_all(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, or update existing rows with the same primary key."""
    insert = _INSERTS[connection.dialect.name](table)
    keys = table.primary_key.columns.keys()
    others = {name: insert.excluded[name] for name in rows[0] if name not in keys}
    written = insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=others)
    connection.execute(written, list(rows))


class Database:
    """A store: opens transactions, and converts database errors to errors of this package."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        self._secrets = secrets_of({"url": url})
        engine_url = self.engine.url
        address = (
            f"sqlite:///{engine_url.database}" if self.is_sqlite else engine_url.render_as_string()
        )
        self.shown = masked(address, self._secrets)

    @property
    def is_sqlite(self) -> bool:
        """Whether the store is one file on this machine."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Run one transaction that may write."""
        with self._error_text(), self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})  # noqa: PLW2901
            crashpoint("begin")
            with connection.begin():
                yield connection
                crashpoint("commit")
            crashpoint("committed")

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Run one read-only transaction with a consistent view of the store."""
        options: dict[str, Any] = (
            {_WRITES: False}
            if self.is_sqlite
            else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        )
        with self._error_text(), self.engine.connect() as connection:
            connection = connection.execution_options(**options)  # noqa: PLW2901
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _error_text(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            answer = self._sentence(error)
            if answer is None:
                raise
            raise answer from error
        except PendingRollbackError as error:  # the connection was lost in the transaction
            cause = "the connection was lost"
            raise self._unavailable(cause) from error
        except NoneFree as error:  # of the pool, which waits half a minute
            cause = "all connections to it are in use"
            raise self._unavailable(cause) from error

    def _unavailable(self, cause: str, outcome: str = "Nothing changed") -> StoreUnavailable:
        return StoreUnavailable(
            f"the store {self.shown} cannot be used now: {cause}. {outcome}; running again is safe"
        )

    def _sentence(self, error: DBAPIError) -> MonitorError | None:
        """Convert a database error to an error for people; None if it is a bug of this program."""
        first = (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
        cause = masked(first, self._secrets)
        if isinstance(error, DataError):
            return InputRefused(f"the store {self.shown} cannot hold a value: {cause}")
        if getattr(error.orig, "sqlstate", None) == _NOT_ALLOWED:
            return ConfigRefused(
                f"the store {self.shown} does not let this user do it: {cause}. Its user must own "
                "the database, or may use and create in its schema"
            )
        if self.is_sqlite and (fault := self._fault_of_path(error, cause)):
            return fault
        if _is_outage(error):
            return self._unavailable(cause, "Nothing changed, or it is unknown whether it did")
        return None

    def _fault_of_path(self, error: DBAPIError, cause: str) -> MonitorError | None:
        if folder := self._missing_folder():
            return ConfigRefused(f"store: there is no folder {folder}; make it or change the path")
        if closed := self._closed_path(error):
            return self._closed(closed, cause)
        if type(error) is DatabaseError:
            return ConfigRefused(
                f"store: {self.shown} cannot be read as a store: {cause}. Name another file, or "
                "move this one away if it is not a store"
            )
        return None

    def _closed(self, closed: ClosedPath, cause: str) -> MonitorError:
        """Convert a path that cannot be written to an error; a read-only disk is temporary."""
        if closed.is_disk:
            return self._unavailable(f"{closed.path} is on a disk that takes no writes ({cause})")
        if closed.is_permission:
            return ConfigRefused(
                f"store: this user may not write {closed.path}: {cause}. A store is written by all "
                "who use it, in its file and next to it: let this user write both, or name another "
                "place"
            )
        return ConfigRefused(
            f"store: {closed.path} cannot be written: {closed.reason}. Name a file in a folder "
            "that this user may write"
        )

    def _missing_folder(self) -> Path | None:
        if (self.engine.url.database or "").startswith("file:"):
            return None
        folder = Path(self.engine.url.database or "").parent
        return None if folder.is_dir() else folder

    def _closed_path(self, error: DBAPIError) -> ClosedPath | None:
        """Return the path that cannot be written, if this is SQLite's error."""
        code = getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY_CODE
        name = self.engine.url.database or ""
        return None if code not in _CLOSED or name.startswith("file:") else closed_path(Path(name))


def _is_outage(error: DBAPIError) -> bool:
    """Whether an error comes from the database, its driver or the network; includes lock errors.

    Errors of our statements (programming, integrity, not supported) do not count, unless the
    connection was closed meanwhile, as reported by SQLite's driver.
    """
    state = getattr(error.orig, "sqlstate", None)
    return (
        isinstance(error, OperationalError | InternalError | InterfaceError)
        or error.connection_invalidated
        or state == _READ_ONLY
        or _CLOSED_UNDER_US in str(error.orig)
    )


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
        # A pre-ping finds connections that a restart of the server cut, before a step uses them.
        engine = create_engine(
            url, pool_pre_ping=True, hide_parameters=True, connect_args={"connect_timeout": 10}
        )
    except ModuleNotFoundError as error:
        message = f"store: PostgreSQL needs its driver: {install_command('postgres')}"
        raise ConfigRefused(message) from error

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # For each transaction, since a pooler may give every one another session.
        if connection.get_execution_options().get(_WRITES):
            connection.exec_driver_sql(
                f"set local lock_timeout = {_LOCK_MS}; "
                f"set local idle_in_transaction_session_timeout = {_IDLE_MS}"
            )

    return engine


def _sqlite_engine(url: str) -> Engine:
    engine = create_engine(url, hide_parameters=True)  # keeps texts of other people out of logs

    @event.listens_for(engine, "do_connect")
    def _private(*_: object) -> None:
        # SQLite would create a file that everybody may read. Opening the store reports problems
        # with its path.
        path = engine.url.database or ":memory:"
        if not path.startswith((":", "file:")):
            with suppress(OSError):
                Path(path).touch(mode=PRIVATE, exist_ok=False)

    @event.listens_for(engine, "connect")
    def _settings(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # _begin starts the transactions
        for pragma in (
            f"busy_timeout={_LOCK_MS}",  # first, since the others may have to wait
            "synchronous=FULL",  # a power cut takes nothing that was committed
            "foreign_keys=ON",
            "secure_delete=ON",  # deleted texts are overwritten, not left in free pages
        ):
            connection.execute(f"pragma {pragma}").close()
        _log_prefix(connection)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A deferred transaction that reads and then writes fails at once while another writes. So
        # writing transactions take the lock at their start, and reading ones cannot write.
        writes = connection.get_execution_options().get(_WRITES)
        if connection.info.get(_ONLY_READS, False) is not (writes is False):
            connection.exec_driver_sql(f"pragma query_only={'ON' if writes is False else 'OFF'}")
            connection.info[_ONLY_READS] = writes is False
        connection.exec_driver_sql(_BEGIN_WRITING if writes else "BEGIN")

    return engine


def _log_prefix(connection: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log, so that readers do not block a writer.

    SQLite refuses this at once, regardless of its timeout, while another writes to a new file.
    """
    give_up = time.monotonic() + _LOCK_MS / 1000
    while True:
        try:
            connection.execute("pragma journal_mode=WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(_TURN_AWAY_S)
        else:
            return
