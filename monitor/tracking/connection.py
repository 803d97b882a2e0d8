"""Connect to MLflow: a quiet import, short timeouts, and its errors as `DeliveryFailed`.

MLflow's client retries every call up to seven times, two minutes each. Here each call is made once,
and a delivery as a whole has a deadline.
"""

from __future__ import annotations

import logging
import logging.config
import math
import os
import re
import socket
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from monitor.domain.crashpoint import outside
from monitor.domain.errors import DeliveryFailed
from monitor.domain.masking import masked
from monitor.domain.ports import utc_now
from monitor.domain.retry_after import retry_after
from monitor.files.sqlite_address import sqlite_path
from monitor.tracking.import_failure import import_failure
from monitor.tracking.sqlite_tables import is_half_made, make_tables

if TYPE_CHECKING:
    from mlflow import MlflowClient

TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"
TRACKING_URI = "MLFLOW_TRACKING_URI"
"""MLflow before 3.7 sends files of a run here, regardless of its client's server."""

_CALL_ONCE_AND_PRINT_NOTHING = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": 0,
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": True,
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": False,
}

_MOST_ATTEMPTS = "MAX_RETRY_COUNT"
"""MLflow's number of attempts to open a database, with pauses of 102 s in all."""

CALL_SECONDS = 10  # under `mlflow.timeout`, so that one call that hangs is not all of a delivery
PAUSE = 60.0  # seconds for which rounds do not call an MLflow that did not answer
_FRESH = 5.0  # seconds after a delivery in which MLflow is not probed first
_NOISY = ("mlflow", "alembic")
_TAKEN_OVER = ("alembic", "sqlalchemy.engine", "huey")  # loggers that `import mlflow` resets
_DENIED = frozenset({"PERMISSION_DENIED", "UNAUTHENTICATED", "CUSTOMER_UNAUTHORIZED"})
_DOWN = frozenset({"INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE", "RESOURCE_EXHAUSTED"})
_FORBIDDEN = frozenset({401, 403})
_SERVER_ERROR = 500
_LONGEST = 1000  # characters of what MLflow says; its advice on a store of files has 500
_TABLES = re.compile(
    r"out-of-date database schema|already exists|duplicate column|no such (table|column)"
)

_ONE_AT_A_TIME = threading.Lock()  # settings of MLflow's client hold for the whole process
_IMPORT = threading.Lock()


CONNECT_SECONDS = 3
HEALTH_SECONDS = 5
TOO_MANY, UNAVAILABLE = 429, 503

DATABASES = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_PORTS = {"http": 80, "https": 443, **DATABASES}


def check_reachable(uri: str) -> None:
    """Open and close a connection, unless a proxy is used. Raises `OSError` if nothing listens."""
    parts = urlsplit(uri)
    scheme = parts.scheme.partition("+")[0]
    port = parts.port or _PORTS.get(scheme)
    if not parts.hostname or port is None or _by_proxy(scheme, parts.hostname):
        return
    socket.create_connection((parts.hostname, port), CONNECT_SECONDS).close()


def _by_proxy(scheme: str, host: str) -> bool:
    proxies = getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not proxy_bypass(host)


def request(uri: str, method: str, path: str, seconds: float, **more: Any) -> Any:
    """Make one request with MLflow's own credentials and certificates; no redirect is followed.

    Returns the `requests.Response` of any status. Raises `MlflowException` without one.
    """
    from mlflow.utils.credentials import get_default_host_creds  # noqa: PLC0415
    from mlflow.utils.rest_utils import http_request  # noqa: PLC0415

    return http_request(  # type: ignore[no-untyped-call]
        get_default_host_creds(uri),  # type: ignore[no-untyped-call]
        path,
        method,
        max_retries=0,
        retry_codes=frozenset(),
        raise_on_status=False,
        timeout=(min(seconds, CONNECT_SECONDS), seconds),
        allow_redirects=False,
        **more,
    )


def secrets() -> list[str]:
    """Collect MLflow's credentials, which no message may repeat."""
    if "mlflow" not in sys.modules:  # then nothing has sent them
        return []
    from mlflow.utils.credentials import read_mlflow_creds  # noqa: PLC0415

    password = read_mlflow_creds().password
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    return [one for one in (password, token) if one and one.strip()]


def ask_health(uri: str) -> tuple[int, timedelta | None]:
    """Request ``/health`` once.

    Returns the status code, and how long the server asks to wait (``Retry-After``).
    """
    answer = request(uri, "GET", "/health", HEALTH_SECONDS)
    answers = {name.lower(): value for name, value in answer.headers.items()}
    return int(answer.status_code), retry_after(answers, utc_now())


@contextmanager
def one_try_and_quiet(tracking_uri: str) -> Iterator[None]:
    """Make each call once, and print and log nothing; for one thread at a time."""
    settings = {TRACKING_URI: tracking_uri, **_CALL_ONCE_AND_PRINT_NOTHING}
    configure = logging.config.fileConfig
    databases: Any = sys.modules.get("mlflow.store.db.utils")  # there where MLflow is a database
    attempts = getattr(databases, _MOST_ATTEMPTS, None)
    # MLflow before 3.7 would replace this process's handlers at each migration.
    logging.config.fileConfig = lambda *_, **__: None
    try:
        for name, value in settings.items():
            _answer(name, value)
        if attempts is not None:
            setattr(databases, _MOST_ATTEMPTS, 1)
        with _quiet_loggers(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # MLflow's own use of SQLAlchemy
            yield
    finally:
        logging.config.fileConfig = configure
        if attempts is not None:
            setattr(databases, _MOST_ATTEMPTS, attempts)
        for name in (TIMEOUT, *settings):
            _variable(name).pop("get", None)


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in _NOISY}
    try:
        for name in _NOISY:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def set_timeout(seconds: int) -> None:
    """Set the timeout of the next calls, until the delivery is over."""
    _answer(TIMEOUT, seconds)


def _answer(name: str, value: object) -> None:
    """Let MLflow's client read a setting that is not in the environment of the process.

    glibc moves the list of variables when one is added, which crashes a thread that reads it just
    then, as any look-up of a host name or time zone does.
    """
    _variable(name)["get"] = lambda: value


def _variable(name: str) -> dict[str, object]:
    """Return what MLflow's object for a variable holds; its `get` is found before its class's."""
    from mlflow import environment_variables  # noqa: PLC0415  takes 2.8 s

    variable: object = getattr(environment_variables, name)
    return vars(variable)


# Here, before there are threads (`_answer` has the reason), and not when MLflow is loaded.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")


def load_mlflow() -> None:
    """Import mlflow without telemetry, and without its changes of other libraries' loggers.

    One thread at a time: two imports at once break it for the whole process.
    """
    with _IMPORT:
        if "mlflow" in sys.modules:
            return
        loggers = [logging.getLogger(name) for name in _TAKEN_OVER]
        before = [(list(each.handlers), each.level, each.propagate) for each in loggers]
        import mlflow  # noqa: F401, PLC0415  takes 2.8 s

        for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)


def shown(uri: str) -> str:
    """Return a URI without user, password and query."""
    parts = urlsplit(uri)
    if not parts.hostname:
        return uri.partition("?")[0]
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


class Connection:
    """One MLflow, reached with one client, one delivery at a time.

    ``delivery_seconds`` limits a delivery over the network, not to a SQLite file: making its tables
    takes some seconds the first time. ``permission`` and ``outcome`` are words of its errors.
    """

    permission = "EDIT there (and to create experiments, the first time)"
    outcome = "did not take"

    def __init__(
        self, tracking_uri: str, registry_uri: str | None, delivery_seconds: float
    ) -> None:
        self.tracking_uri = tracking_uri
        self._registry_uri = registry_uri
        self._delivery_seconds = delivery_seconds
        self._remote = sqlite_path(tracking_uri) is None
        self._client: MlflowClient | None = None
        self._answered = -math.inf  # when it took the last delivery

    @contextmanager
    def open(self, requested: str) -> Iterator[MlflowClient]:
        """Yield a client whose calls end in time and whose failures are `DeliveryFailed`."""
        is_there = self._answered + _FRESH > time.monotonic()
        if not is_there:
            self.check_reachable(requested)
        self.load()
        from mlflow import MlflowClient  # noqa: PLC0415
        from mlflow.exceptions import MlflowException  # noqa: PLC0415
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

        with ExitStack() as stack:
            stack.enter_context(_ONE_AT_A_TIME)
            stack.enter_context(one_try_and_quiet(self.tracking_uri))
            # Starts after the lock: waiting for another delivery does not count.
            deadline = Deadline(self._delivery_seconds if self._remote else math.inf)
            try:
                if not is_there:
                    self._probe()
                if self._client is None:
                    self._client = MlflowClient(self.tracking_uri, self._registry_uri)
                yield cast("MlflowClient", Timed(self._client, deadline))
            except DeliveryFailed:
                self._forget()
                raise
            except (MlflowException, SQLAlchemyError, OSError) as error:
                self._forget()
                raise self.failure(error, requested) from error
            except ImportError as error:  # MLflow imports much of itself only when it is used
                raise DeliveryFailed(import_failure(error), lasting=True) from error
            self._answered = time.monotonic()

    def load(self) -> None:
        """Import the modules for this MLflow. Raises `DeliveryFailed` if they do not load."""
        try:
            load_mlflow()
            with _IMPORT, _quiet_loggers():
                import mlflow.tracking  # noqa: PLC0415

                uris = (self.tracking_uri, self._registry_uri or "")
                kinds = {urlsplit(uri).scheme.partition("+")[0] for uri in uris}
                if kinds & {"sqlite", *DATABASES}:
                    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401, PLC0415
        except ImportError as error:
            raise DeliveryFailed(import_failure(error), lasting=True) from error

    def check_reachable(self, requested: str) -> None:
        """Raise `DeliveryFailed` if nothing listens, before anything slow is done."""
        try:
            check_reachable(self.tracking_uri)
        except OSError as error:
            raise self.failure(error, requested) from error

    def failure(self, error: Exception, requested: str) -> DeliveryFailed:
        """Turn an error of MLflow, or of its artifact store, into a `DeliveryFailed`."""
        where = f"MLflow at {shown(self.tracking_uri)}"
        if _code(error) in _DENIED or _status(error) in _FORBIDDEN:
            message = (
                f"{where} refuses {requested}: the user needs permission {self.permission}. Grant "
                "it, or set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
                "MLFLOW_TRACKING_TOKEN, for a user who has it"
            )
            return DeliveryFailed(message, lasting=True)
        if _no_answer(error):
            message = (
                f"{where} does not answer ({_brief(error)}); {requested} waits and is tried again"
            )
            return DeliveryFailed(message)
        way_out = self._way_out(error)
        message = f"{where} {self.outcome} {requested}: {_brief(error)}{way_out}"
        return DeliveryFailed(message, sink_down=_code(error) in _DOWN, lasting=bool(way_out))

    def _way_out(self, error: Exception) -> str:
        """Return how to repair a file whose tables MLflow cannot use; empty for other faults."""
        path = sqlite_path(self.tracking_uri)
        if path is None or not _TABLES.search(str(error)) or not is_half_made(path):
            return ""
        return (
            f". {path} holds no run, model or trace: a process was probably killed while it made "
            f"MLflow's tables, and an upgrade may not repair them. Move the file away (mv {path} "
            f"{path}.half-made); the next try makes a new one"
        )

    def _forget(self) -> None:
        """Probe MLflow again next time, and find again where a run's files go.

        MLflow's client caches the latter as long as the process lives, even if it is broken.
        """
        from mlflow.tracking._tracking_service import utils  # noqa: PLC0415

        self._answered = -math.inf
        getattr(utils, "_artifact_repos_cache", {}).clear()

    def _probe(self) -> None:
        """Raise `DeliveryFailed` if MLflow takes no requests, before a slower call."""
        for uri in (self.tracking_uri, self._registry_uri or ""):
            if (path := sqlite_path(uri)) is None:
                continue
            if not path.parent.is_dir():
                message = (
                    f"mlflow.tracking_uri: there is no folder {path.parent} for the database; make "
                    "it or correct the URI"
                )
                raise DeliveryFailed(message)
            make_tables(path)
        if urlsplit(self.tracking_uri).scheme not in {"http", "https"}:
            return
        status, pause = ask_health(self.tracking_uri)
        # Only these two answers say that it takes no requests: a gateway may not route the path.
        if status in {TOO_MANY, UNAVAILABLE}:
            message = (
                f"MLflow at {shown(self.tracking_uri)} refuses requests now with status "
                f"{status}; deliveries are retried"
            )
            raise DeliveryFailed(message, retry_after=pause)


class Reads(Connection):
    """A connection that only reads, so that it needs less permission."""

    permission = "READ there"
    outcome = "failed at"


class SparingReads(Reads):
    """Reads that rounds wait for: an MLflow that failed is not called for `PAUSE`."""

    def __init__(self, uri: str, seconds: float) -> None:
        super().__init__(uri, uri, min(seconds, CALL_SECONDS))
        self._turn = threading.Lock()
        self._failed: tuple[float, DeliveryFailed] | None = None

    @contextmanager
    def open(self, requested: str) -> Iterator[MlflowClient]:
        """Yield a client; during a pause, raises the last `DeliveryFailed` again."""
        with self._turn:  # a thread that waited here does not ask again
            if self._failed is not None and time.monotonic() < self._failed[0] + PAUSE:
                raise self._failed[1]
            try:
                with super().open(requested) as client:
                    yield client
            except DeliveryFailed as error:
                if not error.lasting:  # else others may be read
                    self._failed = time.monotonic(), error
                raise


class Deadline:
    """Time limit of one delivery."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def seconds_for_a_call(self) -> int:
        """Return the whole seconds that the next call may wait: at least 1, at most 10."""
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            message = (
                f"MLflow answers too slowly: the delivery was not done after {self._seconds:g} s. "
                "The next try continues where it stopped; raise mlflow.timeout if this persists"
            )
            raise DeliveryFailed(message)
        return max(1, int(min(CALL_SECONDS, remaining)))


class Timed:
    """MLflow's client, with each call inside the deadline."""

    def __init__(
        self,
        client: MlflowClient,
        deadline: Deadline,
        set_timeout: Callable[[int], None] = set_timeout,
    ) -> None:
        self._client = client
        self._deadline = deadline
        self._set_timeout = set_timeout

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._set_timeout(self._deadline.seconds_for_a_call())
            with outside(f"mlflow {name}"):
                return method(*args, **kwargs)

        return call


def _code(error: BaseException) -> str:
    return str(getattr(error, "error_code", ""))


def _status(error: BaseException) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def is_down(error: BaseException) -> bool:
    """Whether MLflow did not answer, or could not do anything at all."""
    return _no_answer(error) or _code(error) in _DOWN


def _no_answer(error: BaseException) -> bool:
    """Whether the peer did not answer, unlike one that refused."""
    if _status(error) is not None:
        return bool((_status(error) or 0) >= _SERVER_ERROR)
    inner = error.__cause__ or error.__context__
    is_network = isinstance(error, ConnectionError | TimeoutError | socket.gaierror)
    return is_network or (isinstance(inner, OSError) and "API request to" in str(error))


def _brief(error: BaseException) -> str:
    """Return an error as one line, without credentials."""
    inner = error.__cause__ or error.__context__
    if _no_answer(error) and inner is not None:
        error = inner
    text = masked(str(error) or type(error).__name__, secrets())
    for pattern in (r"\[Errno -?\d+\] ([\w ]+)", r"(Read timed out|timed out)", r"(too many \d+)"):
        if match := re.search(pattern, text):
            return match[1].strip().lower()
    brief = text.partition("[SQL:")[0]
    return textwrap.shorten(brief, _LONGEST, placeholder=" ...", break_on_hyphens=False)
