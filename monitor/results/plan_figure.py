"""Figure of `plan`: interval width against the over-sampling ratio, the plan marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.drawing import legend
from monitor.drawing.legend import Key
from monitor.drawing.panel import Box, Panel
from monitor.drawing.scales import Linear, Log
from monitor.drawing.svg import QUIET, picture, text_at
from monitor.stats.design.allocation import allocate
from monitor.stats.design.planning import width_curve

if TYPE_CHECKING:
    from monitor.rounds.forecast.plan_window import PlanForecast
    from monitor.stats.design.planning import WidthCurve

# Okabe and Ito's colours, told apart by the colour-blind; the lines differ as well
COLOURS = {"precision": "#0072B2", "recall": "#D55E00"}
TALLEST = 4  # times the narrowest width of the wider metric; beyond, it says only "too wide"
_SIZE = (540.0, 331.0)  # points
_BOX = Box(52, 30, 476, 252)
_DASHED = "6.5 3"


def widths_svg(forecast: PlanForecast) -> bytes:
    """Draw the widths with the plan's strata and, dashed, without bands.

    Raises
    ------
    ValueError
        If a class has no items or no labels, or nothing is known of the rates.
    """
    prospect, labels = forecast.planned.prospect, forecast.outlook.plan.labels
    if not forecast.outlook.plan.margins:
        message = "nothing is known of the rates, so no width can be computed"
        raise ValueError(message)
    curve = width_curve(prospect, labels)
    panel = _panel(curve)
    keys = _draw(panel, curve, None, "")
    if len(labels) > len(prospect.without_bands.size):
        pooled = prospect.without_bands
        plain = width_curve(pooled, allocate(pooled, max_labels=curve.labels).labels)
        keys += _draw(panel, plain, _DASHED, " without bands")
    panel.up(curve.best, QUIET, 1)
    panel.axes()
    panel.names(
        "over-sampling of flagged items, s (1: a plain random sample)",
        "width of the 95 % interval",
    )
    (best, top), right = panel.above(curve.best), _BOX.left + _BOX.width
    corner = right - legend.column_width(keys) - 6, top + len(keys) * 12.5
    answer, title = f"the plan: s = {curve.best:.3g}", f"{curve.labels:,} labels"
    shapes = [
        *panel.shapes(),
        *legend.column(keys, corner),
        text_at((best + 5, top + 12), answer, 9),
        text_at((_BOX.left, top - 8), title, 11, bold=True),
    ]
    return picture(_SIZE, f"Interval widths with {title}", answer, shapes)


def _panel(curve: WidthCurve) -> Panel:
    least = max(2 * float(half.min()) for half in curve.half_widths.values())
    across = Log(float(curve.ratio[0]), float(curve.ratio[-1]))
    panel = Panel(_BOX, across, Linear(0, min(1.0, TALLEST * least)))
    panel.grid()
    return panel


def _draw(panel: Panel, curve: WidthCurve, dash: str | None, more: str) -> list[Key]:
    for name, half in curve.half_widths.items():
        panel.curve(curve.ratio.tolist(), (2 * half).tolist(), COLOURS[name], dash=dash)
    return [Key("line", COLOURS[name], f"{name}{more}", dash) for name in curve.half_widths]
