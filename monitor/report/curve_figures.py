"""Curves: ROC and precision-recall; of evaluations its gain too, and P3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.curve_rows import CurveRow, CurvesRow, GainCurvesRow, PrevalenceRow
from monitor.domain.report import RoundReport
from monitor.drawing import legend
from monitor.drawing.legend import Key
from monitor.drawing.panel import DOTTED, Box, Panel
from monitor.drawing.scales import Linear, Log
from monitor.drawing.svg import QUIET, picture, text_at
from monitor.presentation.numbers import digits_text, percent_text
from monitor.presentation.parts.curves import CURVES

if TYPE_CHECKING:
    Triple = tuple[float, float, float]
    Drawing = Callable[[Box], list[str]]

OPERATING = ("fpr", "recall", "precision")
"""Metrics that say where a classifier stands in the curves of a round."""

OPERATING_WITH_GAIN = (*OPERATING, "recall_gain", "precision_gain")
"""Those that say it in the curves of an evaluation."""

# Okabe and Ito's colours, which the colour-blind can distinguish; shape and line differ as well
_CURVE = "#0072B2"
_NOW = "#D55E00"
_LEAST_AXIS = 1e-6
_WIDTH, _HEIGHT = 330.0, 305.0  # points of one curve, whose words can be read on a phone
_HEAD, _FOOT = 26.0, 12.0  # of the title, and of a footnote


def single_curves(report: RoundReport) -> list[bytes]:
    """Draw each curve by itself."""
    curves = CURVES.of(report)
    if curves is None:
        return []
    drawn = _drawings(curves, _operating(report))
    source = f"{report.monitor}, round {report.round}"
    return [
        picture((_WIDTH, _HEIGHT), f"{source}: {name}", "", draw(_box(0, 0)))
        for name, draw in drawn.items()
    ]


def draw_p3(p3: PrevalenceRow, *, title: str) -> bytes:
    """Draw the P3 curve of a population."""
    footnotes = (
        f"TPR {digits_text(*p3.tpr)}, FPR {digits_text(*p3.fpr)}",
        f"{p3.level:.0%} credible band at each prevalence",
    )
    return _picture(title, footnotes, [lambda box: _p3(p3, box)])


def _p3(p3: PrevalenceRow, box: Box) -> list[str]:
    panel = Panel(box, Log(p3.curve.x[0], p3.curve.x[-1], percent_text), Linear(0, 1))
    panel.grid()
    now, low, high = p3.prevalence
    panel.shade(low, high, _NOW, 0.13)
    panel.up(now, _NOW, 1.0, "2 2")
    _draw_curve(panel, p3.curve)
    _draw_point(panel, p3.prevalence, p3.value)
    keys = [
        Key("band", _CURVE, "precision"),
        Key("point", _NOW, f"the population: prevalence {percent_text(now)}"),
    ]
    panel.axes()
    panel.names("prevalence of actual positives", "Precision")
    panel.title("Precision at other prevalences (P3)")
    return [*panel.shapes(), *_legend(keys, box)]


def _box(index: int, top: float) -> Box:
    """Return the plot area of one of several curves side by side."""
    return Box(45 + index * _WIDTH, top + 26, 270, 212)


def _legend(keys: list[Key], box: Box) -> list[str]:
    return legend.row(keys, (box.left - 37, box.top + box.height + 56), 8)


def curves_svg(report: RoundReport) -> bytes | None:
    """Draw the curves side by side; None if the report has none."""
    curves = CURVES.of(report)
    if curves is None:
        return None
    return draw_curves(
        curves,
        title=f"{report.monitor}, round {report.round}: what other thresholds would do",
        labels="of this round",
        weighted_to="the window",
        operating=_operating(report),
    )


def _operating(report: RoundReport) -> Operating:
    rates: dict[str, Triple | None] = {}
    for name in OPERATING:
        row = report.shown(name, "round", "rate")
        ends = None if row is None else row.ends
        if ends is not None:
            point, low, high = ends
            ends = min(max(point, low), high), low, high
        rates[name] = ends
    return Operating(rates, report.threshold)


class Operating(NamedTuple):
    """Where the classifier stands: its rates (point, low, high), and its threshold if known."""

    rates: Mapping[str, Triple | None]
    threshold: float | None

    def key(self) -> str:
        """Name it in a legend."""
        return "as it is" if self.threshold is None else f"as it is, threshold {self.threshold:g}"


def draw_curves(
    curves: CurvesRow, *, title: str, labels: str, weighted_to: str, operating: Operating
) -> bytes:
    """Draw the curves; the words say which labels they are of, and weighted back to what."""
    point, low, high = map(percent_text, curves.prevalence)
    footnote = (
        f"from {curves.labeled:,} labels {labels}, {curves.positive:,} of them positive, "
        f"weighted back to {weighted_to} · precision holds for the prevalence "
        f"{point} ({low} to {high}) · {curves.level:.0%} credible bands at each place"
    )
    return _picture(title, (footnote,), _drawings(curves, operating).values())


def _drawings(curves: CurvesRow, operating: Operating) -> dict[str, Drawing]:
    drawn: dict[str, Drawing] = {
        "ROC": lambda box: _roc(curves, operating, box),
        "Precision-recall": lambda box: _precision_recall(curves, operating, box),
    }
    if isinstance(curves, GainCurvesRow):
        drawn["Precision-recall-gain"] = lambda box: _gain(curves, operating, box)
    return drawn


def _roc(curves: CurvesRow, operating: Operating, box: Box) -> list[str]:
    panel = Panel(box, Log(max(curves.roc.x[0], _LEAST_AXIS), 1), Linear(0, 1.01))
    panel.grid()
    _draw_curve(panel, curves.roc)
    panel.curve(curves.roc.x, curves.roc.x, QUIET, width=0.9, dash=DOTTED)
    panel.title(f"ROC, at every prevalence · area {digits_text(*curves.roc_area)}")
    panel.names("FPR, share of actual negatives flagged", "TPR (recall)")
    rates = operating.rates
    return _with_operating(panel, operating, "ROC", rates["fpr"], rates["recall"])


def _precision_recall(curves: CurvesRow, operating: Operating, box: Box) -> list[str]:
    panel = Panel(box, Linear(0, 1), Linear(0, 1.01))
    panel.grid()
    _draw_curve(panel, curves.precision_recall)
    panel.across(curves.prevalence[0], QUIET, 0.9, DOTTED)
    panel.title(f"Precision-recall · AP {digits_text(*curves.average_precision)}")
    panel.names("recall", "precision")
    x, y = (operating.rates[metric] for metric in ("recall", "precision"))
    return _with_operating(panel, operating, "precision-recall", x, y)


def _gain(curves: GainCurvesRow, operating: Operating, box: Box) -> list[str]:
    gain = curves.gain
    short = CurveRow(**{name: _shortfall(values) for name, values in gain.model_dump().items()})
    across, up = (
        Log(1, max(lowest, _LEAST_AXIS), lambda shortfall: f"{1 - shortfall:.6g}")
        for lowest in (short.x[-1], min(min(short.point) / 3, 0.1))
    )
    panel = Panel(box, across, up)
    panel.grid()
    _draw_curve(panel, short)
    panel.title(f"Gain · area {digits_text(*curves.gain_area)}")
    panel.names("recall gain", "precision gain")
    x, y = (_turned(operating.rates[metric]) for metric in ("recall_gain", "precision_gain"))
    return _with_operating(panel, operating, "precision-recall-gain", x, y)


def _shortfall(values: list[float]) -> list[float]:
    """Return by how much gains fall short of 1, which a logarithmic axis can show."""
    return [max(1 - value, _LEAST_AXIS) for value in values]


def _turned(values: Triple | None) -> Triple | None:
    if values is None:
        return None
    point, low, high = _shortfall(list(values))
    return point, high, low


def _draw_curve(panel: Panel, curve: CurveRow) -> None:
    panel.band(curve.x, curve.low, curve.high, _CURVE)
    panel.curve(curve.x, curve.point, _CURVE)


def _with_operating(
    panel: Panel, operating: Operating, curve: str, x: Triple | None, y: Triple | None
) -> list[str]:
    panel.axes()
    if x is None or y is None:
        return panel.shapes()
    _draw_point(panel, x, y)
    keys = [Key("band", _CURVE, curve), Key("point", _NOW, operating.key())]
    return [*panel.shapes(), *_legend(keys, panel.box)]


def _draw_point(panel: Panel, x: Triple, y: Triple) -> None:
    panel.level(y[0], x[1], x[2], _NOW, 1.2)
    panel.upright(x[0], y[1], y[2], _NOW, 1.2)
    panel.dot(x[0], y[0], 2.5, _NOW, "black")


def _picture(title: str, footnotes: Sequence[str], drawings: Iterable[Drawing]) -> bytes:
    """Draw curves side by side, the title over them and footnotes below."""
    drawn = [draw(_box(index, _HEAD)) for index, draw in enumerate(drawings)]
    width, bottom = len(drawn) * _WIDTH, _HEAD + _HEIGHT
    notes = [
        text_at((8, bottom + n * _FOOT + 4), text, 8, colour=QUIET, room=width - 16)
        for n, text in enumerate(footnotes)
    ]
    head = text_at((8, 20), title, 13, bold=True, room=width - 16)
    size = width, bottom + len(footnotes) * _FOOT
    return picture(size, title, " · ".join(footnotes), [head, *chain(*drawn), *notes])
