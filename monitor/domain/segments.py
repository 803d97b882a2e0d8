"""Segments: values of a column, such as a country, that get separate results.

All sources keep only the largest values, and make their invisible characters visible. Reports have
rows for each value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from monitor.domain.model import Candidate, StratumFrame
from monitor.domain.setting_types import Report
from monitor.domain.visible import visible

MOST_VALUES = 20
"""Most values of a segment column shown in a window; smaller ones are added up as `OTHER`."""

OTHER = "(other)"
NO_VALUE = "(no value)"

KeyT = TypeVar("KeyT", bound=str)


def largest_values(sizes: Sequence[Mapping[str, int]], most: int = MOST_VALUES) -> frozenset[str]:
    """Return the largest values over all strata; ties go to the first by name.

    >>> sorted(largest_values([{"CZ": 5, "SK": 1}, {"SK": 2, "PL": 3}], most=2))
    ['CZ', 'PL']
    """
    totals: Counter[str] = Counter()
    for part in sizes:
        totals.update(part)
    ordered = sorted((value for value in totals if totals[value]), key=lambda v: (-totals[v], v))
    return frozenset(ordered[:most])


def folded(sizes: Mapping[str, int], largest: frozenset[str]) -> dict[str, int]:
    """Add up the values that are not among the largest as ``(other)``; omit values of size 0.

    >>> folded({"CZ": 5, "SK": 1, "PL": 2, "DE": 0}, frozenset({"CZ"}))
    {'CZ': 5, '(other)': 3}
    """
    result: dict[str, int] = {}
    for value in sorted(sizes, key=lambda value: (value not in largest, value)):
        if sizes[value]:
            name = value if value in largest else OTHER
            result[name] = result.get(name, 0) + sizes[value]
    return result


def scaled(sizes: Mapping[KeyT, int], total: int) -> dict[KeyT, int]:
    """Scale sizes to a total by the largest-remainder method; ties go to the first.

    >>> scaled({"CZ": 60, "SK": 41}, 100)
    {'CZ': 59, 'SK': 41}
    """
    rows = sum(sizes.values())
    if rows in (0, total):
        return dict(sizes)
    result = {key: size * total // rows for key, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda key: -(sizes[key] * total % rows))
    for key in by_remainder[: total - sum(result.values())]:
        result[key] += 1
    return result


def with_segments(
    parts: Sequence[StratumFrame], columns: Sequence[str]
) -> tuple[StratumFrame, ...]:
    """Keep the largest values of each segment column and merge the others into `OTHER`."""
    empty: tuple[Mapping[str, int], ...] = tuple({} for _ in columns)
    sizes = [tuple(map(_shown, part.segments)) or empty for part in parts]
    largest = [largest_values([of[i] for of in sizes]) for i in range(len(columns))]
    return tuple(_with_largest(part, of, largest) for part, of in zip(parts, sizes, strict=True))


def _with_largest(
    part: StratumFrame, sizes: Sequence[Mapping[str, int]], largest: Sequence[frozenset[str]]
) -> StratumFrame:
    return replace(
        part,
        candidates=tuple(_named(candidate, largest) for candidate in part.candidates),
        segments=tuple(folded(values, keep) for values, keep in zip(sizes, largest, strict=True)),
    )


def _shown(sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Add up sizes by visible spelling."""
    result: Counter[str] = Counter()
    for value, size in sizes.items():
        result[visible(value)] += size
    return result


def _named(candidate: Candidate, largest: Sequence[frozenset[str]]) -> Candidate:
    if not largest:
        return candidate
    values = zip(map(visible, candidate.segments), largest, strict=True)
    named = tuple(value if value in keep else OTHER for value, keep in values)
    return replace(candidate, segments=named)


class OwnEstimate(NamedTuple):
    """An estimate from a segment's own labels only; all None if it is undefined."""

    point: float | None
    low: float | None
    high: float | None


class SegmentRow(Report):
    """Precision or recall of one segment in this round alone, for the window's own items.

    ``point`` and ends borrow strength from the labels of other segments; the three ``alone`` fields
    do not. ``more_round`` and ``more_segment`` are the labels still needed to reach ``margin``, if
    added to the whole round (None: no number suffices) or to the segment only. These two and
    ``margin`` are None if the metric is undefined.
    """

    segment: str
    value: str
    metric: str
    size: int
    flagged: int
    labeled: int
    point: float | None
    low: float | None
    high: float | None
    alone_point: float | None = None
    alone_low: float | None = None
    alone_high: float | None = None
    reason: str | None = None
    margin: float | None = None
    more_round: int | None = None
    more_segment: int | None = None

    @property
    def alone(self) -> OwnEstimate:
        """The estimate from the segment's own labels only."""
        return OwnEstimate(self.alone_point, self.alone_low, self.alone_high)


class ErrorCount(NamedTuple):
    """Labeled items of a class, number of errors, and number expected at the rate of the rest."""

    labeled: int
    wrong: int
    expected: float


class WorseSegmentRow(Report):
    """A segment, or a pair of them, with more errors than the rest of its strata.

    ``metric`` is the worse metric: ``precision``, ``recall`` or ``both``. ``odds`` is the odds
    ratio of errors against the rest in the last ``rounds`` rounds (``high`` is None above 8).
    """

    segment: dict[str, str]
    metric: str
    rounds: int
    flagged: ErrorCount
    passed: ErrorCount
    odds: float
    low: float
    high: float | None
    log_evidence: float


class SegmentSearchRow(Report):
    """Number of segments and pairs searched, and the ``worse`` ones.

    ``level`` bounds the expected share of false discoveries among the worse ones, and the expected
    share of their intervals that miss.
    """

    searched: int
    rounds: int
    level: float
    worse: list[WorseSegmentRow]
