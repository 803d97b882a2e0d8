"""How much is left and how long it takes, in words.

They come from the plan, counts and times: a margin that moved with an answer would tell what was
predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median

from monitor.presentation.numbers import plural

AT_FIRST = 5.0  # Seconds an item takes until it is known how fast somebody reads
PAUSE = 120.0  # Seconds after which somebody was away

_ENOUGH = 5
_MINUTE, _HOUR = 60.0, 3600.0


_WIDE = 0.5  # A half-width from which on a margin says nothing


@dataclass(frozen=True, slots=True)
class AnnotatorProgress:
    """Items left for a person, of them those on other screens, and the seconds each takes.

    ``then`` has the margins that their round is planned for; None if they are of several.
    """

    left: int
    elsewhere: int
    each: float
    then: Mapping[str, float] | None = None

    @property
    def text(self) -> str:
        """Describe it.

        >>> AnnotatorProgress(120, 0, 4.5).text, AnnotatorProgress(1, 0, 5.0).text
        ('120 to go, about 9 minutes', '1 to go, less than a minute')
        >>> AnnotatorProgress(12, 0, 5.0).text, AnnotatorProgress(1500, 0, 4.0).text
        ('12 to go, about 1 minute', '1,500 to go, about 2 hours')
        >>> AnnotatorProgress(120, 0, 4.5, {"precision": 0.068, "recall": 0.09}).text
        '120 to go, about 9 minutes; then precision within ±7 %, recall ±9 %'
        """
        if not self.left:
            return "Nothing to go"
        return f"{self.left:,} to go, {_duration(self.left * self.each)}{_then(self.then or {})}"


def seconds_each(times: Sequence[datetime]) -> float:
    """Seconds that somebody takes for an item, by the times of their last answers.

    >>> seconds_each([])
    5.0
    """
    ordered = sorted(times)
    gaps = [(after - before).total_seconds() for before, after in pairwise(ordered)]
    at_work = [gap for gap in gaps if gap < PAUSE]
    return median(at_work) if len(at_work) >= _ENOUGH else AT_FIRST


def _then(margins: Mapping[str, float]) -> str:
    within = [f"{metric}{{}} ±{half:.0%}" for metric, half in margins.items() if half < _WIDE]
    if not within:
        return ""
    first, *others = within
    text = ", ".join([first.format(" within"), *(other.format("") for other in others)])
    return f"; then {text.replace('%', ' %')}"


def _duration(seconds: float) -> str:
    if seconds < _MINUTE:
        return "less than a minute"
    if seconds < 1.5 * _HOUR:
        return f"about {plural(round(seconds / _MINUTE), 'minute')}"
    return f"about {round(seconds / _HOUR)} hours"
