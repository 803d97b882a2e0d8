"""R7: years on a simulated clock in 15 time zones, with ticks as bad as clocks make them."""

import random
from bisect import bisect_right
from datetime import timedelta
from itertools import islice, zip_longest

import pytest
from sqlalchemy import select

from monitor.domain.settings import Schedule
from monitor.domain.slots import slots_before, slots_between, window_of
from monitor.domain.state import RoundState
from monitor.rounds.opening.due import open_due
from monitor.storage.tables import rounds
from tests.faults.sizes import SOAK, sized
from tests.faults.wall_clock import JOBS, LEAP_OF_APIA, YEARS, ZONES, WallClock
from tests.rounds.scene import Scene, settings

CLOCKS = [WallClock(zone, *YEARS) for zone in ZONES] + [WallClock(*LEAP_OF_APIA)]
SECOND = timedelta(seconds=1)
PACE = sized(small=90, soak=11) / 10
"""Longest usual time between ticks, in times that a slot takes; many slots are then skipped."""
ODD_STEPS = (
    timedelta(0),  # the same tick twice
    timedelta(minutes=-20),  # the clock goes back
    timedelta(hours=-5),
    timedelta(days=-2),
    timedelta(minutes=47),  # late
    timedelta(days=3),  # the service was down
    timedelta(days=3, minutes=1),
)


@pytest.fixture
def store_url(sqlite_url):
    return sqlite_url


def wrong_slots(clock, job):
    """Spans in which slots are not those that the clock on the wall shows."""
    schedule = Schedule(cron=job.cron, time_zone=clock.zone)
    shown = clock.slots(job)
    for start, end in [(clock.start, clock.end)] if SOAK else clock.spans(shown):
        wanted = shown[bisect_right(shown, start) : bisect_right(shown, end)]
        ahead = slots_between(schedule, start, end)
        back = list(islice(slots_before(schedule, end + SECOND), len(wanted)))
        if (ahead, back) != (wanted, wanted[::-1]):
            yield f"{clock} {job.cron}, {start} to {end}"


def test_slots_are_those_of_the_wall_and_each_due_one_ends_as_one_round_or_one_recorded_skip(
    database,
):
    wrong, due = [], 0
    for place, clock in enumerate(CLOCKS):
        wrong += [each for job in JOBS for each in wrong_slots(clock, job)]
        for job, most in some_jobs(place):
            schedule = Schedule(cron=job.cron, time_zone=clock.zone)
            scene = Scene(database, settings(schedule=schedule), name=f"{clock} {job.cron}")
            slots = clock.slots(job)[:most]
            ticks = some_ticks(random.Random(scene.name), slots)  # noqa: S311

            for scene.now in ticks:
                open_due(scene.context)

            wanted = what_is_to_be(slots, ticks)
            wrong += [f"{scene.name}: {difference}" for difference in differences(scene, wanted)]
            due += len(wanted)

    assert wrong == []
    assert due > sized(small=1_500, soak=150_000)


def some_jobs(place):
    """Jobs whose rounds are opened by a clock, with the number of their slots to look at.

    Some clocks open a daily one for a year and another one, the others none. The soak takes all.
    """
    if SOAK:
        return [(job, 10_000) for job in JOBS]
    return [(JOBS[1], 365), (JOBS[3 + place % 5], 100)] * (place % 4 == 1)


def some_ticks(rng, slots):
    """Ticks that mostly come on time, and in one of four cases as they should not."""
    now, ticks = slots[0] + timedelta(seconds=rng.randrange(60)), []
    usual = min(slots[1] - slots[0], timedelta(days=1))
    while now < slots[-1]:
        ticks.append(now)
        now += rng.choice(ODD_STEPS) if rng.random() < 0.25 else usual * rng.uniform(0.4, PACE)
    return [*ticks, slots[-1]]


def what_is_to_be(slots, ticks):
    """State of each slot from the first on: run if it was the newest at some tick, else skipped."""
    newest = [bisect_right(slots, tick) - 1 for tick in ticks]
    run = {slots[place] for place in newest if place >= newest[0]}
    return {
        slot: RoundState.OPEN if slot in run else RoundState.SKIPPED for slot in slots[newest[0] :]
    }


def differences(scene, wanted):
    """Slots without their one round, in another state, out of order, or with a wrong window."""
    query = select(rounds).where(rounds.c.monitor_id == monitor_id(scene)).order_by(rounds.c.id)
    with scene.database.read() as connection:
        found = connection.execute(query).all()
    first = window_of(scene.settings.schedule, next(iter(wanted))).start
    starts = [first, *list(wanted)[:-1]]
    right = [
        (number, slot, state, start, slot)
        for number, ((slot, state), start) in enumerate(
            zip(wanted.items(), starts, strict=True), start=1
        )
    ]
    stored = [(row.number, row.slot, row.state, row.window_start, row.window_end) for row in found]
    return [(one, other) for one, other in zip_longest(right, stored) if one != other]


def monitor_id(scene):
    [row] = scene.rows("select id from monitors where name = :name", name=scene.name)
    return row["id"]
