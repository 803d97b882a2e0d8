"""Figure of `plan`: interval width against the over-sampling ratio, the plan marked."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from monitor.stats.design.planning import width_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from monitor.rounds.forecast.plan_window import PlanForecast
    from monitor.stats.design.planning import WidthCurve

SIZE, DOTS = (7.5, 4.6), 120  # inches, and dots per inch
# Okabe and Ito's colours, told apart by the colour-blind; the lines differ as well
COLOURS = {"precision": "#0072B2", "recall": "#D55E00"}
TALLEST = 4  # times the narrowest width of the wider metric; beyond, it says only "too wide"


def widths_png(forecast: PlanForecast) -> bytes:
    """Draw the widths with the plan's strata and, dashed, without bands.

    Raises
    ------
    ValueError
        If a class has no items or no labels, or nothing is known of the rates.
    """
    from matplotlib.figure import Figure

    prospect, labels = forecast.planned.prospect, forecast.outlook.plan.labels
    if not forecast.outlook.plan.margins:
        message = "nothing is known of the rates, so no width can be computed"
        raise ValueError(message)
    curve = width_curve(prospect, labels)
    figure = Figure(figsize=SIZE, facecolor="white", layout="constrained")
    axes = figure.subplots()
    _draw(axes, curve, "-", "")
    if len(labels) > len(prospect.without_bands.size):
        pooled = prospect.without_bands
        plain = width_curve(pooled, pooled.allocate(max_labels=curve.labels).labels)
        _draw(axes, plain, "--", " without bands")
    axes.axvline(curve.best, color="#4D4D4D", linewidth=1)
    axes.annotate(
        f"the plan: s = {curve.best:.3g}",
        (curve.best, 1),
        xycoords=("data", "axes fraction"),
        xytext=(5, -12),
        textcoords="offset points",
        fontsize=9,
    )
    _label(axes, curve)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS, metadata={"Software": None})
    return buffer.getvalue()


def _draw(axes: Axes, curve: WidthCurve, line: str, more: str) -> None:
    for name, half in curve.half_widths.items():
        axes.plot(
            curve.ratio, 2 * half, line, color=COLOURS[name], linewidth=1.8, label=f"{name}{more}"
        )


def _label(axes: Axes, curve: WidthCurve) -> None:
    axes.set_xscale("log")
    axes.set_xlim(curve.ratio[0], curve.ratio[-1])
    least = max(2 * float(half.min()) for half in curve.half_widths.values())
    axes.set_ylim(0, min(1.0, TALLEST * least))
    axes.set_xlabel("over-sampling of flagged items, s (1: a plain random sample)")
    axes.set_ylabel("width of the 95 % interval")
    axes.set_title(f"{curve.labels:,} labels", loc="left", fontsize=11, fontweight="bold")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.legend(frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
