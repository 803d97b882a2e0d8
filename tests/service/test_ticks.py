"""The ticks of a service go on, whatever the clock does."""

import threading
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler

from monitor.service.loop import tick_on

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

    tick_on(scheduler, now)
    came = ticked.wait(20)
    scheduler.shutdown()

    assert came


def test_a_tick_that_comes_in_time_is_not_hurried():
    now = datetime.now(UTC)
    scheduler, _ = ticking(now + TICK)
    scheduler.start(paused=True)

    tick_on(scheduler, now)
    [job] = scheduler.get_jobs()
    scheduler.shutdown()

    assert job.next_run_time == now + TICK
