"""Time limit on reads that may hang, such as from a network mount that is gone.

A thread that waits for a disk cannot be stopped. So it is abandoned, and ends with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Generic, TypeVar, cast

import structlog

from monitor.domain.errors import SourceUnavailable

log = structlog.get_logger("monitor.domain")

T = TypeVar("T")

LIMIT = timedelta(minutes=10)
"""Default limit of one read; 10 million rows take seconds."""

_TO_STOP = 5.0  # seconds that a query has to stop once it is asked to
_BETWEEN_STOPS = 0.5  # seconds at first; twice as long each time
_LONGEST_PAUSE = 60.0  # seconds
_abandoned: dict[str, _ReadingThread[object]] = {}


class _ReadingThread(threading.Thread, Generic[T]):
    def __init__(self, read: Callable[[], T], location: str) -> None:
        super().__init__(name="reading", daemon=True)  # one that hangs must not keep us from ending
        self.location = location
        self.stops: list[Callable[[], object]] = []
        self.error: BaseException | None = None
        self.result: T | None = None
        self._read = read

    def run(self) -> None:
        try:
            self.result = self._read()
        except BaseException as error:  # noqa: BLE001  it is raised where somebody waits for it
            self.error = error


OF_FILES = (
    "is its disk or network mount there, and is it a file and no pipe? It is tried again; if a "
    "scan needs longer, raise source.timeout"
)
"""Advice if a file does not answer."""


def within(limit: timedelta, location: str, read: Callable[[], T], advice: str = OF_FILES) -> T:
    """Call ``read`` in a thread and return its result.

    ``location`` names the place in messages and identifies it.

    Raises `SourceUnavailable` if the limit passes, or if an earlier read of the place still hangs.
    """
    # Otherwise every pass would abandon one more thread at a mount that is gone.
    hung = _abandoned.get(location)
    if hung is not None and hung.is_alive():
        message = f"{location} still does not answer: {advice}"
        raise SourceUnavailable(message)
    reading = _ReadingThread(read, location)
    reading.start()
    reading.join(limit.total_seconds())
    if reading.is_alive():
        _leave(reading)
        message = f"{location} did not answer within {_span(limit)}: {advice}"
        raise SourceUnavailable(message)
    if reading.error is not None:
        raise reading.error
    return cast("T", reading.result)


def _leave(reading: _ReadingThread[T]) -> None:
    threading.Thread(target=_stop, args=(reading,), name="stopping", daemon=True).start()
    reading.join(_TO_STOP)
    if reading.is_alive():
        _abandoned[reading.location] = cast("_ReadingThread[object]", reading)


def _stop(reading: _ReadingThread[T]) -> None:
    """Ask a query to stop, repeatedly: an engine ignores requests before the query has begun."""
    pause = _BETWEEN_STOPS
    while reading.is_alive():
        for stop in list(reading.stops):
            try:
                stop()
            except Exception as error:  # noqa: BLE001  the query may have ended in between
                log.debug("query not stopped", reading=reading.location, error=type(error).__name__)
        reading.join(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _span(limit: timedelta) -> str:
    seconds = limit.total_seconds()
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} minutes"  # noqa: PLR2004


@contextmanager
def stopped_by(stop: Callable[[], object]) -> Iterator[None]:
    """Register the function that stops the query in this block if its time limit passes."""
    reading = threading.current_thread()
    if not isinstance(reading, _ReadingThread):
        yield
        return
    reading.stops.append(stop)
    try:
        yield
    finally:
        reading.stops.remove(stop)
