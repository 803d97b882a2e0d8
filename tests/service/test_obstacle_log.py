"""What the log of a service names once, and what each time."""

from pathlib import Path

import pytest
import structlog

import monitor
from monitor.service.obstacle_log import ENDS, OBSTACLES, OVER, REMINDER, ObstacleFilter


@pytest.fixture
def lines():
    """Log through the filter: each call returns what is written of a line after some minutes."""
    now = [0.0]
    keep = ObstacleFilter(lambda: now[0])

    def logged(event, after=60.0, **fields):
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


def test_an_obstacle_that_stays_is_logged_again_each_hour_with_its_age(lines):
    told = [lines("not delivered", sink="ops", error="refused") for _ in range(int(REMINDER / 30))]

    assert [told.index(line) for line in told if line] == [0, 60]
    assert told[60]["minutes"] == 60


def test_an_obstacle_that_did_not_come_for_a_while_is_a_new_one(lines):
    lines("alerts not kept up", sink="ops", error="refused")

    assert lines("alerts not kept up", OVER - 1, sink="ops", error="refused") is None
    assert lines("alerts not kept up", OVER, sink="ops", error="refused")


def test_a_bug_has_its_traceback_once(lines):
    def broken(what):
        try:
            int(what)
        except ValueError:
            return lines("round stopped by a bug", monitor="mail", exc_info=True)

    assert broken("a")
    assert broken("a") is None
    assert broken("b")


def test_other_lines_are_written_each_time(lines):
    assert lines("signed in", user="ada")
    assert lines("signed in", user="ada")


def test_every_event_that_the_filter_knows_is_one_that_is_logged():
    sources = "".join(
        path.read_text()
        for path in Path(monitor.__file__).parent.rglob("*.py")
        if path.name != "obstacle_log.py"
    )

    assert [event for event in OBSTACLES | ENDS if f'"{event}"' not in sources] == []
