"""Estimates of all metrics: what `estimate` returns, and `evaluate` with more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.domain.report import EstimateRow
from monitor.drawing.svg import QUIET, circle, line, picture, text_at
from monitor.presentation.estimates import caution_lines, reason_text
from monitor.presentation.numbers import PointAndInterval, interval_text
from monitor.presentation.table import Table
from monitor.results.result import Picture, Result
from monitor.stats.core.metrics import METRICS

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
_ENDS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw_intervals(estimates: Mapping[str, PointAndInterval], title: str) -> bytes:
    """Draw metrics between 0 and 1, by what they are called; those without a point are left out.

    Raises `InputRefused` if no metric has a point.
    """
    drawn = {name: each for name, each in estimates.items() if each.point is not None}
    if not drawn:
        message = "there is nothing to draw: no metric could be estimated"
        raise InputRefused(message)
    bottom = _TOP + _ROW * len(drawn)
    shapes = [text_at((8, 20), title, 12, bold=True, room=_WIDTH - 16)]
    for share in _ENDS:
        shapes += [
            line((_across(share), _TOP - 8), (_across(share), bottom), "#DDDDDD", 0.6),
            text_at((_across(share), bottom + 12), f"{share:g}", 9, anchor="middle"),
        ]
    for index, (name, estimate) in enumerate(drawn.items()):
        shapes += _interval_row(name, estimate, _TOP + _ROW * index + 4)
    return picture((_WIDTH, bottom + 20), title, "Points and intervals.", shapes)


def _interval_row(name: str, estimate: PointAndInterval, middle: float) -> list[str]:
    low, point, high = (
        _across(value or 0.0) for value in (estimate.low, estimate.point, estimate.high)
    )
    return [
        text_at((_AXIS_START - 10, middle + 3.5), name, 10, anchor="end"),
        line((low, middle), (high, middle), _COLOUR, 2),
        circle((point, middle), 3.2, "white", _COLOUR),
        text_at((_AXIS_END + 12, middle + 3.5), interval_text(estimate), 9, colour=QUIET),
    ]


def _across(share: float) -> float:
    return _AXIS_START + share * (_AXIS_END - _AXIS_START)


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
        message = f"there is no {estimand} estimate of {metric!r}; known: {', '.join(METRICS)}"
        raise InputRefused(message)

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

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"estimates": [...]}``."""
        return {"estimates": self.estimates}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each metric and estimand."""
        import pandas as pd  # noqa: PLC0415 - a second that only tables need

        return pd.DataFrame(self.estimates, columns=list(COLUMNS))

    def plot(self) -> Picture:
        """Draw points and intervals of the main metrics.

        Raises `InputRefused` if no metric could be estimated.
        """
        rates = {row["metric"]: row for row in self.estimates if row["estimand"] == "rate"}
        rows = {name: _row(rates[name]) for name in HEADLINE if name in rates}
        level = f"{100 * self.estimates[0]['level']:.4g}%"
        return Picture(draw_intervals(rows, f"Rates of the classifier, {level} intervals"))


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
