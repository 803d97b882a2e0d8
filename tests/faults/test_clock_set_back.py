"""R7 from outside: a service whose clock was ahead for a while goes on when it is right again."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import timedelta

from sqlalchemy import text

from monitor.storage.database import Database
from tests.faults.fake_clock import FakeClock
from tests.faults.storm import DAY, FIRST, Storm

NOWHERE = "http://127.0.0.1:9"
MINUTE = timedelta(minutes=1)


def test_a_service_draws_the_slots_that_come_due_after_its_clock_was_set_back(tmp_path):
    clock = FakeClock(tmp_path, FIRST + DAY / 2)
    secrets = {"HOOK": f"{NOWHERE}/hook", "SECRET": "not-a-secret" * 3}
    storm = Storm(tmp_path, clock, secrets, days=1, seed=1)
    storm.monitors = storm.monitors[1:2]
    storm.prepare(store="sqlite:///monitor.db", mlflow=NOWHERE, prefix="none")
    database = Database(f"sqlite:///{tmp_path}/monitor.db")
    try:
        with closing(database):
            storm.serve(1)
            assert comes(database, "select count(*) from rounds where state = 'closed'", 90)
            clock.show(clock.now + 10 * DAY)
            assert comes(database, "select count(*) from rounds where state = 'skipped'", 30)

            clock.show(FIRST + DAY / 2 + MINUTE)
            time.sleep(3)
            clock.show(FIRST + DAY + MINUTE)

            drawn = "select count(*) from rounds where slot = '2031-03-02 00:00:00.000000'"
            assert comes(database, f"{drawn} and state <> 'skipped'", 90)
    finally:
        storm.end_all()


def comes(database, query, seconds):
    """Wait until a count is not 0."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with database.read() as connection:
                if connection.execute(text(query)).scalar_one():
                    return True
        except Exception:  # noqa: BLE001  there is no table yet
            time.sleep(0.2)
        time.sleep(0.2)
    return False
