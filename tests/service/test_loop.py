"""The service as people run it: asked to stop, with MLflow down, with a bug in one monitor."""

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest
from apscheduler.schedulers.background import BackgroundScheduler
from structlog.testing import capture_logs

from monitor import wiring
from monitor.presentation.delivery import waiting_sentence
from monitor.service import loop
from monitor.service.runtime import Running
from monitor.service.web.health import Heartbeat
from monitor.storage import schema
from monitor.storage.database import Database
from tests.hooks.receivers import Receiver
from tests.rounds.scene import overview
from tests.servers import free_port
from tests.small_config import HOOKS, configure, runs


@pytest.fixture
def receiver():
    with Receiver() as running:
        yield running


def test_with_mlflow_down_notices_go_out_and_the_rest_waits(folder, receiver, monkeypatch):
    monkeypatch.setenv("OPS_HOOK", receiver.url)
    monkeypatch.setenv("OPS_HOOK_SECRET", "not-a-secret-0123456789-012")
    (folder / "predictions.csv").write_text("id,at,score,subject\n")  # the round is abandoned
    now = datetime.now(UTC).replace(microsecond=0)
    mlflow = f"http://127.0.0.1:{free_port()}"
    down = configure(folder, mlflow=mlflow, grace="0s", more=HOOKS)
    database = Database(down.store_url)
    schema.ready(database)

    first = one_pass(down, now)
    told = overview(database, down.monitor("mail").settings(), now)
    back = configure(folder, more=HOOKS)
    too_early = one_pass(back, now)
    second = one_pass(back, now + timedelta(minutes=1))
    third = one_pass(back, now + timedelta(minutes=2))

    assert first.exit_code == 75
    [(_, _, notice)] = receiver.got
    assert json.loads(notice)["type"] == "round.abandoned"
    [waiting] = told.waiting
    sentence = waiting_sentence(waiting)
    assert sentence.startswith("1 round waits for ")
    assert (f": MLflow at {down.mlflow.tracking_uri} does not answer") in sentence
    assert f" since {now:%Y-%m-%d %H:%M}, next try " in sentence
    assert timedelta(seconds=45) <= waiting.next_try - now <= timedelta(minutes=1)
    assert [each.delivered.done for each in (first, too_early, second, third)] == [
        {"log": 1, "ops": 1},
        {},
        {"mlflow": 1},
        {},
    ]
    assert len(runs(folder, "monitor/mail")) == 1
    database.close()


def one_pass(config, now):
    application = wiring.build(config, clock=lambda: now)
    with capture_logs():
        result = loop.one_pass(application, application.monitors)
    application.database.close()
    return result


def test_a_broken_tick_is_logged_and_makes_the_service_unhealthy_until_one_goes_well(folder):
    application = wiring.build(configure(folder))
    running = Running(application, None, Heartbeat("rounds"))
    failing = [True, False]

    def tick():
        if failing.pop(0):
            message = "no such thing"
            raise KeyError(message)

    complaints = []
    with capture_logs() as logs:
        for _ in range(2):
            loop._guarded("rounds", tick, running)()
            complaints.append(running.heartbeat.complaint())

    application.database.close()
    assert [(line["event"], line["job"]) for line in logs] == [("tick failed", "rounds")]
    assert complaints == [
        "the loop of rounds is stopped by a bug (KeyError); the log has the traceback",
        None,
    ]


TICK = timedelta(minutes=1)


def ticking(due):
    """A scheduler of one loop that is due then, and what is set at its tick."""
    ticked = threading.Event()
    scheduler = BackgroundScheduler(timezone="UTC")
    named = {"seconds": TICK.total_seconds(), "next_run_time": due, "misfire_grace_time": None}
    scheduler.add_job(ticked.set, "interval", **named)
    return scheduler, ticked


def test_a_clock_that_was_ahead_and_is_set_right_does_not_stop_the_ticks():
    now = datetime.now(UTC)
    scheduler, ticked = ticking(now + timedelta(days=10))
    scheduler.start()

    loop.tick_on(scheduler, now)
    came = ticked.wait(20)
    scheduler.shutdown()

    assert came


def test_a_tick_that_comes_in_time_is_not_hurried():
    now = datetime.now(UTC)
    scheduler, _ = ticking(now + TICK)
    scheduler.start(paused=True)

    loop.tick_on(scheduler, now)
    [job] = scheduler.get_jobs()
    scheduler.shutdown()

    assert job.next_run_time == now + TICK
