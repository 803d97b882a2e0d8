"""Curves of a round: precision against the prevalence, and ROC, precision-recall and its gain."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from monitor.domain.curve_rows import CurveRow
from monitor.presentation.numbers import digits_text, percent_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from monitor.domain.curve_rows import CurvesRow, PrevalenceRow
    from monitor.domain.report import RoundReport

    Triple = tuple[float, float, float]

_DOTS = 110  # per inch
# Okabe and Ito's colours, which the colour-blind can distinguish; shape and line differ as well
_CURVE = "#0072B2"
_NOW = "#D55E00"
_QUIET = "#4D4D4D"
_LIMIT = "#B34700"
_LEAST_AXIS = 1e-6


def p3_png(report: RoundReport) -> bytes | None:
    """Draw precision against the prevalence; None where the report has no such curve."""
    return None if report.p3 is None else _png(_p3_figure(report, report.p3))


def curves_png(report: RoundReport) -> bytes | None:
    """Draw the three curves; None where the report has none."""
    return None if report.curves is None else _png(_curves_figure(report, report.curves))


def _png(figure: Figure) -> bytes:
    """Write the same figure as the same bytes."""
    buffer = BytesIO()
    figure.savefig(
        buffer,
        format="png",
        dpi=_DOTS,
        metadata={"Software": None},
        pil_kwargs={"compress_level": 6},
    )
    return buffer.getvalue()


def _p3_figure(report: RoundReport, p3: PrevalenceRow) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415  0.3 s, only needed when drawing

    figure = Figure(figsize=(8.0, 4.8), facecolor="white")
    axes = figure.subplots()
    _draw_curve(axes, p3.curve, "precision at other prevalences, TPR and FPR as they are")
    axes.set_xscale("log")
    now, low, high = p3.prevalence
    axes.axvspan(low, high, color=_NOW, alpha=0.13, linewidth=0)
    axes.axvline(now, color=_NOW, linewidth=1.0, linestyle=(0, (2, 2)))
    _draw_point(axes, p3.prevalence, p3.value, f"this window: prevalence {percent_text(now)}")
    limit = report.limit("precision")
    if limit is not None:
        axes.axhline(limit, color=_LIMIT, linestyle=(0, (5, 3)), linewidth=1.3, label="limit")
    axes.set_xlim(p3.curve.x[0], p3.curve.x[-1])
    axes.set_ylim(0, 1.0)
    axes.set_xlabel("prevalence of actual positives", fontsize=10)
    axes.set_ylabel("Precision", fontsize=11)
    axes.xaxis.set_major_formatter(lambda value, _: percent_text(value))
    _quiet(axes)
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    figure.subplots_adjust(left=0.085, right=0.975, top=0.88, bottom=0.2)
    _texts(
        figure,
        f"{report.monitor}, round {report.round}: precision at other prevalences",
        f"TPR {digits_text(*p3.tpr)}, FPR {digits_text(*p3.fpr)}, with earlier rounds · "
        f"{p3.level:.0%} band of calibrated pooling at each prevalence",
    )
    return figure


def _curves_figure(report: RoundReport, curves: CurvesRow) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415  0.3 s, only needed when drawing

    figure = Figure(figsize=(12.0, 4.9), facecolor="white")
    left, middle, right = figure.subplots(1, 3)
    _draw_roc(left, report, curves)
    _draw_precision_recall(middle, report, curves)
    _draw_gain(right, report, curves)
    figure.subplots_adjust(left=0.048, right=0.988, top=0.85, bottom=0.18, wspace=0.24)
    _texts(
        figure,
        f"{report.monitor}, round {report.round}: what other thresholds would do",
        f"from {curves.labeled:,} labels of this round, {curves.positive:,} of them positive, "
        f"weighted back to the window · precision and gains hold for the prevalence "
        f"{percent_text(curves.prevalence[0])} ({percent_text(curves.prevalence[1])} to "
        f"{percent_text(curves.prevalence[2])}) · {curves.level:.0%} credible bands at each place",
    )
    return figure


def _draw_roc(axes: Axes, report: RoundReport, curves: CurvesRow) -> None:
    axes.set_xscale("log")
    _draw_curve(axes, curves.roc, "ROC")
    axes.plot(curves.roc.x, curves.roc.x, color=_QUIET, linewidth=0.9, linestyle=":")
    _draw_operating(axes, report, "fpr", "recall")
    axes.set_xlim(max(curves.roc.x[0], _LEAST_AXIS), 1)
    axes.set_ylim(0, 1.01)
    _name(axes, "FPR, share of actual negatives flagged", "TPR (recall)")
    axes.set_title(
        f"ROC, at every prevalence · area {digits_text(*curves.roc_area)}", fontsize=10, loc="left"
    )


def _draw_precision_recall(axes: Axes, report: RoundReport, curves: CurvesRow) -> None:
    _draw_curve(axes, curves.precision_recall, "precision-recall")
    axes.axhline(curves.prevalence[0], color=_QUIET, linewidth=0.9, linestyle=":")
    _draw_operating(axes, report, "recall", "precision")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.01)
    _name(axes, "recall", "precision")
    area = digits_text(*curves.average_precision)
    axes.set_title(f"Precision-recall · AP {area}", fontsize=10, loc="left")


def _draw_gain(axes: Axes, report: RoundReport, curves: CurvesRow) -> None:
    gain = curves.gain
    short = CurveRow(**{name: _shortfall(values) for name, values in gain.model_dump().items()})
    _draw_curve(axes, short, "precision-recall-gain")
    _draw_operating(axes, report, "recall_gain", "precision_gain", shortfall=True)
    for axis, scale, lowest in (
        (axes.xaxis, axes.set_xscale, short.x[-1]),
        (axes.yaxis, axes.set_yscale, min(min(short.point) / 3, 0.1)),
    ):
        scale("log")
        axis.set_inverted(True)
        axis.set_major_formatter(lambda value, _: f"{1 - value:.6g}")
        (axes.set_xlim if axis is axes.xaxis else axes.set_ylim)(1, max(lowest, _LEAST_AXIS))
    _name(axes, "recall gain", "precision gain")
    axes.set_title(f"Gain · area {digits_text(*curves.gain_area)}", fontsize=10, loc="left")


def _shortfall(values: list[float]) -> list[float]:
    """Say by how much gains fall short of 1, which a logarithmic axis can show."""
    return [max(1 - value, _LEAST_AXIS) for value in values]


def _draw_curve(axes: Axes, curve: CurveRow, label: str) -> None:
    axes.fill_between(curve.x, curve.low, curve.high, color=_CURVE, alpha=0.22, linewidth=0)
    axes.plot(curve.x, curve.point, color=_CURVE, linewidth=1.8, label=label)


def _draw_operating(
    axes: Axes, report: RoundReport, across: str, up: str, *, shortfall: bool = False
) -> None:
    """Mark where the classifier stands, with both intervals of this round alone."""
    x, y = (_rate(report, metric) for metric in (across, up))
    if x is None or y is None:
        return
    if shortfall:
        x, y = _turned(x), _turned(y)
    at = "" if report.threshold is None else f", threshold {report.threshold:g}"
    _draw_point(axes, x, y, f"as it is{at}")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 0.05), frameon=False, fontsize=8.5)


def _turned(values: Triple) -> Triple:
    point, low, high = _shortfall(list(values))
    return point, high, low


def _draw_point(axes: Axes, x: Triple, y: Triple, label: str) -> None:
    axes.errorbar(
        [x[0]],
        [y[0]],
        xerr=[[x[0] - x[1]], [x[2] - x[0]]],
        yerr=[[y[0] - y[1]], [y[2] - y[0]]],
        fmt="o",
        color=_NOW,
        markersize=5,
        markeredgecolor="black",
        markeredgewidth=0.5,
        elinewidth=1.2,
        capsize=2.5,
        label=label,
    )


def _rate(report: RoundReport, metric: str) -> Triple | None:
    row = report.estimate(metric, basis="round", estimand="rate")
    if row is None or row.point is None or row.low is None or row.high is None:
        return None
    return min(max(row.point, row.low), row.high), row.low, row.high


def _name(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across, fontsize=10)
    axes.set_ylabel(up, fontsize=10)
    _quiet(axes)


def _quiet(axes: Axes) -> None:
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _texts(figure: Figure, title: str, footnote: str) -> None:
    figure.text(0.012, 0.955, title, fontsize=13, fontweight="bold", va="center")
    figure.text(0.012, 0.022, footnote, fontsize=8, color=_QUIET, va="bottom")
