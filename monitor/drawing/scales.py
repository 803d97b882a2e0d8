"""Scales of an axis: where a value falls between its ends, and what is written beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_STEPS = (1, 2, 5)
_MOST_LINEAR, _MOST_TIMES = 7, 9
_LEAST = 1e-12
_WITHOUT_ENDS = 1.0  # span of an axis whose ends are one
_FEW_DECADES = 3.0  # so few need labels between them
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_SPANS = (*(_HOUR * n for n in (1, 2, 3, 6, 12)), *(_DAY * n for n in (1, 2, 7, 14)))
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120)
_YEAR = 12  # months


class Tick(NamedTuple):
    """A place on an axis; one without a label is a small one."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Linear:
    """Equal steps for equal differences; ``share`` is 0 where the axis begins, 1 where it ends."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return where a value falls."""
        return (value - self.low) / (self.high - self.low or _WITHOUT_ENDS)

    def ticks(self) -> list[Tick]:
        """List round values."""
        span = self.high - self.low or _WITHOUT_ENDS
        step = next(step for step in _round_steps(span) if span / step < _MOST_LINEAR)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        decimals = max(0, -math.floor(math.log10(step)))
        return [Tick(each * step, f"{each * step:.{decimals}f}") for each in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Log:
    """Equal steps for equal ratios; the high end may come first."""

    low: float
    high: float
    label: Callable[[float], str] = "{:g}".format

    def share(self, value: float) -> float:
        """Return where a value falls; 0 falls far out."""
        start = math.log(self.low)
        return (math.log(max(value, _LEAST)) - start) / (
            math.log(self.high) - start or _WITHOUT_ENDS
        )

    def ticks(self) -> list[Tick]:
        """Mark 1 to 9 of each power of ten, and label the powers; more where there are few."""
        low, high = sorted((self.low, self.high))
        labeled = _STEPS if math.log10(high / low) < _FEW_DECADES else (1,)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [
            Tick(value, self.label(value) if digit in labeled else "")
            for power in powers
            for digit in range(1, 10)
            if low * (1 - 1e-9) <= (value := float(f"{digit}e{power}")) <= high * (1 + 1e-9)
        ]


@dataclass(frozen=True, slots=True)
class Time(Linear):
    """Seconds since 1970, labeled as dates of UTC."""

    def ticks(self) -> list[Tick]:
        """List round times: hours, days, Mondays, or firsts of a month."""
        for step in _SPANS:
            if (self.high - self.low) / step.total_seconds() <= _MOST_TIMES:
                return [Tick(at.timestamp(), _day_label(at, step)) for at in self._every(step)]
        months = next((m for m in _MONTHS if len(self._firsts(m)) <= _MOST_TIMES), _MONTHS[-1])
        return [Tick(at.timestamp(), _month_label(at, months)) for at in self._firsts(months)]

    def context(self) -> str:
        """Describe what the labels leave out: the day, or the year, at the end of the axis."""
        end = datetime.fromtimestamp(self.high, UTC)
        is_hours = (self.high - self.low) / _DAY.total_seconds() <= _MOST_TIMES / 2
        return f"{end:%Y-%m-%d}" if is_hours else f"{end:%Y}"

    def _every(self, step: timedelta) -> Iterator[datetime]:
        first = datetime.fromtimestamp(self.low, UTC)
        at = first + (_MONDAY - first) % step
        while at.timestamp() <= self.high:
            yield at
            at += step

    def _firsts(self, months: int) -> list[datetime]:
        """First days of every ``months`` months, counted from January of year 0."""
        first = datetime.fromtimestamp(self.low, UTC)
        month = first.year * _YEAR + first.month - 1
        last = datetime.fromtimestamp(self.high, UTC)
        end = last.year * _YEAR + last.month
        days = [
            datetime(each // _YEAR, each % _YEAR + 1, 1, tzinfo=UTC)
            for each in range(-(-month // months) * months, end, months)
        ]
        return [day for day in days if self.low <= day.timestamp() <= self.high]


Scale = Linear | Log


def _round_steps(span: float) -> Iterator[float]:
    power = math.floor(math.log10(span)) - 2
    while True:
        yield from (float(f"{step}e{power}") for step in _STEPS)
        power += 1


def _day_label(at: datetime, step: timedelta) -> str:
    if step < _DAY and at.hour:
        return f"{at:%H:%M}"
    return f"{at.day} {at:%b}"


def _month_label(at: datetime, months: int) -> str:
    return f"{at:%Y}" if at.month == 1 or months >= _YEAR else f"{at:%b}"
