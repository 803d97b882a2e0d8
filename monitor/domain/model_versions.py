"""Which model version a window is estimated for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

LEAST_SHARE = 0.1
"""Share of a window's rows from which on a version can be the estimated one.

Canaries and smoke tests get a few percent of the traffic beside the version in use. A rollout in
the last day of a week has more than a tenth of its rows.
"""

T = TypeVar("T", int, float)


def estimated_version(rows: Mapping[str, int], newest: Mapping[str, T]) -> str | None:
    """Choose the version of the newest prediction, of those with a tenth of the rows or more.

    rows, newest: Number of rows and time of the newest one, by version.

    Returns the version with the most rows if no version has a tenth; None without any version.

    >>> estimated_version({"7": 599, "8": 1}, {"7": 598, "8": 599})
    '7'
    >>> estimated_version({"7": 500, "8": 100}, {"7": 500, "8": 600})
    '8'
    """
    total = sum(rows.values())
    many = [version for version in rows if rows[version] >= LEAST_SHARE * total]
    if many:
        return max(many, key=lambda version: (newest[version], version))
    return max(rows, key=lambda version: (rows[version], newest[version], version), default=None)
