"""The three pages that watchers ask, and the address that they are on."""

import shutil

import pytest
from sqlalchemy import text

from monitor import wiring
from monitor.config.pages import Address
from monitor.domain.errors import ConfigRefused, SourceUnavailable, StoppedByBug, TryLater
from monitor.service.runtime import Running
from monitor.service.web.app import watchers_app
from monitor.service.web.health import Heartbeat
from monitor.service.web.server import WebServer
from tests.servers import free_port
from tests.service.pages.people import Client
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
def running(tmp_path, clock, store_tables):
    shutil.copy(store_tables, tmp_path / "monitor.db")
    application = wiring.build(configure(tmp_path))
    yield Running(application, None, Heartbeat("rounds", "mlflow", clock=clock))
    application.database.close()


def pages_of(running, **more):
    return watchers_app(running.health, running.ready, running.metrics, **more)


@pytest.fixture
def client(running):
    return Client(pages_of(running, listen="127.0.0.1"))


@pytest.fixture
def get(client):
    return client.get


def test_three_pages_are_read_and_nobody_keeps_or_guesses_the_type_of_an_answer(client, get):
    paths = ["/health", "/ready", "/metrics"]

    assert [get(path).status_code for path in paths] == [200] * 3
    assert [get(path).status_code for path in ("/", "/docs", "/openapi.json")] == [404] * 3
    for path in (*paths, "/nowhere"):
        headers = get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-type"].startswith("text/plain") or path == "/nowhere"
    for method in ("POST", "HEAD", "OPTIONS"):
        refused = client.request(method, "/ready")
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET")


def test_a_silent_loop_a_long_step_and_a_bug_make_the_service_unhealthy(get, running, clock):
    clock.now = 14 * 60.0
    running.heartbeat.beat("rounds")
    clock.now = 16 * 60.0
    silent = get("/health")
    running.heartbeat.begin("monitor mail")
    codes = []
    for minutes in (16 + 59, 16 + 61):
        clock.now = minutes * 60.0
        running.heartbeat.beat("rounds")
        running.heartbeat.beat("mlflow")
        codes.append(get("/health").status_code)
    long = get("/health").text
    running.heartbeat.end("monitor mail")
    codes.append(get("/health").status_code)
    running.heartbeat.note_bug("rounds", KeyError("a bug"))

    assert silent.status_code == 503
    assert silent.text == "the loop of mlflow has been silent for 16 minutes\n"
    assert codes == [200, 503, 200]
    assert long == "monitor mail has been under way for 61 minutes\n"
    assert get("/health").status_code == 503
    assert get("/ready").text.startswith("the loop of rounds is stopped by a bug (KeyError)")


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


def test_a_service_that_is_stopping_is_not_ready(get, running):
    running.is_stopping = True

    assert (get("/ready").status_code, get("/ready").text) == (503, "stopping\n")


def test_an_address_that_is_not_this_machines_is_refused(running):
    with pytest.raises(ConfigRefused, match=r"web.listen: 192.0.2.1:80 is not an address of this"):
        WebServer(pages_of(running), Address("192.0.2.1", 80))


def test_an_address_in_use_may_be_free_later_and_a_stopped_server_gives_its_own_back(running):
    address = Address("127.0.0.1", free_port())
    first = WebServer(pages_of(running), address)
    first.start()

    with pytest.raises(TryLater, match="is used by another program"):
        WebServer(pages_of(running), address)

    first.stop()
    again = WebServer(pages_of(running), address)
    again.start()
    again.stop()
