"""Predictions in a table of a database, counted and drawn by the database in one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import DDL, URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool

from monitor.domain.errors import MonitorError, SourceRefused, SourceUnavailable
from monitor.domain.extras import install_command
from monitor.domain.masking import masked, secrets_of
from monitor.domain.model import Window
from monitor.domain.time_limit import stopped_by
from monitor.sources.dialects import DIALECTS, Dialect, Reading, dialect_of
from monitor.sources.sql_table import TableInfo, find_table
from monitor.sources.sql_times import instant_of, is_naive
from monitor.sources.sqlite_reading import is_closed_log, sqlite_options, unchanged, way_out
from monitor.sources.table_settings import SqlSettings
from monitor.sources.table_source import TableSource
from monitor.sources.table_truths import TableTruths

SLOW = (
    "It is tried again; an index on the time column helps, or on the id column of a truth, and "
    "source.timeout may be raised if reading takes longer"
)
"""Advice if a database takes too long."""

_TO_CONNECT = 10  # seconds
_LONGEST = 300  # characters of an error, which may quote a value
_EXTRAS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_DRIVERS = {
    "psycopg": {"connect_timeout": _TO_CONNECT, "client_encoding": "utf8"},
    "psycopg2": {"connect_timeout": _TO_CONNECT, "client_encoding": "utf8"},
    "pymysql": {"connect_timeout": _TO_CONNECT},
    "mysqldb": {"connect_timeout": _TO_CONNECT},
}

# PostgreSQL's codes are texts, those of MySQL and MariaDB numbers.
_NOT_ALLOWED = frozenset({"42501", 1044, 1045, 1142, 1143, 1698})
_TOO_SLOW = frozenset({"57014", 1969, 3024})
_MISSING = frozenset({"42P01", "42703", "3D000", 1049, 1054, 1146})
# Names of SQLite's errors, each also the beginning of more exact ones.
_CLOSED = (
    "SQLITE_CANTOPEN",
    "SQLITE_NOTADB",
    "SQLITE_PERM",
    "SQLITE_CORRUPT",
    "SQLITE_READONLY",
)


class SqlDatabase:
    """A database to read from; ``setting`` is the setting that names the table."""

    def __init__(self, settings: SqlSettings, folder: Path, setting: str) -> None:
        self._settings = settings
        self._setting = setting
        self._folder = folder
        self._url = _parsed(settings.url)
        self._engine: Engine | None = None
        self._utf8: bool | None = None
        # Options may hold a password too.
        self.shown = self._url.set(query={}).render_as_string(hide_password=True)

    def __str__(self) -> str:
        return f"{self.shown} ({self._setting} {self._settings.table})"

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Open a read-only transaction with one state of the data, and convert its errors.

        Raises `SourceUnavailable` if the database does not answer in time; `SourceRefused` if the
        user may not read, or if the table or a column does not exist.
        """
        try:
            with self._unchanged(), self.engine.connect() as connection:
                dialect = self._dialect(connection)
                limits = {"seconds": self._seconds, "ms": self._seconds * 1000}
                for statement in dialect.begin:
                    connection.execute(DDL(statement, context=limits))  # type: ignore[no-untyped-call]
                with stopped_by(_stop_of(connection)):
                    yield Reading(connection, dialect)
                connection.rollback()
        except SQLAlchemyError as error:
            raise self._as_ours(error) from None  # its text may hold the address

    @property
    def engine(self) -> Engine:
        """The engine, created on first use, since its driver may not be installed."""
        if self._engine is None:
            self._engine = self._made()
        return self._engine

    @property
    def address(self) -> str:
        """The whole address without the password; its options may contain one too."""
        return self._url.render_as_string(hide_password=True)

    @property
    def _seconds(self) -> float:
        return self._settings.timeout.total_seconds()

    def _made(self) -> Engine:
        url = self._url
        if url.get_backend_name() not in DIALECTS:
            message = (
                f"{self.shown}: {url.get_backend_name()} is not known here; known are "
                f"{', '.join(DIALECTS)}"
            )
            raise SourceRefused(message)
        if url.get_backend_name() == "sqlite":
            return self._sqlite()
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        if url.drivername in {"mysql", "mariadb"}:
            url = url.set(drivername=f"{url.drivername}+pymysql")
        options = _DRIVERS.get(url.get_driver_name(), {})
        try:
            return create_engine(
                url, poolclass=NullPool, hide_parameters=True, connect_args=options
            )
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get(url.drivername.partition("+")[0])
            command = install_command(extra) if extra else f"pip install {error.name}"
            message = f"{self.shown} needs the driver {error.name}: {command}"
            raise SourceRefused(message) from error

    @property
    def _file(self) -> Path:
        return self._folder / (self._url.database or "")

    def _unchanged(self) -> AbstractContextManager[None]:
        """Raise an error if a file that is read without a lock changes meanwhile."""
        is_sqlite = self.engine.dialect.name == "sqlite"
        return unchanged(self._file) if is_sqlite and is_closed_log(self._file) else nullcontext()

    def _sqlite(self) -> Engine:
        path = self._file
        if not path.is_file():
            message = f"{self.shown}: there is no file {path}; check source.url"
            raise SourceRefused(message, is_public=True)
        url = self._url.set(
            database=f"file:{_escaped(str(path))}",
            query=sqlite_options(self.shown, self._url.query),
        )
        engine = create_engine(url, poolclass=NullPool, hide_parameters=True)
        zone, unit = self._settings.time_zone, self._settings.time_unit

        @event.listens_for(engine, "do_connect")
        def _without_lock(_: object, __: object, arguments: list[str], ___: object) -> None:
            if is_closed_log(path):  # checked each time, as a writer may start
                arguments[0] = f"{arguments[0]}&immutable=1"

        @event.listens_for(engine, "connect")
        def _functions(connection: Any, _: object) -> None:
            connection.isolation_level = None  # `Dialect.begin` begins the transactions
            for name, function in {
                "monitor_md5": _md5,
                "monitor_time": lambda value: instant_of(value, zone, unit),
                "monitor_naive": is_naive,
                "monitor_visible": lambda text: text.replace("\0", r"\x00"),
            }.items():
                connection.create_function(name, 1, function, deterministic=True)

        return engine

    def _dialect(self, connection: Connection) -> Dialect:
        dialect = dialect_of(connection.dialect)
        if dialect is None:
            message = f"{self.shown}: {connection.dialect.name} is not known here"
            raise SourceRefused(message)
        if connection.dialect.name == "postgresql" and not self._is_utf8(connection):
            return dialect.hashing_bytes()
        return dialect

    def _is_utf8(self, connection: Connection) -> bool:
        if self._utf8 is None:
            encoding = connection.exec_driver_sql("show server_encoding").scalar()
            connection.rollback()  # `Dialect.begin` must be first in its transaction
            self._utf8 = encoding == "UTF8"
        return self._utf8

    def _as_ours(self, error: SQLAlchemyError) -> MonitorError:
        if not isinstance(error, DBAPIError):
            return SourceRefused(f"{self} cannot be read: {self._error_text(error)}")
        code, answer = _code_of(error), self._error_text(error.orig)
        if code in _NOT_ALLOWED:
            return SourceRefused(
                f"{self}: this user may not read it: {answer}. Let the user of source.url connect "
                "and select from the table; it is tried again"
            )
        if code in _TOO_SLOW or answer == "interrupted":
            return SourceUnavailable(
                f"{self} did not answer within {self._seconds:g} s: {answer}. {SLOW}"
            )
        if code in _MISSING or str(code).startswith(_CLOSED):
            to_do = way_out(self._file, str(code))
            return SourceRefused(f"{self} cannot be read: {answer}; {to_do}")
        if _is_outage(error):
            return SourceUnavailable(f"{self} cannot be read now: {answer}. It is tried again")
        return SourceRefused(f"{self} cannot be read: {answer}")

    def _error_text(self, error: BaseException | None) -> str:
        """Return the first line of an error, without secrets of the address."""
        text = error.args[1] if error is not None and _is_numbered(error) else str(error)
        line = (str(text).strip().splitlines() or [type(error).__name__])[0]
        return masked(line, secrets_of({"url": self._settings.url}))[:_LONGEST]


def _parsed(address: str) -> URL:
    try:
        return make_url(address)
    except (ArgumentError, ValueError):
        message = "source.url is not the address of a database, or its port is not a number"
        raise SourceRefused(message) from None


def _md5(text: str | None) -> str | None:
    return None if text is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _escaped(path: str) -> str:
    """Escape the special characters of a path for a file URI."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _stop_of(connection: Connection) -> Callable[[], object]:
    """Return the driver's function to stop a statement from another thread, or a no-op."""
    raw: Any = connection.connection.dbapi_connection
    return getattr(raw, "interrupt", None) or getattr(raw, "cancel", None) or (lambda: None)


def _is_numbered(error: BaseException) -> bool:
    """Whether an error is a pair of number and text, as in drivers of MySQL."""
    return len(error.args) > 1 and isinstance(error.args[0], int)


def _code_of(error: DBAPIError) -> str | int | None:
    cause = error.orig
    if cause is not None and _is_numbered(cause):
        return int(cause.args[0])
    code: str | None = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorname", None)
    return code


def _is_outage(error: DBAPIError) -> bool:
    if str(error.orig).startswith("Could not decode"):  # SQLite: of a row, which stays as it is
        return False
    outages = (OperationalError, InterfaceError, InternalError)
    return isinstance(error, outages) or error.connection_invalidated


class SqlSource(TableSource):
    """A `Source` over a table or view of a database."""

    advice = SLOW
    settings: SqlSettings

    def __init__(
        self, settings: SqlSettings, base_folder: Path | str = ".", *, setting: str | None = None
    ) -> None:
        super().__init__(settings, base_folder, setting=setting)
        self.database = SqlDatabase(settings, Path(base_folder), setting or "table")
        self.place = str(self.database)
        self.whole_location = f"{self.place} {self.database.address}"

    def opened(self, window: Window | None = None) -> AbstractContextManager[Reading]:  # noqa: ARG002
        """Open a read-only transaction with one state of the data."""
        return self.database.reading()

    def describe_table(self, reading: Reading) -> TableInfo:
        """Find the table or view by reflection."""
        return find_table(reading, self.place, self.settings.table)

    def truth_reading(
        self, reading: Reading, truths: TableTruths
    ) -> AbstractContextManager[Reading] | None:
        """Read a truth in the same transaction; None if it is in another database."""
        source = truths.source
        is_here = isinstance(source, SqlSource) and source.database.address == self.database.address
        return nullcontext(reading) if is_here else None
