"""Choice of the model version that a window is estimated for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

LEAST_SHARE = 0.1
"""Least share of a window's rows for the estimated version.

Canaries and smoke tests get a few percent of the traffic. A version rolled out on the last day of a
week gets more than a tenth of its rows.
"""

T = TypeVar("T", int, float)


def estimated_version(rows: Mapping[str, int], newest: Mapping[str, T]) -> str | None:
    """Return the version with the newest prediction, among those with a tenth of the rows or more.

    rows, newest: Number of rows and time of the newest one, by version.

    Returns the version with the most rows if none has a tenth; None if there are no versions.

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
