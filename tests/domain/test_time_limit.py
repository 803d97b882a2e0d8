"""Reading that takes too long is stopped, and leaves the way free for the next."""

import threading
from datetime import timedelta

import pytest
from structlog.testing import CapturingLogger

from monitor.domain import time_limit
from monitor.domain.errors import SourceUnavailable
from monitor.domain.time_limit import stopped_by, within


def test_an_error_of_stopping_is_logged_and_the_next_stop_comes_all_the_same(monkeypatch):
    monkeypatch.setattr(time_limit, "_BETWEEN_STOPS", 0.01)
    stops: list[int] = []
    ended = threading.Event()

    def stop():
        stops.append(len(stops))
        if len(stops) == 1:
            message = "no query to cancel"
            raise RuntimeError(message)
        ended.set()

    def read():
        with stopped_by(stop):
            ended.wait(60)

    log = CapturingLogger()
    monkeypatch.setattr(time_limit, "log", log)  # others may have set a level

    with pytest.raises(SourceUnavailable):
        within(timedelta(milliseconds=1), "a database", read)

    assert ended.wait(60)
    [call] = log.calls
    assert (call.method_name, call.kwargs["reading"]) == ("debug", "a database")
    assert call.kwargs["error"] == "RuntimeError"


def test_a_query_that_begins_long_after_its_limit_is_stopped_too(monkeypatch):
    monkeypatch.setattr(time_limit, "_TO_STOP", 0.01)
    monkeypatch.setattr(time_limit, "_BETWEEN_STOPS", 0.01)
    begun, stopped, ended = threading.Event(), threading.Event(), threading.Event()

    def stop():
        if begun.is_set():
            stopped.set()

    def read():
        with stopped_by(stop):
            assert begun.wait(60)
            assert stopped.wait(60)
        ended.set()

    with pytest.raises(SourceUnavailable, match="did not answer within"):
        within(timedelta(seconds=0.01), "a slow cluster", read)
    begun.set()

    assert ended.wait(60)
