"""The ticks of a service go on, whatever the clock does."""

import threading
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler

from monitor.service.loop import tick_on

TICK = timedelta(minutes=1)


def test_a_clock_that_was_ahead_and_is_set_right_does_not_stop_the_ticks():
    ticked = threading.Event()
    now = datetime.now(UTC)
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(
        ticked.set,
        "interval",
        seconds=TICK.total_seconds(),
        next_run_time=now + timedelta(days=10),
        misfire_grace_time=None,
    )
    scheduler.start()

    tick_on(scheduler, now)
    came = ticked.wait(20)
    scheduler.shutdown()

    assert came


def test_a_tick_that_comes_in_time_is_not_hurried():
    ticked = threading.Event()
    now = datetime.now(UTC)
    scheduler = BackgroundScheduler(timezone="UTC")
    due = now + TICK
    scheduler.add_job(ticked.set, "interval", seconds=TICK.total_seconds(), next_run_time=due)
    scheduler.start(paused=True)

    tick_on(scheduler, now)
    [job] = scheduler.get_jobs()
    scheduler.shutdown()

    assert job.next_run_time == due
