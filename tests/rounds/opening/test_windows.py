"""Windows of rounds never overlap, whatever the schedules were and whichever order they open in."""

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from monitor.domain.settings import Schedule
from monitor.domain.slots import slots_between
from monitor.rounds.opening import due
from tests.rounds.scene import Scene, settings

DAILY = Schedule(cron="0 0 * * *")
WEEKLY = Schedule(cron="0 6 * * MON")


def utc(month, day, hour=0, minute=0):
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.fixture
def scene(database):
    return Scene(database, settings(schedule=DAILY), now=utc(3, 4, 12))  # a Wednesday


def windows(scene):
    query = "select slot, state, window_start, window_end from rounds order by slot"
    return [
        (str(row["slot"])[5:16], row["state"], hour(row["window_start"]), hour(row["window_end"]))
        for row in scene.rows(query)
    ]


def hour(text):
    return str(text)[5:16]


def change(scene, schedule, now):
    scene.settings = settings(schedule=schedule)
    scene.now = now
    due.open_due(scene.context)


def test_a_rarer_schedule_begins_where_the_last_window_ended(scene):
    due.open_due(scene.context)

    change(scene, WEEKLY, utc(3, 9, 12))

    assert windows(scene) == [
        ("03-04 00:00", "open", "03-03 00:00", "03-04 00:00"),
        ("03-09 06:00", "open", "03-04 00:00", "03-09 06:00"),
    ]


def test_slots_missed_over_a_change_begin_where_the_last_window_ended(scene):
    due.open_due(scene.context)

    change(scene, Schedule(cron="0 6 * * *"), utc(3, 6, 12))

    assert [window[2:] for window in windows(scene)] == [
        ("03-03 00:00", "03-04 00:00"),
        ("03-04 00:00", "03-04 06:00"),
        ("03-04 06:00", "03-05 06:00"),
        ("03-05 06:00", "03-06 06:00"),
    ]


def test_a_longer_lag_records_slots_whose_window_was_looked_at_already(scene):
    due.open_due(scene.context)

    lagged = Schedule(cron="0 0 * * *", lag=timedelta(hours=36))
    for day in (5, 6, 7):
        change(scene, lagged, utc(3, day, 12))

    assert windows(scene) == [
        ("03-04 00:00", "open", "03-03 00:00", "03-04 00:00"),
        ("03-05 00:00", "skipped", "03-04 00:00", "03-04 00:00"),
        ("03-06 00:00", "open", "03-04 00:00", "03-04 12:00"),
        ("03-07 00:00", "open", "03-04 12:00", "03-05 12:00"),
    ]
    [told] = scene.rows("select reason from rounds where state = 'skipped'")
    assert told["reason"] == "its window is already covered by rounds of an earlier schedule"
    before = windows(scene)
    opened = [due.open_slot(scene.context, utc(3, 5), backfill=each) for each in (True, False)]
    assert (opened, windows(scene)) == ([None, None], before)

    change(scene, DAILY, utc(3, 8, 12))  # a shorter lag again leaves no gap

    assert windows(scene)[-1] == ("03-08 00:00", "open", "03-05 12:00", "03-08 00:00")


def test_a_backfill_by_another_schedule_takes_only_what_no_round_has(database):
    scene = Scene(database, settings(schedule=WEEKLY), now=utc(3, 9, 12))
    due.open_due(scene.context)
    scene.settings = settings(schedule=DAILY)

    opened = [due.open_slot(scene.context, utc(3, day), backfill=True) for day in (1, 2, 3, 9)]

    assert [each is not None for each in opened] == [True, True, True, False]
    assert windows(scene) == [
        ("03-01 00:00", "open", "02-28 00:00", "03-01 00:00"),
        ("03-02 00:00", "open", "03-01 00:00", "03-02 00:00"),
        ("03-03 00:00", "open", "03-02 00:00", "03-02 06:00"),
        ("03-09 06:00", "open", "03-02 06:00", "03-09 06:00"),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_windows_never_overlap_whatever_opens_in_whatever_order(database, seed):
    rng = random.Random(seed)  # noqa: S311
    crons = ["0 0 * * *", "30 2 * * *", "0 6 * * MON", "0 */7 * * *", "0 6 * * THU"]
    scene = Scene(database, settings(schedule=DAILY), now=utc(3, 20))
    for _ in range(25):
        schedule = Schedule(
            cron=rng.choice(crons),
            time_zone=rng.choice(["UTC", "Europe/Prague", "Pacific/Auckland"]),
            lag=timedelta(hours=rng.choice([0, 0, 6, 40])),
        )
        scene.settings = settings(schedule=schedule)
        scene.now += timedelta(hours=rng.randrange(80))
        due.open_due(scene.context)
        slots = slots_between(schedule, scene.now - timedelta(days=25), scene.now)
        due.open_slot(scene.context, rng.choice(slots), backfill=rng.random() < 0.5)

    stored = scene.rows(
        "select window_start as start, window_end as ended from rounds order by window_start, slot"
    )
    assert len(stored) > 25
    assert all(each["start"] <= each["ended"] for each in stored)
    real = [each for each in stored if each["start"] < each["ended"]]
    assert all(a["ended"] <= b["start"] for a, b in pairwise(real))
