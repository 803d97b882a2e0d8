"""Buckets of counted rows: a stratum's position, or a negative code for a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from monitor.domain.model import BadRow, Candidate, Decisions
from monitor.domain.model_versions import estimated_version
from monitor.domain.values import MISSING_MARKERS

OUTSIDE = -1
NAIVE_TIME = -2
TIME_MISSING = -3
TIME_UNPARSABLE = -4
ID_MISSING = -5
VERSION_MISSING = -6
PREDICTED_MISSING = -7
SCORE_MISSING = -8
SCORE_NAN = -9
SCORE_INFINITE = -10
SCORE_UNREADABLE = -11
IN_NO_STRATUM = -12
PREDICTED_UNKNOWN = -13
RELEASED_UNKNOWN = -14
CHANCE_UNUSABLE = -15
LOG_CHANCE_UNUSABLE = -16
AMOUNT_UNUSABLE = -17
AMOUNT_NEGATIVE = -18
AMOUNT_ZERO = -19
WITHHELD = -100
"""Bucket of withheld (not let through) flagged items of stratum 0; -101 is stratum 1, and so on."""

REASONS = {
    TIME_MISSING: BadRow.NO_TIME,
    TIME_UNPARSABLE: BadRow.TIME_UNPARSABLE,
    ID_MISSING: BadRow.NO_ID,
    VERSION_MISSING: BadRow.NO_VERSION,
    PREDICTED_MISSING: BadRow.NO_PREDICTION,
    SCORE_MISSING: BadRow.NO_SCORE,
    SCORE_NAN: BadRow.SCORE_NAN,
    SCORE_INFINITE: BadRow.SCORE_INFINITE,
    SCORE_UNREADABLE: BadRow.SCORE_UNREADABLE,
    IN_NO_STRATUM: BadRow.IN_NO_STRATUM,
    PREDICTED_UNKNOWN: BadRow.UNKNOWN_CLASS,
    RELEASED_UNKNOWN: BadRow.NO_RELEASE,
    CHANCE_UNUSABLE: BadRow.NO_RELEASE_CHANCE,
    LOG_CHANCE_UNUSABLE: BadRow.NO_LOG_CHANCE,
    AMOUNT_UNUSABLE: BadRow.NO_AMOUNT,
    AMOUNT_NEGATIVE: BadRow.NEGATIVE_AMOUNT,
}
UNTIMED = frozenset({TIME_MISSING, TIME_UNPARSABLE})
_NOT_IN_WINDOW = UNTIMED | {OUTSIDE, NAIVE_TIME}


class Chances(NamedTuple):
    """Minimum, sum, sum of inverses, sum of squares and maximum of a number over some rows.

    The number is a row's probability of release or of being in the log, or its amount.
    """

    least: float
    total: float
    inverse: float
    squares: float
    most: float


@dataclass(frozen=True, slots=True)
class BucketCount:
    """Rows of one bucket and model version: their number, newest time and first candidates.

    ``segments`` counts the rows by value of each segment column, ``challenged`` by the challenger's
    decision. ``chance`` summarizes the rows' probabilities or amounts, if rows have individual
    ones.
    """

    bucket: int
    version: str | None
    rows: int
    newest: int | None = None
    candidates: tuple[Candidate, ...] = ()
    example: str | None = None
    segments: tuple[Mapping[str, int], ...] = ()
    challenged: Decisions | None = None
    chance: Chances | None = None


def withheld(bucket: int) -> int:
    """Return the bucket of a stratum's withheld items, and vice versa."""
    return WITHHELD - bucket if bucket >= 0 or bucket <= WITHHELD else bucket


def in_window(counts: Iterable[BucketCount]) -> list[BucketCount]:
    """Keep the counts of rows whose time is known to be in the window."""
    return [one for one in counts if one.bucket not in _NOT_IN_WINDOW]


def newest_version(inside: Sequence[BucketCount]) -> str | None:
    """Return the model version that a window is estimated for; None if no row names one."""
    rows, newest = Counter[str](), dict[str, int]()
    for one in inside:
        if one.version is not None and one.version not in MISSING_MARKERS:
            rows[one.version] += one.rows
            newest[one.version] = max(newest.get(one.version, 0), one.newest or 0)
    return estimated_version(rows, newest)


def of_newest_version(counts: Iterable[BucketCount]) -> list[BucketCount]:
    """Keep the counts of the model version that a window is estimated for."""
    inside = in_window(counts)
    newest = newest_version(inside)
    return [one for one in inside if one.version == newest or one.bucket == VERSION_MISSING]


def rows_in(counts: Iterable[BucketCount], *buckets: int) -> int:
    """Count the rows in these buckets."""
    return sum(one.rows for one in counts if one.bucket in buckets)
