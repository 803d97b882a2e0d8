"""How `plan` shows a plan on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from monitor.cli.views.printing import echo, echo_table
from monitor.drawing import legend
from monitor.drawing.legend import Key
from monitor.drawing.panel import Box, Panel
from monitor.drawing.scales import Linear, Log
from monitor.drawing.svg import QUIET, picture, text_at
from monitor.presentation.forecasts import plausible_text
from monitor.presentation.reasons import plan_note
from monitor.stats.design.notes import BudgetShort
from monitor.stats.design.planning import LabelsNeeded, WidthCurve, width_curve
from monitor.stats.detection.power import DROP, PROBABILITY, WITHIN, AlertPower

if TYPE_CHECKING:
    from monitor.rounds.forecast.plan_window import PlanForecast

METRICS = ("precision", "recall")
WHOLE = "labeled whole"  # Why a width is 0: every item that decides the metric has a label
_NOTHING = 1e-6
_TWO_WAVES = (
    "They go out in two waves, the second by the answers to the first: with a good score the "
    "intervals come out narrower than this, which is for one."
)

# Okabe and Ito's colours, told apart by the colour-blind; the lines differ as well
_COLOURS = {"precision": "#0072B2", "recall": "#D55E00"}
_TALLEST = 4  # times the narrowest width of the wider metric; beyond, it says only "too wide"
_SIZE = (540.0, 331.0)  # points
_BOX = Box(52, 30, 476, 252)
_DASHED = "6.5 3"


def echo_plan(forecast: PlanForecast) -> None:
    """Print the plan, both tables and what the alerts would find."""
    _echo_window(forecast)
    _echo_strata(forecast)
    echo()
    for sentence in sentences(forecast):
        echo(sentence, indent="  ")
    if forecast.outlook.needed:
        _echo_needed(forecast)
        _echo_bought(forecast)
    if forecast.alerts:
        _echo_alerts(forecast)


def sentences(forecast: PlanForecast) -> list[str]:
    """Describe the plan in sentences: its result, the request, and what could not be done."""
    plan = forecast.outlook.plan
    cost = "" if plan.cost == plan.total else f" (cost {plan.cost:,.6g})"
    gives = f" give {_widths(plan.margins)}" if plan.margins else ""
    lines = [f"{plan.total:,} labels{cost}{gives}."]
    if forecast.planned.two_waves:
        lines.append(_TWO_WAVES)
    assurance = forecast.outlook.assurance
    if plan.assured:
        retained = [f"{name} {plan.assured[name]:.2f}" for name in METRICS if name in plan.assured]
        lines.append(
            f"Probability that they are within {_widths(plan.asked)}: {', '.join(retained)}."
        )
    if forecast.outlook.plausible is not None:
        lines.append(plausible_text(forecast.outlook.plausible, plan.assured))
    if plan.needed is not None and plan.needed > plan.total:
        sure = "on average" if assurance is None else f"with probability {assurance:g}"
        lines.append(f"To be within that {sure} would take {plan.needed:,}.")
    if whole := _whole(forecast):
        lines.append(
            f"Every item of {', '.join(whole)} gets a label: none of it is left to chance."
        )
    # What a short budget means is in the sentences above.
    others = [note for note in plan.notes if not isinstance(note, BudgetShort)]
    return [*lines, *(f"Note: {plan_note(note)}." for note in others)]


def _whole(forecast: PlanForecast) -> list[str]:
    """Name the strata of which every item gets a label."""
    return [band.stratum for band in forecast.bands() if band.size == band.labels > 0]


def _echo_window(forecast: PlanForecast) -> None:
    planned = forecast.planned
    size, up = planned.prospect.size, planned.prospect.is_flagged
    where = "an assumed window" if planned.window is None else f"window {planned.window}"
    flagged = int(size[up].sum())
    echo(f"{where}: {flagged:,} flagged, {int(size.sum()) - flagged:,} passed", indent="  ")
    expected = planned.prospect.expected
    existing = bool(forecast.outlook.plan.margins)
    values = ", ".join(f"{name} {expected[name]:.3f}" for name in METRICS if name in expected)
    echo(f"planned by {planned.basis}{f': {values}' if existing and values else ''}", indent="  ")
    echo()


def _echo_strata(forecast: PlanForecast) -> None:
    existing = bool(forecast.outlook.plan.margins)
    rows = [
        [
            band.stratum,
            f"{band.size:,}",
            f"{band.rate:.4f}" if existing and band.rate is not None else "-",
            f"{band.labels:,}",
        ]
        for band in forecast.bands()
    ]
    echo_table(["stratum", "size", "positive rate", "labels"], rows, right="123")


def _echo_needed(forecast: PlanForecast) -> None:
    banded = len(forecast.planned.bands) > len(forecast.planned.prospect.without_bands.size)
    echo()
    head = ["interval", "labels", "without bands", "random sampling"]
    rows = [
        [
            _requested(needed),
            _count(needed.labels),
            _count(needed.two_strata),
            _count(needed.random),
        ]
        for needed in forecast.outlook.needed
    ]
    if not banded:
        head, rows = [head[0], *head[1:2], head[3]], [[*row[:2], row[3]] for row in rows]
    echo_table(head, rows, right="123"[: len(head) - 1])


def _echo_bought(forecast: PlanForecast) -> None:
    echo()
    bought = forecast.outlook.bought
    names = [name for name in METRICS if name in bought[0].margins]
    rows = [
        [f"{each.labels:,}", *(_width(each.margins[name]) for name in names)] for each in bought
    ]
    head = ["labels", *names]
    if any(each.cost != each.labels for each in bought):
        head.append("cost")
        rows = [[*row, f"{each.cost:,.6g}"] for row, each in zip(rows, bought, strict=True)]
    echo_table(head, rows, right="0123")


def _echo_alerts(forecast: PlanForecast) -> None:
    echo()
    rows = [
        [
            f"{power.limit.metric} at least {power.limit.value:.3g}",
            _smallest(power),
            _in_lowest_band(power),
            _delay(power),
        ]
        for power in forecast.alerts
    ]
    heads = ["limit", "finds", "by misses in the lowest band", f"{DROP * 100:.0f} points take"]
    if all(row[2] == "-" for row in rows):  # passed items in one stratum
        heads, rows = [*heads[:2], heads[3]], [[*row[:2], row[3]] for row in rows]
    echo_table(heads, rows)
    if forecast.limits_assumed:
        echo("(no limits are set; these are 5 points under what is expected)", indent="  ")


def _smallest(power: AlertPower) -> str:
    if power.expected < power.limit.value:
        return f"{power.expected:.3g} is expected: under it already"
    if power.smallest_drop is None:
        return f"nothing within {WITHIN} rounds"
    return f"{power.smallest_drop * 100:.0f} points in {WITHIN} rounds ({PROBABILITY:.0%})"


def _in_lowest_band(power: AlertPower) -> str:
    """Describe the same where all new misses are in the lowest band."""
    if "in_lowest_band" not in power.smallest_drops or power.expected < power.limit.value:
        return "-"
    drop = power.smallest_drops["in_lowest_band"]
    return "nothing" if drop is None else f"{drop * 100:.0f} points"


def _delay(power: AlertPower) -> str:
    if power.median is None or power.mean is None:
        return "longer than 26 rounds"
    return f"{power.mean:.1f} rounds"


def _requested(needed: LabelsNeeded) -> str:
    if len(set(needed.margins.values())) == 1:
        return _width(next(iter(needed.margins.values())))
    return _widths(needed.margins)


def _widths(margins: Mapping[str, float]) -> str:
    """Describe half-widths, such as ``precision +-5 %, recall +-8 %``."""
    return ", ".join(f"{name} {_width(margins[name])}" for name in METRICS if name in margins)


def _width(half: float) -> str:
    if half < _NOTHING:
        return f"+-0 % ({WHOLE})"
    return f"+-{half * 100:.2g} %" if half < 1 else "unknown"


def _count(labels: int | None) -> str:
    return "-" if labels is None else f"{labels:,}"


def widths_svg(forecast: PlanForecast) -> bytes:
    """Draw the widths with the plan's strata and, dashed, without bands."""
    prospect, labels = forecast.planned.prospect, forecast.outlook.plan.labels
    if not forecast.outlook.plan.margins:
        message = "nothing is known of the rates, so no width can be computed"
        raise ValueError(message)
    curve = width_curve(prospect, labels)
    panel = _panel(curve)
    keys = _draw(panel, curve, None, "")
    if len(labels) > len(prospect.without_bands.size):
        pooled = prospect.without_bands
        plain = width_curve(pooled, pooled.allocate(max_labels=curve.labels).labels)
        keys += _draw(panel, plain, _DASHED, " without bands")
    panel.up(curve.best, QUIET, 1)
    panel.axes()
    panel.names(
        "over-sampling of flagged items, s (1: a plain random sample)", "width of the 95 % interval"
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
    panel = Panel(_BOX, across, Linear(0, min(1.0, _TALLEST * least)))
    panel.grid()
    return panel


def _draw(panel: Panel, curve: WidthCurve, dash: str | None, more: str) -> list[Key]:
    for name, half in curve.half_widths.items():
        panel.curve(curve.ratio.tolist(), (2 * half).tolist(), _COLOURS[name], dash=dash)
    return [Key("line", _COLOURS[name], f"{name}{more}", dash) for name in curve.half_widths]
