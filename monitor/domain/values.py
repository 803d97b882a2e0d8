"""Values of a column as a sentence names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 4
_LONGEST = 40  # characters of one value


def listed(values: Mapping[str, int]) -> str:
    """Say which values there are, the most frequent first.

    >>> listed({"spam": 3, "ham": 20})
    "'ham' (20 rows), 'spam' (3 rows)"
    """
    ordered = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{text[:_LONGEST]!r} ({count} rows)" for text, count in ordered[:_SHOWN]]
    more = len(ordered) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
