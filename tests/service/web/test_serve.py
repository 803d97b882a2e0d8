"""`pr-monitor serve` as a process: its pages, its signals, its exit codes."""

import re
import signal
import socket

import httpx
import pytest

from tests.servers import free_port
from tests.service.pages.test_commands import come_in
from tests.service.web.serving import COMMAND, OFTEN
from tests.small_config import fill_labels, runs

SERVE = f"""
from datetime import timedelta

from monitor.service import loop

loop.serve.__kwdefaults__["tick"] = timedelta(seconds=0.2)
{COMMAND}"""
ONCE = "this link works once"
SUCCESSFUL = ("pr_monitor_config_last_reload_successful",)


def test_the_command_takes_a_round_to_mlflow_answers_has_pages_reloads_and_stops(place):
    port = next(port for port in iter(free_port, None) if port != place.port)

    def all_is_done():
        queries = ("select state from rounds", "select distinct status from effects")
        return [*map(place.rows, queries)] == [[("closed",)], [("done",)]]

    with (place.folder / "config.yaml").open("a") as config:
        config.write(f"pages: {{listen: 127.0.0.1:{port}}}\n")
    with place.serving(SERVE):
        line = next((line for line in place.logged if ONCE in line), None) or place.until(ONCE)
        link = re.findall(r"http://[^\s\"]+", line)[0]
        page, entered = come_in(link, name="ada"), place.until(ONCE)
        place.eventually(lambda: list((place.folder / "labels").glob("*.csv")))
        fill_labels(place.folder)
        place.eventually(all_is_done)
        told = {path: place.get(path) for path in ("/health", "/ready", "/metrics", "/docs")}
        place.change("{precision: 0.5}", "{precision: 50}")
        refused, after_bad = place.reload(), place.metrics()
        place.change("{precision: 50}", "{precision: 0.6}")
        taken, after_good = place.reload("config changed"), place.metrics()
        code = place.stop()

    assert [answer.status_code for answer in told.values()] == [200, 200, 200, 404]
    assert told["/health"].text == "ok\n"
    assert told["/metrics"].headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "limits.precision: 50 is not a share" in refused
    assert "monitor=mail" in taken
    assert [after_bad[SUCCESSFUL], after_good[SUCCESSFUL]] == [0, 1]
    assert page.status_code == 200
    assert "<bdi>ada</bdi>" in page.text
    assert "used_by=ada" in entered
    assert link not in entered
    assert code == 0
    assert "event=stopped" in place.logged[-1]
    assert any("signal=SIGTERM" in line for line in place.logged)
    assert [len(runs(place.folder, name)) for name in ("monitor/mail", "monitor")] == [1, 1]
    for ended in (place.port, port):
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{ended}/", trust_env=False)


SLOW = """
from monitor.sources.duckdb import DuckdbSource

scan = DuckdbSource.scan


def slow(self, *arguments):
    pause("scanning")
    return scan(self, *arguments)


DuckdbSource.scan = slow
"""


@pytest.mark.slow
def test_a_step_in_flight_is_finished_before_the_service_stops(place):
    with place.serving(OFTEN.format(patch=SLOW, grace=60)) as serving:
        serving.wait_for("scanning")
        serving.process.send_signal(signal.SIGINT)
        stopping = place.until("stopping")
        serving.go()
        code, _, errors = serving.end()

    assert "signal=SIGINT" in stopping
    assert code == 0
    assert place.rows("select state, claimed_by from rounds") == [("labeling", None)]
    assert "event=stopped" in errors.splitlines()[-1]


@pytest.mark.slow
def test_a_second_signal_ends_the_service_at_once(place):
    with place.serving(OFTEN.format(patch=SLOW, grace=60)) as serving:
        serving.wait_for("scanning")
        serving.process.send_signal(signal.SIGTERM)
        place.until("stopping")

        assert place.stop() == -signal.SIGTERM


ENDLESS = """
import time

from monitor.sources.duckdb import DuckdbSource


def endless(self, *arguments):
    print("scanning", flush=True)
    time.sleep(600)

DuckdbSource.scan = endless
"""


@pytest.mark.slow
def test_a_step_that_takes_too_long_is_abandoned_and_taken_up_by_the_next_pass(place):
    with place.serving(OFTEN.format(patch=ENDLESS, grace=0.3)) as serving:
        serving.wait_for("scanning")
        code = place.stop()
    left = place.rows("select state, claimed_by is not null from rounds")

    with place.serving(OFTEN.format(patch="", grace=60)):
        place.eventually(lambda: place.rows("select state from rounds") == [("labeling",)])
        again = place.stop()

    assert (code, again) == (75, 0)  # 0 would say that nothing was left
    [told] = [line for line in place.logged if "abandoned what took too long" in line]
    assert "monitor mail" in told
    assert not [line for line in place.logged if "failed" in line]
    assert left == [("open", 1)]


HUNG_UP = """
import os, signal

from monitor.config import load

read = load.load_config


def hung_up(*arguments, **options):
    os.kill(os.getpid(), signal.SIGHUP)
    return read(*arguments, **options)


load.load_config = hung_up
from monitor.__main__ import main

sys.argv = ["pr-monitor", "serve"]
main()
"""


@pytest.mark.slow
def test_a_reload_that_comes_while_the_service_starts_is_done_once_it_serves(place):
    with place.serving(HUNG_UP):
        reloaded = place.until("config reloaded")
        code = place.stop()

    assert "changed=nothing" in reloaded
    assert code == 0


BROKEN_IMPORT = """
from monitor.sources.duckdb import DuckdbSource


def broken(self, *_):
    raise ImportError("cannot import name 'x' from partially initialized module 'y'")


DuckdbSource.scan = broken
"""


@pytest.mark.slow
def test_a_process_whose_imports_broke_ends_and_the_next_one_goes_on(place):
    with place.serving(OFTEN.format(patch=BROKEN_IMPORT, grace=60)):
        code, _, errors = place.process.end()
    with place.serving(OFTEN.format(patch="", grace=60)):
        place.eventually(lambda: place.rows("select state from rounds") == [("labeling",)])
        again = place.stop()

    assert (code, again) == (1, 0)
    assert "so that its supervisor starts a new one" in errors


STUCK_PAGE = """
import time

from monitor.service.runtime import Running


def stuck(self):
    print("asked", flush=True)
    time.sleep(600)

Running.ready = stuck
"""


@pytest.mark.slow
def test_a_page_that_waits_for_the_store_keeps_no_stopped_service_from_ending(place):
    with place.serving(OFTEN.format(patch=STUCK_PAGE, grace=60)) as serving:
        with socket.create_connection(("127.0.0.1", place.port)) as asking:
            asking.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            serving.wait_for("asked")
        serving.process.terminate()
        code = serving.process.wait(60)

    assert code == 0
