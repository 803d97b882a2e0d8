"""The three pages, asked over HTTP, and the address that they are on."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from monitor import wiring
from monitor.config.web import Address
from monitor.domain.errors import ConfigRefused, SourceUnavailable, StoppedByBug, TryLater
from monitor.service.runtime import Running
from monitor.service.web.app import Pages
from monitor.service.web.health import Heartbeat
from monitor.service.web.server import WebServer
from monitor.storage import schema
from tests.servers import free_port
from tests.small_config import configure


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def running(tmp_path, clock):
    application = wiring.build(configure(tmp_path))
    schema.ready(application.database)
    yield Running(application, None, Heartbeat("rounds", "mlflow", clock=clock))
    application.database.close()


@pytest.fixture
def get(running):
    address = Address("127.0.0.1", free_port())
    server = WebServer(Pages(running.answers(), listen=address.host), address)
    server.start()
    with httpx.Client(base_url=f"http://{address}", trust_env=False, timeout=30) as client:
        yield client.get
    server.stop()


def test_all_is_well_at_the_start(get):
    assert [get(path).status_code for path in ("/health", "/ready", "/metrics")] == [200] * 3


def test_there_is_nothing_else(get):
    assert [get(path).status_code for path in ("/", "/docs", "/openapi.json")] == [404] * 3


def test_an_answer_is_for_nobody_to_keep_or_to_guess_a_type_of(get):
    for path in ("/health", "/ready", "/metrics", "/nowhere"):
        headers = get(path).headers

        assert (headers["cache-control"], headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
        assert headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("method", ["POST", "HEAD", "OPTIONS"])
def test_pages_are_only_read(running, method):
    address = Address("127.0.0.1", free_port())
    server = WebServer(Pages(running.answers()), address)
    server.start()

    refused = httpx.request(method, f"http://{address}/ready", trust_env=False, timeout=30)
    server.stop()

    assert (refused.status_code, refused.headers["allow"]) == (405, "GET")


def test_a_loop_that_is_silent_for_long_is_named(get, running, clock):
    clock.now = 14 * 60.0
    running.pulse.beat("rounds")
    clock.now = 16 * 60.0

    told = get("/health")

    assert told.status_code == 503
    assert told.text == "the loop of mlflow has been silent for 16 minutes\n"


def test_a_step_may_take_an_hour(get, running, clock):
    running.pulse.begin("monitor mail")
    codes = []
    for minutes in (59, 61):
        clock.now = minutes * 60.0
        running.pulse.beat("rounds")
        running.pulse.beat("mlflow")
        codes.append(get("/health").status_code)
    text = get("/health").text
    running.pulse.end("monitor mail")

    assert codes == [200, 503]
    assert text == "monitor mail has been under way for 61 minutes\n"
    assert get("/health").status_code == 200


def test_a_store_of_another_version_makes_it_unready_and_not_dead(get, running):
    with running.application.database.write() as connection:
        connection.execute(text("update monitor_schema_version set version_num = 'newer'"))

    told = get("/ready")

    assert told.status_code == 503
    assert "has schema newer, which this version does not know" in told.text
    assert get("/health").status_code == 200


def test_a_store_that_cannot_be_read_is_told_by_the_metrics_too(get, running, tmp_path):
    running.application.database.close()
    (tmp_path / "monitor.db").write_bytes(b"this is no database" * 100)

    told = {path: get(path) for path in ("/ready", "/metrics")}

    assert [answer.status_code for answer in told.values()] == [503, 200]
    assert "cannot be read as a store" in told["/ready"].text
    assert "pr_monitor_store_up 0.0" in told["/metrics"].text.splitlines()


def test_a_service_none_of_whose_monitors_can_work_is_neither_healthy_nor_ready(get, running):
    codes = []
    for error in (SourceUnavailable("away"), StoppedByBug.of(KeyError("a bug")), None):
        running.note("mail", error)
        codes.append([get(path).status_code for path in ("/health", "/ready")])
    running.note("mail", StoppedByBug.of(KeyError("a bug")))

    assert codes == [[200, 200], [503, 503], [200, 200]]
    assert get("/ready").text == (
        "no monitor can work: a bug stopped the last look at each of 1; the log has the traceback\n"
    )


def test_a_loop_that_a_bug_stops_makes_the_service_unhealthy(get, running):
    running.pulse.note_bug("rounds", KeyError("a bug"))

    assert get("/health").status_code == 503
    assert get("/ready").text.startswith("the loop of rounds is stopped by a bug (KeyError)")


def test_a_service_that_is_stopping_is_not_ready(get, running):
    running.is_stopping = True

    assert (get("/ready").status_code, get("/ready").text) == (503, "stopping\n")


def test_an_address_that_is_not_this_machines_is_refused(running):
    with pytest.raises(ConfigRefused, match=r"web.listen: 192.0.2.1:80 is no address of this"):
        WebServer(Pages(running.answers()), Address("192.0.2.1", 80))


def test_an_address_in_use_may_be_free_later(running):
    address = Address("127.0.0.1", free_port())
    first = WebServer(Pages(running.answers()), address)
    first.start()

    with pytest.raises(TryLater, match="is taken by another program"):
        WebServer(Pages(running.answers()), address)

    first.stop()


def test_a_stopped_server_gives_its_address_back(running):
    address = Address("127.0.0.1", free_port())
    for _ in range(2):
        server = WebServer(Pages(running.answers()), address)
        server.start()
        server.stop()


def test_the_pulse_needs_no_more_than_a_beat_in_time(clock):
    pulse = Heartbeat("rounds", silent=timedelta(seconds=10), clock=clock)
    for clock.now in (9.0, 18.0, 27.0):
        pulse.beat("rounds")

    assert pulse.complaint() is None
