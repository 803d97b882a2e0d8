"""How much of the random order a scan must look at: a bound on md5 for each large stratum.

Sorting every row of a window by md5 costs more than reading it. The first items of a large stratum
have a small md5, so rows above a bound are left out, and the scan is repeated without one for a
stratum in which too few were below. So the items are the first by md5 whatever was guessed.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.sources.frames import BucketCount

WORTH = 500_000
"""Rows of a window from which on a guess at its strata costs less than it saves."""

CANDIDATES = 200_000
"""Rows that show which share of the window each stratum holds."""

_FEWEST = 50  # rows looked at: of fewer a share is no guess
_DRIFT = 2  # as many times fewer may a stratum hold than the rows looked at say
_DIGITS = 8


def guessed(seen: Mapping[int, int], rows: int, at_most: int) -> dict[int, str]:
    """Give the bound of each bucket that is large enough to have one.

    Parameters
    ----------
    seen
        How many of the rows that were looked at are in each bucket.
    rows
        Rows of the window.
    at_most
        Items wanted of each bucket.
    """
    checked_at = sum(seen.values())
    expected = at_most + 6 * sqrt(at_most) + 20  # with fewer than one chance in a million too few
    bounds = {}
    for bucket, count in seen.items():
        share = _DRIFT * expected * checked_at / (count * rows)
        if bucket >= 0 and count >= _FEWEST and share < 1 / 2:
            bounds[bucket] = f"{int(share * 16**_DIGITS):0{_DIGITS}x}"
    return bounds


def too_low(bounds: Mapping[int, str], groups: Sequence[BucketCount], at_most: int) -> set[int]:
    """Find the buckets whose bound kept out items that were wanted."""
    return {
        group.bucket
        for group in groups
        if group.bucket in bounds and len(group.candidates) < min(at_most, group.rows)
    }
