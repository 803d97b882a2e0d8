"""What the log of a service names once, and what each time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import structlog

from monitor.service.obstacle_log import REMINDER, ObstacleFilter

START = datetime(2025, 3, 3, 6, tzinfo=UTC)


@pytest.fixture
def lines():
    """Log through the filter: each call returns what is written of a line after some minutes."""
    now = [START]
    keep = ObstacleFilter(lambda: now[0])

    def logged(event, after=timedelta(minutes=1), **fields):
        now[0] += after
        try:
            return keep(None, "warning", {"event": event, **fields})
        except structlog.DropEvent:
            return None

    return logged


def test_an_obstacle_is_logged_when_it_begins_changes_and_comes_again_after_its_end(lines):
    away, late = {"reason": "the store is away"}, {"reason": "no predictions yet"}

    assert lines("round waits", monitor="mail", **away)
    assert lines("monitor stopped", monitor="mail", **away) is None
    assert lines("round waits", monitor="mail", **away) is None
    assert lines("round waits", monitor="post", **away)
    assert lines("round waits", monitor="mail", **late)
    assert lines("monitor goes on", monitor="mail")
    assert lines("round waits", monitor="mail", **away)
    assert lines("round waits", monitor="post", **away) is None


def test_an_obstacle_that_stays_is_logged_again_each_hour_with_its_beginning(lines):
    lines("not delivered", sink="ops", error="refused")

    assert lines("not delivered", REMINDER / 2, sink="ops", error="refused") is None
    reminder = lines("not delivered", REMINDER / 2, sink="ops", error="refused")
    assert reminder["since"] == "2025-03-03T06:01+00:00"
    assert lines("not delivered", sink="ops", error="refused") is None


def test_other_lines_are_written_each_time(lines):
    assert lines("signed in", user="ada")
    assert lines("signed in", user="ada")
