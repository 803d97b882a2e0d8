"""When cron jobs run, found by looking at the clock on the wall again and again.

Written apart from `monitor.domain.slots`: nothing here knows cronsim, and nothing there walks.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tests.faults.sizes import sized

EVERY = None


@dataclass(frozen=True)
class Job:
    """A cron line and what it means; ``weekday`` counts from Monday, 0."""

    cron: str
    minutes: tuple[int, ...] | None = EVERY
    hours: tuple[int, ...] | None = EVERY
    day: int | None = EVERY
    weekday: int | None = EVERY

    @property
    def at_set_times(self):
        return not any(part.startswith("*") for part in self.cron.split()[:2])

    def is_at(self, wall):
        return (
            (self.minutes is EVERY or wall.minute in self.minutes)
            and (self.hours is EVERY or wall.hour in self.hours)
            and (self.day is EVERY or wall.day == self.day)
            and (self.weekday is EVERY or wall.weekday() == self.weekday)
        )


JOBS = (
    Job("0 0 * * *", (0,), (0,)),
    Job("30 2 * * *", (30,), (2,)),
    Job("0 3 * * *", (0,), (3,)),
    Job("15,45 1-3 * * *", (15, 45), (1, 2, 3)),
    Job("0 6 * * MON", (0,), (6,), weekday=0),
    Job("0 0 1 * *", (0,), (0,), day=1),
    Job("0 */2 * * *", (0,), tuple(range(0, 24, 2))),
    Job("*/15 * * * *", (0, 15, 30, 45)),
)


class Look(NamedTuple):
    """An instant, what the clock shows then, and the times it comes to for the first time."""

    at: datetime
    wall: datetime
    passed: list[datetime]


@dataclass(frozen=True)
class WallClock:
    """The clock of a zone, looked at every ``step`` after ``start`` up to ``end``.

    A quarter of an hour is short enough: all jobs of `JOBS` run at quarters of an hour, and all
    zones change then.
    """

    zone: str
    start: datetime
    end: datetime
    step: timedelta = timedelta(minutes=15)

    def __str__(self):
        return f"{self.zone} {self.start:%Y}"

    @lru_cache(maxsize=1)  # noqa: B019  few clocks, all of them global
    def looks(self):
        zone, at, looks = ZoneInfo(self.zone), self.start, []
        farthest = at.astimezone(zone).replace(tzinfo=None)
        while at < self.end:
            at += self.step
            wall = at.astimezone(zone).replace(tzinfo=None)
            steps = range(1, (wall - farthest) // self.step + 1)
            looks.append(Look(at, wall, [farthest + step * self.step for step in steps]))
            farthest = max(farthest, wall)
        return looks

    def slots(self, job):
        """Instants at which the job runs.

        A job at set times runs when the clock first comes to its time or beyond: so once in the
        hour that is repeated, and at the end of the hour that is left out.
        """
        if job.at_set_times:
            return [look.at for look in self.looks() if any(map(job.is_at, look.passed))]
        return [look.at for look in self.looks() if job.is_at(look.wall)]

    def spans(self, slots):
        """Times to look at for a job with these slots: all, or days about the clock's changes."""
        if len(slots) < 1000:
            return [(self.start, self.end)]
        around = timedelta(days=3)
        changes = [look.at for look in self.looks() if len(look.passed) != 1]
        first_of_each = [b for a, b in pairwise([self.start, *changes]) if b - a > around]
        middle = self.start + (self.end - self.start) / 2
        return [(at - around, at + around) for at in (*first_of_each, middle)]


YEARS = (datetime(2025, 1, 1, tzinfo=UTC), datetime(sized(small=2026, soak=2027), 1, 1, tzinfo=UTC))
ZONES = (
    "UTC",
    "Europe/Prague",
    "Europe/Dublin",  # its winter time is the one that is "saved"
    "America/New_York",
    "America/Havana",  # changes at midnight
    "America/Santiago",  # changes at midnight, in the other half of the year
    "America/Nuuk",  # changes the evening before
    "Africa/Casablanca",  # changes with Ramadan, the other way round
    "Africa/Cairo",  # changes at midnight, on a Thursday
    "Asia/Beirut",
    "Asia/Kathmandu",  # a quarter of an hour beside the others
    "Australia/Lord_Howe",  # changes by half an hour
    "Pacific/Chatham",
    "Pacific/Apia",  # left out the 30th of December 2011
    "Antarctica/Troll",  # changes by two hours
)
LEAP_OF_APIA = ("Pacific/Apia", datetime(2011, 9, 1, tzinfo=UTC), datetime(2012, 5, 1, tzinfo=UTC))
