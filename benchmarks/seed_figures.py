"""Figures 1 to 3 of Shang et al. (AISTATS 2023), drawn by `seed_tables.py --out DIR`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from monitor.stats.literature.shang_design import (
    ShangRates,
    best_ratio,
    floored,
    margins,
    rates_from_metrics,
    split_labels,
)
from monitor.stats.literature.shang_predictive import (
    BetaRate,
    precision_predictive,
    recall_predictive,
)

CLASSIFIERS = {"$\\Phi_1$": (0.79, 0.67, 0.046), "$\\Phi_2$": (0.86, 0.56, 0.033),
               "$\\Phi_3$": (0.90, 0.66, 0.458)}  # fmt: skip
WEIGHTS = {5: "#c44e52", 10: "#dd8452", 100: "#4c72b0"}
BLACK, BLUE, RED, GREY = "#222222", "#4c72b0", "#c44e52", "#999999"


def draw_all(folder: Path) -> Iterator[Path]:
    """Draw the three figures and name their files."""
    for name, draw in (("figure_1", figure_1), ("figure_2", figure_2), ("figure_3", figure_3)):
        path = folder / f"seed_{name}.png"
        figure = draw()
        FigureCanvasAgg(figure)
        figure.savefig(path, metadata={"Software": None})
        yield path


def figure_1() -> Figure:
    """Width of intervals against the ratio: 5,000 labels, P = .863, R = .561, k = .033."""
    figure, (left, right) = _panels(2, "interval width")
    k, total = 0.033, 5000
    rates = rates_from_metrics(0.863, 0.561, k)
    ratios = np.linspace(0.3, 6, 115)
    for axes, place, name in ((left, 0, "precision"), (right, 1, "recall")):
        certain = [_predictive_width(1e9, k, total, s)[place] for s in ratios]  # Eq. 3 and 4
        axes.plot(ratios, certain, color=BLACK, label="confidence (Eq. 3, 4)")
        for weight, color in WEIGHTS.items():
            predicted = [_predictive_width(weight, k, total, s)[place] for s in ratios]
            axes.plot(ratios, predicted, color=color, label=f"predictive (Eq. 6, 7), w = {weight}")
        axes.set_title(name)
    best = best_ratio(rates, k)
    right.axvline(best, color=GREY, linestyle=":", linewidth=1)
    right.annotate(f"s* = {best:.3f}", (best, right.get_ylim()[1]), xytext=(5, -12),
                   textcoords="offset points", color="#555555")  # fmt: skip
    left.legend(frameon=False, fontsize=9)
    return figure


def figure_2() -> Figure:
    """Width of both intervals against the ratio for the classifiers of Table 4, 10,000 labels."""
    figure, panels = _panels(3, "interval width")
    ratios = np.linspace(0.3, 6, 115)
    for axes, (name, (precision, recall, k)) in zip(panels, CLASSIFIERS.items(), strict=True):
        rates = rates_from_metrics(precision, recall, k)
        half = np.array(list(_margins(rates, k, 10_000, ratios)))
        for place, label, color in ((0, "precision", BLUE), (1, "recall", RED)):
            axes.plot(ratios, 2 * half[:, place], color=color, label=label)
        best = floored(best_ratio(rates, k))
        axes.axvline(best, color=GREY, linestyle=":", linewidth=1)
        axes.set_title(f"{name}: P {precision}, R {recall}, k {k}, s* {best:.2f}", fontsize=11)
        axes.set_ylim(bottom=0)
    panels[0].legend(frameon=False)
    return figure


def figure_3() -> Figure:
    """Best ratio for recall against how rare flags are."""
    figure, (left, right) = _panels(2, "best over-sampling ratio s*", x="1/k")
    inverse = np.linspace(2, 200, 199)
    values = (0.5, 0.6, 0.7, 0.8, 0.9)
    shades = ("#b3cde3", "#8c96c6", "#8856a7", "#4c72b0", "#222222")
    for value, color in zip(values, shades, strict=True):
        for axes, rate in ((left, (0.9, value)), (right, (value, 0.8))):
            found = [best_ratio(rates_from_metrics(*rate, 1 / each), 1 / each) for each in inverse]
            axes.plot(inverse, found, color=color, label=str(value))
    left.set_title("precision .9, by recall")
    right.set_title("recall .8, by precision")
    for axes, title in ((left, "recall"), (right, "precision")):
        axes.legend(frameon=False, title=title)
        axes.set_ylim(bottom=0)
    return figure


def _panels(count: int, y: str, x: str = "over-sampling ratio s") -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.4 * count, 3.6), dpi=90, layout="constrained")
    panels: list[Axes] = list(np.atleast_1d(figure.subplots(1, count)))
    for axes in panels:
        axes.set_xlabel(x)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#eeeeee")
        axes.set_axisbelow(True)
    panels[0].set_ylabel(y)
    return figure, panels


def _margins(
    rates: ShangRates, k: float, total: int, ratios: Iterable[float]
) -> Iterator[tuple[float, float]]:
    for s in ratios:
        yield margins(rates, k, split_labels(total, k, s))


def _predictive_width(weight: float, k: float, total: int, s: float) -> list[float]:
    """Widths of Eq. 6 and 7 with the paper's Beta knowledge of weight w."""
    flagged = BetaRate(86.3 * weight, 13.7 * weight)
    passed = BetaRate(67.5 * weight, 2962.8 * weight)
    labels: Any = split_labels(total, k, s)  # whole numbers are not needed for a smooth curve
    found = precision_predictive(flagged, labels[0]), recall_predictive(flagged, passed, k, labels)
    return [interval.high - interval.low for interval in found]
