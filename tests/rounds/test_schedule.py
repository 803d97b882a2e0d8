"""What the page schedule.md says, with its dates: the clocks of Prague in 2026."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from sqlalchemy import event

from monitor.domain.model import Answer
from monitor.domain.settings import Schedule
from monitor.domain.slots import slots_between, window_of
from monitor.rounds.opening import due
from monitor.rounds.opening.due import AT_ONCE
from tests import pages
from tests.crashes import Killed
from tests.rounds.scene import Scene, settings


def utc(month, day, hour=0, minute=0, year=2026):
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def prague(cron, **changes):
    return Schedule(cron=cron, time_zone="Europe/Prague", **changes)


NIGHTLY, HOURLY = prague("30 2 * * *"), prague("30 * * * *")


@pytest.fixture
def scene(database):
    return Scene(database, settings(schedule=NIGHTLY), now=utc(3, 1, 12))


def states(scene):
    query = "select slot, state, reason from rounds order by slot"
    return [(str(row["slot"])[5:16], row["state"]) for row in scene.rows(query)]


@pytest.mark.parametrize(
    ("after", "slots"),
    [
        (utc(3, 28), [utc(3, 28, 1, 30), utc(3, 29, 1), utc(3, 30, 0, 30)]),
        (utc(10, 24), [utc(10, 24, 0, 30), utc(10, 25, 0, 30), utc(10, 26, 1, 30)]),
    ],
    ids=["spring", "autumn"],
)
def test_the_job_of_half_past_two_runs_at_three_in_the_night_without_it_and_once_in_that_with_two(
    after, slots
):
    assert slots_between(NIGHTLY, after, after + timedelta(days=3)) == slots


def test_an_hourly_job_runs_every_sixty_minutes_through_both_nights():
    year = slots_between(HOURLY, utc(1, 1), utc(12, 31))

    assert year[0] == utc(1, 1, 0, 30)
    assert {b - a for a, b in pairwise(year)} == {timedelta(hours=1)}


def test_daily_windows_are_shorter_in_spring_and_longer_in_autumn():
    slots = slots_between(NIGHTLY, utc(1, 1), utc(12, 31))

    odd = {
        f"{slot:%m-%d}": (window.end - window.start) / timedelta(hours=1)
        for slot in slots
        if (window := window_of(NIGHTLY, slot)).end - window.start != timedelta(days=1)
    }

    assert odd == {"03-29": 23.5, "03-30": 23.5, "10-26": 25}


def test_after_a_pause_the_newest_slot_runs_and_older_ones_are_recorded(scene):
    due.open_due(scene.context)
    scene.now = utc(3, 5, 12)

    due.open_due(scene.context)

    assert states(scene) == [
        ("03-01 01:30", "open"),
        ("03-02 01:30", "skipped"),
        ("03-03 01:30", "skipped"),
        ("03-04 01:30", "skipped"),
        ("03-05 01:30", "open"),
    ]
    told = scene.rows("select distinct reason from rounds where state = 'skipped'")
    assert told == [{"reason": "missed: the newest due slot is 2026-03-05 01:30 UTC"}]


def test_a_process_killed_while_it_records_a_long_pause_loses_none_of_it(database):
    scene = Scene(database, settings(schedule=prague("*/15 * * * *")), now=utc(3, 1))
    due.open_due(scene.context)
    scene.now += timedelta(days=12)
    recorded: list[None] = []

    def kill(_):
        recorded.append(None)
        if len(recorded) == 3:
            raise Killed

    event.listen(database.engine, "commit", kill)
    with pytest.raises(Killed):
        due.open_due(scene.context)
    event.remove(database.engine, "commit", kill)
    [left] = scene.rows("select count(*) as n from rounds")
    due.open_due(scene.context)

    assert left["n"] == 1 + AT_ONCE
    stored = scene.rows("select number, state, window_start, window_end from rounds order by slot")
    assert [row["number"] for row in stored] == list(range(1, 12 * 96 + 2))
    assert [row["state"] for row in stored[1:]] == ["skipped"] * (12 * 96 - 1) + ["open"]
    assert all(a["window_end"] == b["window_start"] for a, b in pairwise(stored))
    events = "select count(*) as n, count(distinct round_id) as rounds from round_events"
    assert scene.rows(events) == [{"n": len(stored), "rounds": len(stored)}]


def test_a_clock_that_is_set_back_runs_nothing_twice(scene):
    for day in (1, 2, 3):
        scene.now = utc(3, day, 12)
        due.open_due(scene.context)
    before = scene.rows("select * from rounds")

    for scene.now in (utc(3, 2, 12), utc(3, 1, 1, 29), utc(1, 1, year=2020), utc(3, 3, 13)):
        due.open_due(scene.context)

    assert scene.rows("select * from rounds") == before


def test_slots_skipped_by_a_clock_ahead_of_the_time_are_run_when_they_come(scene):
    due.open_due(scene.context)
    scene.now = utc(3, 6, 12)
    due.open_due(scene.context)

    for scene.now in (utc(3, 1, 13), utc(3, 2, 12), utc(3, 3, 12), utc(3, 7, 12)):
        due.open_due(scene.context)

    assert states(scene) == [
        ("03-01 01:30", "open"),
        ("03-02 01:30", "open"),
        ("03-03 01:30", "open"),
        ("03-04 01:30", "skipped"),
        ("03-05 01:30", "skipped"),
        ("03-06 01:30", "open"),
        ("03-07 01:30", "open"),
    ]


def test_the_page_names_the_dates_that_are_tested():
    page = " ".join(pages.page("schedule").split())

    for words in ("29 March 2026", "25 October 2026", "03:00 (01:00 UTC)", "02:30 (00:30 UTC)"):
        assert words in page


def test_a_round_closed_by_a_clock_that_is_behind_takes_late_labels_no_less_long(database):
    scene = Scene(database, settings(late_labels=timedelta(days=3)))
    scene.play(1)
    scene.draw(2)
    due = scene.now
    scene.answer()
    scene.now = due - timedelta(days=6)
    scene.run()

    scene.now = due + timedelta(days=2)
    item = next(iter(scene.labeler.sent[scene.round(2).name].values())).item_id
    scene.labeler.answers[item] = Answer.CANNOT_TELL
    scene.run()

    assert scene.round(2).closed_at == due - timedelta(days=6)
    assert scene.round(2).version == 2


# From when on slots are due: a monitor's first scheduled round decides, no other does.

DAY = timedelta(days=1)
NOW, MIDNIGHT = utc(3, 10, 12), utc(3, 10)


@pytest.fixture
def daily(database):
    return Scene(database, settings(schedule=Schedule(cron="0 0 * * *"), hooks=("ops",)), now=NOW)


def numbered(daily):
    query = "select number, state, settings from rounds order by slot"
    return [(row["number"], row["state"]) for row in daily.rows(query)]


@pytest.mark.parametrize("backfill", [True, False])
def test_an_old_slot_run_first_makes_no_slot_since_then_due(daily, backfill):
    due.open_slot(daily.context, MIDNIGHT - 4000 * DAY, backfill=backfill)

    due.open_due(daily.context)

    assert numbered(daily) == [(1, "open"), (4001, "open")]


def test_slots_are_due_from_the_first_scheduled_round_on(daily):
    due.open_slot(daily.context, MIDNIGHT - 30 * DAY, backfill=True)
    due.open_due(daily.context)
    daily.now += 3 * DAY

    due.open_due(daily.context)

    assert numbered(daily)[1:] == [(31, "open"), (32, "skipped"), (33, "skipped"), (34, "open")]


def test_a_round_opened_by_hand_hides_no_slot_missed_before_it_and_is_not_opened_again(daily):
    due.open_due(daily.context)
    daily.now += 3 * DAY
    due.open_slot(daily.context, MIDNIGHT + 3 * DAY, backfill=False)

    for _ in range(2):
        due.open_due(daily.context)

    assert numbered(daily) == [(1, "open"), (2, "skipped"), (3, "skipped"), (4, "open")]
