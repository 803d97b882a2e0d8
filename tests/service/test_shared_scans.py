"""A window is read once for the monitors of a block, and never instead of what each would read."""

import threading

import pytest

from monitor.config.load import load_config
from monitor.domain.errors import SourceUnavailable
from monitor.service import loop
from monitor.service.runtime import Running
from monitor.service.shared_reads import SharedScans
from monitor.service.web.health import Heartbeat
from monitor.service.worker_pool import MonitorPool
from monitor.sources.duckdb import DuckdbSource
from monitor.storage.rounds import round_store
from monitor.wiring import build
from tests.cli.test_blocks_story import EACH, SCORES, TRUTHS

BLOCK = "travel, finance, sports"
NAMES = ["mail-travel", "mail-finance", "mail-sports"]


@pytest.fixture
def application(bare, tmp_path):
    place_of_a_block(bare)
    application = build(load_config(tmp_path / "config.yaml"), clock=lambda: bare.now)
    yield application
    application.database.close()


def place_of_a_block(place):
    """Let a folder have a block of three monitors over one file."""
    place.predictions(**SCORES, **TRUTHS)
    people = "{kind: files, deadline: 1d}"
    place.write("config.yaml", EACH.format(topics=BLOCK, cron=place.cron, labeling=people))


@pytest.fixture
def readings(monkeypatch):
    """The sources of each shared reading."""
    found = []
    read_for = DuckdbSource.read_for

    def noted(source, scans, window, seed):
        found.append(len(scans))
        return read_for(source, scans, window, seed)

    monkeypatch.setattr(DuckdbSource, "read_for", noted)
    return found


def states(application):
    with application.database.read() as connection:
        return {
            round_.monitor: (round_.number, str(round_.state))
            for round_ in round_store.find_rounds(connection)
        }


def advance_all(monitors):
    """Look at each monitor of a pass; returns what stopped any."""
    around = SharedScans(monitors).shared
    return [error for context in monitors if (error := loop.advance(context, around))]


ALL_OUT = dict.fromkeys(NAMES, (1, "labeling"))


def test_the_first_monitor_reads_for_all_and_nothing_where_nothing_is_due(application, readings):
    errors = advance_all(application.monitors)
    advance_all(application.monitors)

    assert (errors, readings) == ([], [3])
    assert states(application) == ALL_OUT
    assert all(context.source.cached is None for context in application.monitors)


def fails(*_):
    message = "the disk does not answer"
    raise SourceUnavailable(message)


@pytest.mark.parametrize(
    ("broken", "by"),
    [
        ("monitor.sources.duckdb.DuckdbSource.read_for", fails),
        ("monitor.sources.duckdb.DuckdbSource.read_for", None),
        ("monitor.rounds.opening.due.next_scan", None),
    ],
)
def test_a_reading_that_fails_leaves_each_monitor_to_its_own(application, monkeypatch, broken, by):
    monkeypatch.setattr(broken, by)

    errors = advance_all(application.monitors)

    assert (errors, states(application)) == ([], ALL_OUT)


def test_lanes_wait_for_the_one_reading(application, readings):
    running = Running(application, None, Heartbeat("rounds"))
    lanes = MonitorPool(running, loop.advance, stop=threading.Event(), changes=threading.Event())

    lanes.tick()
    lanes._pool.shutdown(wait=True)  # as `close` does, but for looks that wait

    assert readings == [3]
    assert states(application) == ALL_OUT
    assert all(context.source.cached is None for context in application.monitors)
