"""Estimates of all metrics: what `estimate` returns, and `evaluate` with more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.domain.report import EstimateRow
from monitor.drawing.scales import Linear
from monitor.drawing.svg import QUIET, circle, line, picture, text_at
from monitor.presentation.estimates import caution_lines, reason_text
from monitor.presentation.numbers import PointAndInterval, interval_text
from monitor.presentation.table import Table
from monitor.results.result import Picture, Result
from monitor.stats.core.counts import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd


HEADLINE = ("precision", "recall", "f1", "specificity", "prevalence", "flagged_rate")
"""Metrics to name first; all lie between 0 and 1."""

COLUMNS = ("metric", "estimand", "point", "low", "high", "level", "reason", "caution")
"""Of the table of estimates."""


_WIDTH, _ROW = 540.0, 20.0  # points
_AXIS_START, _AXIS_END = 130.0, 390.0
_TOP = 46.0
_COLOUR = "#0072B2"  # Okabe and Ito's blue


def draw_intervals(estimates: Mapping[str, PointAndInterval], title: str) -> bytes:
    """Draw metrics, by what they are called; those without a point are left out.

    The axis goes from 0 to 1, or from -1 if an interval reaches below 0.

    Raises `InputRefused` if no metric has a point.
    """
    drawn = {name: each for name, each in estimates.items() if each.point is not None}
    if not drawn:
        message = "there is nothing to draw: no metric could be estimated"
        raise InputRefused(message)
    bottom = _TOP + _ROW * len(drawn)
    shapes = [text_at((8, 20), title, 12, bold=True, room=_WIDTH - 16)]
    lowest = -1.0 if any((each.low or 0.0) < 0 for each in drawn.values()) else 0.0
    axis = Linear(lowest, 1.0)
    for value in (lowest + step * (1 - lowest) / 4 for step in range(5)):
        at = _across(axis, value)
        shapes += [
            line((at, _TOP - 8), (at, bottom), "#DDDDDD", 0.6),
            text_at((at, bottom + 12), f"{value:g}", 9, anchor="middle"),
        ]
    for index, (name, estimate) in enumerate(drawn.items()):
        shapes += _interval_row(axis, name, estimate, _TOP + _ROW * index + 4)
    return picture((_WIDTH, bottom + 20), title, "Points and intervals.", shapes)


def _interval_row(axis: Linear, name: str, estimate: PointAndInterval, middle: float) -> list[str]:
    low, point, high = (
        _across(axis, value or 0.0) for value in (estimate.low, estimate.point, estimate.high)
    )
    return [
        text_at((_AXIS_START - 10, middle + 3.5), name, 10, anchor="end"),
        line((low, middle), (high, middle), _COLOUR, 2),
        circle((point, middle), 3.2, "white", _COLOUR),
        text_at((_AXIS_END + 12, middle + 3.5), interval_text(estimate), 9, colour=QUIET),
    ]


def _across(axis: Linear, value: float) -> float:
    return _AXIS_START + axis.share(value) * (_AXIS_END - _AXIS_START)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Estimates(Result):
    """Estimates of all metrics.

    Parameters
    ----------
    estimates
        A dict for each metric and estimand: ``metric``, ``estimand``, ``basis``, ``point``,
        ``low``, ``high``, ``level``, ``method``, ``reason``, ``caution``. Estimand ``rate`` is the
        classifier's, ``window`` describes the very items of the window. ``point`` and ends are
        None where the metric is undefined, with a ``reason``.
    """

    estimates: list[dict[str, Any]]

    def estimate(self, metric: str, estimand: str = "rate") -> dict[str, Any]:
        """Find the estimate of a metric.

        Raises `InputRefused` if no estimate has that name.
        """
        for row in self.estimates:
            if (row["metric"], row["estimand"]) == (metric, estimand):
                return row
        names = dict.fromkeys(row["metric"] for row in self.estimates)
        message = f"there is no {estimand} estimate of {metric!r}; known: {', '.join(names)}"
        raise InputRefused(message)

    def ends(self, metric: str) -> tuple[float, float, float] | None:
        """Point, low and high of a metric of the classifier; None if it is not estimable."""
        row = self.estimate(metric)
        if row["point"] is None:
            return None
        return row["point"], row["low"], row["high"]

    def metric_text(self, metric: str) -> str:
        """Return the interval and caution of a metric, or the reason why it is not estimable."""
        row, ends = self.estimate(metric), self.ends(metric)
        if ends is None:
            return f"not estimable: {row['reason']}"
        caution = "" if row["caution"] is None else f" ({row['caution']})"
        return f"{interval_text(Interval(*ends))}{caution}"

    def document(self) -> Sequence[str | Table]:
        """Return the table of rates and values of the window, then reasons and cautions."""
        rows = [_row(estimate) for estimate in self.estimates]
        remarks = [
            *(
                f"{row.metric} ({row.estimand}): {reason_text(row.reason)}"
                for row in rows
                if row.point is None
            ),
            *caution_lines((row["metric"], row["caution"]) for row in self.estimates),
        ]
        table = Table(["metric", "rate", "window"], _cells(rows))
        return [table, "", *remarks] if remarks else [table]

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each metric and estimand."""
        import pandas as pd  # noqa: PLC0415 - a second that only tables need

        return pd.DataFrame(self.estimates, columns=list(COLUMNS))

    def plot(self) -> Picture:
        """Draw points and intervals of the main metrics.

        Raises `InputRefused` if no metric could be estimated.
        """
        level = f"{100 * self.estimates[0]['level']:.4g}%"
        return self.draw(HEADLINE, f"Rates of the classifier, {level} intervals")

    def draw(self, metrics: Iterable[str], title: str) -> Picture:
        """Draw points and intervals of the rates of some metrics.

        Raises `InputRefused` if no metric could be estimated.
        """
        rates = {row["metric"]: row for row in self.estimates if row["estimand"] == "rate"}
        rows = {name: _row(rates[name]) for name in metrics if name in rates}
        return Picture(draw_intervals(rows, title))


def _row(estimate: dict[str, Any]) -> EstimateRow:
    fields = {name: estimate[name] for name in EstimateRow.model_fields if name in estimate}
    return EstimateRow(**fields)


def _cells(rows: Iterable[EstimateRow]) -> list[list[str]]:
    """One line for each metric: the rate behind the window, and the window's own value."""
    texts: dict[str, dict[str, str]] = {}
    for row in rows:
        texts.setdefault(row.metric, {})[row.estimand] = interval_text(row)
    return [
        [metric, estimates["rate"], estimates.get("window", "")]
        for metric, estimates in texts.items()
    ]
