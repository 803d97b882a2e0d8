"""Spark's session: one a process, used as it is where there is one, and else started."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from monitor.plugins.spark.settings import SparkSettings

_NAME = "pr-monitor"
_OURS = {
    "spark.ui.enabled": "false",  # a page for everybody who reaches this machine
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    # Java runs longer functions uncompiled; statements of many monitors would become such.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}
_ON_THIS_MACHINE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_lock = threading.Lock()


_started: tuple[SparkSession, SparkSettings] | None = None
"""A session that this module started, and the settings that it was for."""


def session_for(settings: SparkSettings) -> SparkSession:
    """Return the session of this process; start one if needed.

    A session that somebody else started keeps every setting that it has, and is never stopped
    here. One that was started here lives as long as the process, or until it breaks.

    Raises `SourceRefused` if this process has a session of another cluster, as it can have but one.
    """
    global _started  # noqa: PLW0603  a process has one session
    with _lock:
        if _started is not None and _is_broken(_started[0]):
            _forget()
            _started = None
        if _started is not None:
            session, started_with = _started
            _check_same(started_with, settings)
            return session
        present = _present()
        if present is not None:
            _check_fits(present, settings)
            return present
        session = _start(settings)
        _started = session, settings
        return session


def _start(settings: SparkSettings) -> SparkSession:
    builder = _pyspark().SparkSession.builder
    if settings.remote is not None:
        return builder.remote(settings.remote).getOrCreate()  # type: ignore[no-any-return]
    if settings.master is not None:
        at_home = _ON_THIS_MACHINE if settings.master.startswith("local") else {}
        chosen = {**_OURS, **at_home, **settings.config}
        builder = builder.appName(_NAME).master(settings.master).config(map=chosen)
    return builder.getOrCreate()  # type: ignore[no-any-return]


def _present() -> SparkSession | None:
    """Find the session that this process has; asking the builder for one would start one."""
    sql = _pyspark()
    from pyspark import SparkContext  # noqa: PLC0415  a fifth of a second, and an extra
    from pyspark.sql import utils  # noqa: PLC0415  as above

    if utils.is_remote():
        active: SparkSession | None = sql.SparkSession.getActiveSession()
        return active
    if SparkContext._active_spark_context is None:  # nothing public says so
        return None
    return sql.SparkSession.builder.getOrCreate()  # type: ignore[no-any-return]


def _pyspark() -> Any:
    """Import Spark's library, which warns of a pandas that nothing here hands to it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        import pyspark.sql  # noqa: PLC0415  few configs have one

        return pyspark.sql


def _check_same(started: SparkSettings, settings: SparkSettings) -> None:
    """Refuse a second cluster, or other settings of the same one."""
    configured = (settings.master, settings.remote, settings.config)
    is_same = configured == (started.master, started.remote, started.config)
    if is_same or (settings.master is None and settings.remote is None):
        return  # without both it is whatever session there is
    running = started.master or _bare(started.remote) or "Spark's own settings"
    if settings.master is not None and settings.master == started.master:
        running += " with other settings in source.config"
    raise _another(running, settings)


def _check_fits(session: SparkSession, settings: SparkSettings) -> None:
    """Refuse a session of somebody else's where the config names another cluster."""
    text = "of a Spark Connect server" if is_remote(session) else str(session.sparkContext.master)
    if settings.master not in {None, text} or (settings.remote and not is_remote(session)):
        raise _another(text, settings)


def _another(running: str, settings: SparkSettings) -> SourceRefused:
    configured = settings.master or _bare(settings.remote)
    message = (
        f"this process already has a Spark session, {running}, but source names {configured}, and "
        "a process can have only one. Give all Spark sources the same master, remote and config, "
        "remove these to use the existing session, or run the monitors in separate processes"
    )
    return SourceRefused(message)


def _bare(remote: str | None) -> str:
    """Write the address of a server without its options, which may hold a token."""
    return "" if remote is None else remote.split(";")[0].rstrip("/")


def is_remote(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect."""
    return ".connect." in type(session).__module__


def _is_broken(session: SparkSession) -> bool:
    """Whether the driver of a session that was started here has ended or was stopped."""
    if is_remote(session):
        return bool(session.is_stopped)  # type: ignore[attr-defined]
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())
    except Exception:  # noqa: BLE001  its driver does not answer: py4j has many errors for that
        return True


def _forget() -> None:
    """Reset Spark's library: a driver that has ended is never asked to stop by it."""
    from pyspark import SparkContext  # noqa: PLC0415  as above
    from pyspark.sql import SparkSession  # noqa: PLC0415  as above

    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
