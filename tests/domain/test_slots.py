"""Slots and windows: no hole, no overlap, whatever the clocks do."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.domain.settings import Schedule
from monitor.domain.slots import (
    newest_slot,
    rounds_per,
    slots_after,
    slots_before,
    slots_between,
    slots_of_windows,
    window_of,
)

ZONES = [
    "UTC",
    "Europe/Prague",
    "Europe/London",
    "America/New_York",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Havana",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Asia/Beirut",
    "Africa/Cairo",
    "Atlantic/Azores",
    "Pacific/Apia",
]
CRONS = {
    "0 6 * * MON": 730,
    "0 0 * * *": 400,
    "30 2 * * *": 400,
    "30 1 * * *": 400,
    "0 */6 * * *": 250,
    "15 * * * *": 45,
}
"""How many days from March on are looked at: clocks change in all zones in its first weeks."""

schedules = st.builds(
    Schedule,
    cron=st.sampled_from(list(CRONS)),
    time_zone=st.sampled_from(ZONES),
    lag=st.sampled_from([timedelta(0), timedelta(hours=6), timedelta(days=3)]),
)
moments = st.datetimes(
    datetime.fromisoformat("2024-01-01"),
    datetime.fromisoformat("2026-12-31"),
    timezones=st.just(UTC),
)


@pytest.mark.parametrize("zone", ["Europe/Prague", "Australia/Lord_Howe", "Asia/Beirut"])
def test_windows_have_no_hole_and_no_overlap_whatever_the_clocks_do(zone):
    march = datetime(2025, 3, 1, tzinfo=UTC)
    for cron, days in CRONS.items():
        schedule = Schedule(cron=cron, time_zone=zone, lag=timedelta(hours=6))
        slots = slots_between(schedule, march, march + timedelta(days=days))

        windows = [window_of(schedule, slot) for slot in slots]

        assert len(windows) > 100, cron
        assert all(a.end == b.start for a, b in pairwise(windows)), cron
        assert all(window.start < window.end for window in windows), cron
        assert [window.end + schedule.lag for window in windows] == slots, cron


@given(schedules, moments)
def test_looking_back_finds_the_slots_that_looking_ahead_found(schedule, moment):
    ahead = list(islice(slots_after(schedule, moment), 12))

    back = list(islice(slots_before(schedule, ahead[-1] + timedelta(seconds=1)), 12))

    assert back[::-1] == ahead


@given(schedules, moments)
def test_the_newest_slot_is_the_last_one_not_after_now(schedule, moment):
    newest = newest_slot(schedule, moment)

    assert newest <= moment < next(slots_after(schedule, newest))


def test_a_backfill_covers_whole_windows_that_begin_at_its_start_or_later():
    schedule = Schedule(cron="0 0 1 1 *", lag=timedelta(hours=6))

    slots = slots_of_windows(
        schedule, datetime(2015, 12, 31, 18, tzinfo=UTC), datetime(2018, 6, 1, tzinfo=UTC)
    )

    assert [slot.year for slot in slots] == [2017, 2018]
    assert window_of(schedule, slots[0]).start == datetime(2015, 12, 31, 18, tzinfo=UTC)


@settings(max_examples=25, deadline=None)  # 366 leap days one by one take a while
@given(
    days=st.sampled_from(
        ("* * MON", "* * *", "* * MON-FRI", "1 * *", "1 */3 *", "29 2 *", "1 1 MON", "L * *")
    ),
    hour=st.sampled_from(("0", "02", "6", "23", "6,18", "2,3", "*/6")),
    minute=st.sampled_from(("0", "30", "59", "*/20")),
    zone=st.sampled_from(ZONES),
)
def test_rounds_per_a_time_are_those_that_counting_slots_one_by_one_gives(days, hour, minute, zone):
    schedule = Schedule(cron=f"{minute} {hour} {days}", time_zone=zone)
    monday = datetime(2024, 1, 1, tzinfo=UTC)
    slots = list(islice(slots_after(schedule, monday), 366))

    found = rounds_per(schedule, timedelta(weeks=52))

    # The clocks may have changed between the first and the last, which may end a day of many slots.
    assert found == pytest.approx(timedelta(weeks=52) / ((slots[-1] - slots[0]) / 365), rel=0.02)
