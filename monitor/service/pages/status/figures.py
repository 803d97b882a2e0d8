"""Places of a small figure: the intervals of one metric on a line from 0 to 1, and its limits.

A page draws them as SVG whose places are percent, so it is as wide as its card; the numbers stand
beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.domain.report import EstimateRow


class Bar(NamedTuple):
    """An interval and its point, as percent of the line."""

    low: str
    point: str
    high: str


class Figure(NamedTuple):
    """What is drawn of a metric; None if it is not estimable."""

    pooled: Bar | None
    own: Bar | None
    limits: list[str]


def figure_of(rows: Iterable[EstimateRow], limits: Iterable[float]) -> Figure:
    """Place the estimates of one metric, by their basis."""
    bars = {row.basis: _bar(row) for row in rows}
    return Figure(bars.get("pooled"), bars.get("round"), [_percent(limit) for limit in limits])


def _bar(row: EstimateRow) -> Bar | None:
    if row.point is None or row.low is None or row.high is None:
        return None
    return Bar(*(_percent(value) for value in (row.low, row.point, row.high)))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
