"""How likely each value of a metric is: its posterior density, alone and with earlier rounds."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from monitor.drawing import legend
from monitor.drawing.legend import Key
from monitor.drawing.panel import DASHED, DOTTED, Box, Panel
from monitor.drawing.scales import Linear
from monitor.drawing.svg import QUIET, picture, text_at
from monitor.presentation.estimates import BASES
from monitor.report.curve_figures import triple

if TYPE_CHECKING:
    from monitor.domain.curve_rows import DensityRow
    from monitor.domain.report import RoundReport

# Okabe and Ito's colours, which the colour-blind can distinguish; shape and line differ as well
_POOLED = "#0072B2"
_LIMIT = "#B34700"
_SIZE = (330.0, 200.0)  # points
_BOX = Box(38, 40, 282, 122)
_ROOM = 1.08  # over the highest density, and beside the limit


def density_svg(report: RoundReport, metric: str) -> bytes | None:
    """Draw the densities of a metric; None if the report has none."""
    rows = {row.basis: row for row in report.densities if row.metric == metric}
    if not rows:
        return None
    limit = report.limit(metric)
    low = min(row.low for row in rows.values())
    high = max(row.high for row in rows.values())
    if limit is not None and low - (high - low) < limit < high + (high - low):
        low, high = min(low, limit - 0.02), max(high, limit + 0.02)
    highest = max(max(row.density) for row in rows.values())
    panel = Panel(_BOX, Linear(max(low, 0), min(high, 1)), Linear(0, highest * _ROOM))
    panel.grid()
    keys = [*_pooled(panel, report, rows.get("pooled")), *_alone(panel, report, rows.get("round"))]
    if limit is not None and low <= limit <= high:  # elsewhere the numbers say where it is
        panel.up(limit, _LIMIT, 1.3, DASHED)
        keys.append(Key("line", _LIMIT, "limit", DASHED))
    panel.axes()
    panel.names(metric, "density")
    title = f"{metric.capitalize()}: how likely each value is"
    shapes = [
        *panel.shapes(),
        text_at((8, 15), title, 11, bold=True),
        *legend.row(keys, (8, 31), 8),
    ]
    return picture(_SIZE, f"{report.monitor}, round {report.round}: {title}", "", shapes)


def _pooled(panel: Panel, report: RoundReport, row: DensityRow | None) -> list[Key]:
    """Draw the density with earlier rounds, what its interval holds shaded."""
    if row is None:
        return []
    inside = triple(report.estimate(row.metric, basis="pooled", estimand="rate"))
    if inside is not None:
        _, low, high = inside
        x = [low, *(at for at in row.x if low < at < high), high]
        panel.band(x, [0.0] * len(x), [_height(row, at) for at in x], _POOLED)
    panel.curve(row.x, row.density, _POOLED)
    if inside is not None:
        panel.dot(inside[0], _height(row, inside[0]), 2.5, _POOLED, "black")
    return [Key("band", _POOLED, f"{BASES['pooled']}, {report.level:.0%} shaded")]


def _alone(panel: Panel, report: RoundReport, row: DensityRow | None) -> list[Key]:
    """Draw the density of the round alone, with lines at the ends of its interval."""
    if row is None:
        return []
    panel.curve(row.x, row.density, QUIET, width=1.3, dash="4 2")
    inside = triple(report.estimate(row.metric, basis="round", estimand="window"))
    if inside is not None:
        panel.up(inside[1], QUIET, 0.8, DOTTED)
        panel.up(inside[2], QUIET, 0.8, DOTTED)
    return [Key("line", QUIET, BASES["round"], "4 2")]


def _height(row: DensityRow, at: float) -> float:
    """Read a density between its places; 0 beyond its ends."""
    for (start, below), (end, above) in pairwise(zip(row.x, row.density, strict=True)):
        if start <= at <= end:
            return below + (above - below) * (at - start) / (end - start)
    return 0.0
