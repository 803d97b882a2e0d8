"""Reading that takes too long is stopped, and leaves the way free for the next."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from monitor.domain.errors import SourceUnavailable
from monitor.domain.time_limit import stopped_by, within


def test_a_query_that_missed_the_first_stop_is_stopped_by_a_later_one():
    stops: list[int] = []
    ended = threading.Event()

    def stop():
        stops.append(len(stops))
        if len(stops) == 2:
            ended.set()

    def read():
        with stopped_by(stop):
            ended.wait(60)

    with pytest.raises(SourceUnavailable, match=r"a mount did not answer within 0\.001 s"):
        within(timedelta(milliseconds=1), "a mount", read)

    assert ended.is_set()
    assert within(timedelta(seconds=60), "a mount", lambda: "rows") == "rows"
