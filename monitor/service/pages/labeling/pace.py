"""How much is left and how long it takes, in words.

They come from counts and times alone, so they are the same whatever anybody answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

AT_FIRST = 5.0
"""Seconds an item takes until it is known how fast somebody reads."""

_PAUSE = 120.0
"""Seconds after which somebody was away."""

_ENOUGH = 5
_MINUTE, _HOUR = 60.0, 3600.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Items left for a person, of them those on other screens, and the seconds each takes."""

    left: int
    elsewhere: int
    each: float

    @property
    def text(self) -> str:
        """Say it.

        Examples
        --------
        >>> Progress(120, 0, 4.5).text, Progress(1, 0, 5.0).text
        ('120 to go, about 9 minutes', '1 to go, less than a minute')
        """
        if not self.left:
            return "Nothing to go"
        return f"{self.left:,} to go, {_duration(self.left * self.each)}"


def seconds_each(times: Sequence[datetime]) -> float:
    """Seconds that somebody takes for an item, by the times of their last answers.

    Examples
    --------
    >>> seconds_each([])
    5.0
    """
    ordered = sorted(times)
    gaps = [(after - before).total_seconds() for before, after in pairwise(ordered)]
    at_work = [gap for gap in gaps if gap < _PAUSE]
    return median(at_work) if len(at_work) >= _ENOUGH else AT_FIRST


def _duration(seconds: float) -> str:
    if seconds < _MINUTE:
        return "less than a minute"
    if seconds < 1.5 * _HOUR:
        minutes = round(seconds / _MINUTE)
        return f"about {minutes} minute{'' if minutes == 1 else 's'}"
    return f"about {round(seconds / _HOUR)} hours"
