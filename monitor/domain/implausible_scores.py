"""Checks for codes of missing scores, such as -1, and for scores on another scale (percent)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

_CODES = {sign * int(nines) for nines in ("1", "9", "99", "999", "9999") for sign in (-1, 1)}
"""Numbers that people use as codes for a missing value."""

_PERCENT = 50, 100  # Between these is the highest of many scores that count in percent


def implausible_scores(scores: Iterable[float], threshold: float) -> str | None:
    """Describe scores that should not be compared with a threshold; None if all are plausible.

    >>> implausible_scores([0.1, 0.9, -1, -1], 0.5)
    '2 of 4 scores are -1, far below all others, the nearest of which is 0.1; if -1 \
stands for a missing score, leave the score empty, since it decides whether an item is flagged'
    >>> implausible_scores([0.1, 0.9, 0.5], 0.5)
    """
    rows = Counter(scores)
    for code, nearest in _far_ends(rows):
        if code in _CODES and rows[code] > 1:
            return _code_sentence(rows[code], rows.total(), code, nearest)
    return percent_fault(rows.elements(), threshold)


def percent_fault(scores: Iterable[float], threshold: float) -> str | None:
    """Report scores in percent if the threshold is a share; None if there are none.

    >>> percent_fault([20, 90, 0.5], 0.5)
    '2 of 3 scores are above 1, up to 90; if some are in percent, write them as shares, as the \
threshold is'
    >>> percent_fault([20, 90, 0.5], 50)
    """
    rows = Counter(scores)
    beyond = sum(count for score, count in rows.items() if score > 1)
    if threshold > 1 or not beyond or min(rows) < 0:
        return None
    highest = max(rows)
    if not _PERCENT[0] < highest <= _PERCENT[1]:
        return None
    return (
        f"{beyond} of {rows.total()} scores are above 1, up to {highest:.3g}; if some are in "
        "percent, write them as shares, as the threshold is"
    )


def _far_ends(scores: Iterable[float]) -> Iterator[tuple[float, float]]:
    """Yield the lowest and the highest score, with its nearest, if it is far from all others.

    "Far" means at least as far as the range of the others.
    """
    values = sorted(scores)
    if len(values) > 2:  # noqa: PLR2004  else the others lie nowhere apart
        ends = ((values[0], values[1], values[-1]), (values[-1], values[-2], values[0]))
        for end, nearest, other in ends:
            if abs(end - nearest) >= abs(nearest - other):
                yield end, nearest


def _code_sentence(rows: int, total: int, code: float, nearest: float) -> str:
    side = "below" if code < nearest else "above"
    return (
        f"{rows} of {total} scores are {code:g}, far {side} all others, the "
        f"nearest of which is {nearest:.3g}; if {code:g} stands for a missing score, leave the "
        "score empty, since it decides whether an item is flagged"
    )
