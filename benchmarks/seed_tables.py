"""Tables 1, 3 and 4 and Figures 1 to 3 of the paper that the method comes from.

Shang et al., "Precision/Recall on Imbalanced Test Data" (AISTATS 2023). Each number of ours stands
beside the printed one. ``--out`` writes the figures.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.shang.design import (
    ShangRates,
    best_ratio,
    best_ratio_beta,
    floored,
    labels_for_margin,
    labels_for_precision,
    margins,
    rates_from_metrics,
    split_labels,
)
from benchmarks.shang.intervals import (
    CountIsZero,
    precision_interval,
    random_sampling_intervals,
    recall_interval,
)
from benchmarks.shang.predictive import (
    BetaRate,
    precision_predictive,
    recall_predictive,
)
from benchmarks.shang.simulation import bootstrap, monte_carlo
from monitor.stats.core.counts import Interval, StratumCounts

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


TABLE_4 = {  # precision, recall, k, then pi_0, s*, n_1, n_0, v as printed
    "Phi 1": (0.79, 0.67, 0.046, 0.0179, 1.51, 307, 4410, 4717),
    "Phi 2": (0.86, 0.56, 0.033, 0.0223, 1.85, 265, 4340, 4605),
    "Phi 3": (0.90, 0.66, 0.458, 0.212, 1.00, 141, 306, 447),
}
TABLE_3 = (  # v, 1/k, precision, recall, s, then the eight coverages printed, in percent
    (5000, 20, 0.9, 0.9, 1, 94.2, 95.2, 95.2, 95.3, 95.2, 95.0, 95.4, 96.2),
    (5000, 20, 0.9, 0.7, 1, 94.1, 95.6, 95.0, 95.4, 95.3, 94.2, 93.6, 93.0),
    (5000, 20, 0.9, 0.9, 2, 94.0, 94.5, 95.0, 95.7, 94.9, 94.1, 93.0, 93.5),
    (5000, 20, 0.9, 0.7, 2, 93.6, 93.3, 94.1, 94.8, 93.6, 92.9, 95.2, 94.7),
    (5000, 20, 0.9, 0.9, 5, 95.5, 95.4, 93.7, 94.1, 94.9, 93.5, 94.8, 94.1),
    (5000, 20, 0.9, 0.7, 5, 94.5, 94.7, 95.0, 95.5, 94.8, 94.8, 95.6, 95.6),
    (10000, 100, 0.9, 0.9, 1, 92.7, 94.4, 94.4, 96.1, 95.7, 93.3, 93.6, 93.7),
    (10000, 100, 0.9, 0.7, 1, 93.5, 95.7, 95.3, 95.8, 95.1, 95.0, 95.5, 95.6),
    (10000, 100, 0.9, 0.9, 2, 95.8, 95.1, 94.1, 94.8, 95.4, 92.7, 93.2, 93.7),
    (10000, 100, 0.9, 0.7, 2, 94.9, 94.4, 93.7, 94.7, 96.1, 95.8, 94.7, 94.2),
    (10000, 100, 0.9, 0.9, 5, 92.9, 93.8, 95.0, 95.7, 95.1, 93.9, 94.0, 94.0),
    (10000, 100, 0.9, 0.7, 5, 94.0, 94.8, 94.1, 95.4, 95.0, 94.6, 95.5, 95.4),
)
METHODS = ("Eq. 3", "Alg. 1", "Eq. 6", "Alg. 2", "Eq. 4", "Alg. 1", "Eq. 7", "Alg. 2")
REPLICAS = 1000  # the paper's Q


def main(samples: int = 2000, out: Path | None = None) -> None:
    """Print the tables, and draw the figures where asked."""
    table_1()
    ratios()
    table_4()
    table_3(samples)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for path in draw_all(out):
            print(f"wrote {path}")


def table_1() -> None:
    """Print the random sample of section 1, and what Eq. 4 says of it."""
    precision, recall = random_sampling_intervals(tp=138, fp=22, fn=108)
    flagged = StratumCounts(size=1600, labeled=160, positive=138)
    passed = StratumCounts(size=48_400, labeled=4840, positive=108)
    row = "{:<40}{:<15}{}".format
    print(row("Table 1 (5,000 items at random)", "ours", "paper"))
    print(row("precision, section 2.1", margin_text(precision), "86.3 +- 5.3"))
    print(row("recall, section 2.1", margin_text(recall), "56.1 +- 6.2"))
    print(row("recall, Eq. 4 on the same counts", str(recall_interval(flagged, passed)), ""))


def margin_text(interval: Interval) -> str:
    """Write an interval as the paper does: percent, plus and minus."""
    return f"{100 * interval.point:.2f} +- {100 * (interval.high - interval.low) / 2:.1f}"


def ratios() -> None:
    """Print best ratios of section 3.3.3, rates known and with Beta knowledge of weight w."""
    k, rates = 0.033, rates_from_metrics(0.863, 0.561, 0.033)
    row = "{:<40}{:<15}{}".format
    print("\n" + row("Section 3.3.3 (k = .033)", "ours", "paper"))
    print(row("s*, Theorem 1", f"{best_ratio(rates, k):.4f}", "1.823"))
    for weight, printed in ((5, "1.821"), (10, "1.822"), (100, "1.823")):
        flagged = BetaRate(86.3 * weight, 13.7 * weight)
        passed = BetaRate(67.5 * weight, 2962.8 * weight)
        found = f"{best_ratio_beta(flagged, passed, k):.4f}"
        print(row(f"s*, Theorem 2, w = {weight}", found, printed))


def table_4() -> None:
    """Print labels for +-.05 on both metrics; the ratio as printed gives the printed sizes."""
    print(f"\n{'Table 4 (+-.05)':<21} pi_0     s*   n_1    n_0      v   n_1 for precision alone")
    row = "{} {:<14} {:6.4f} {:6.3f} {:5} {:6} {:6}".format
    for name, (precision, recall, k, *printed) in TABLE_4.items():
        rates = rates_from_metrics(precision, recall, k)
        ratio = floored(best_ratio(rates, k))
        alone = math.ceil(labels_for_precision(precision, 0.05))
        for label, s in (("exact", ratio), ("s* as printed", printed[1])):
            found = labels_for_margin(rates, k, 0.05, oversampling_ratio=s)
            print(row(name, label, rates.false_omission_rate, s, *found, sum(found)), "  ", alone)
        print(row(name, "paper", *printed))


def table_3(samples: int) -> None:
    """Print coverage of eight intervals: of the truth, or of a later sample (Eq. 6, 7, Alg. 2)."""
    rng = np.random.default_rng(2023)
    error = 100 * math.sqrt(0.95 * 0.05 / samples)
    print(f"\nTable 3: coverage in percent, {samples} samples, standard error {error:.1f};")
    print(f"in brackets the paper's\n{'':24}precision{'':40}recall")
    head = " ".join(f"{name:<11}" for name in METHODS)
    print(f"{'v':>6} 1/k   P   R  s  {head}".rstrip())
    differences: list[float] = []
    for v, inverse_k, precision, recall, s, *printed in TABLE_3:
        found = coverage(int(v), 1 / inverse_k, precision, recall, s, samples, rng)
        differences += [ours - theirs for ours, theirs in zip(found, printed, strict=True)]
        cells = " ".join(f"{a:4.1f} ({b:4.1f})" for a, b in zip(found, printed, strict=True))
        print(f"{v:6} {inverse_k:3} {precision:3} {recall:3} {s:2}  {cells}")
    spread = float(np.sqrt(np.mean(np.square(differences))))
    expected = 100 * math.sqrt(0.95 * 0.05 * (1 / samples + 1 / 1000))
    print(f"root mean square difference to the paper {spread:.2f}, by chance {expected:.2f}")


def coverage(
    v: int, k: float, precision: float, recall: float, s: float, samples: int,
    rng: np.random.Generator,
) -> list[float]:  # fmt: skip
    """Coverage in percent of one row's eight intervals, in the order of ``METHODS``."""
    rates = rates_from_metrics(precision, recall, k)
    n_1, n_0 = (round(labels) for labels in split_labels(v, k, s))
    now, later = (
        (rng.binomial(n_1, rates.precision, samples), rng.binomial(n_0, rates[1], samples))
        for _ in range(2)
    )
    hits = np.zeros(8)
    for y_1, y_0, later_1, later_0 in zip(*now, *later, strict=True):
        flagged = StratumCounts(size=10_000, labeled=n_1, positive=int(y_1))
        passed = StratumCounts(size=round(10_000 / k), labeled=n_0, positive=int(y_0))
        later_found = k * later_1 / n_1
        later_recall = later_found / (later_found + later_0 / n_0)
        truths = [precision, precision, later_1 / n_1, later_1 / n_1]
        truths += [recall, recall, later_recall, later_recall]
        try:
            found = intervals(flagged, passed, k, rng)
        except CountIsZero:  # no missed item found, in 1 of 10,000 samples: counts as a miss
            continue
        hits += [
            interval.low <= truth <= interval.high
            for interval, truth in zip(found, truths, strict=True)
        ]
    return [100 * float(hit) / samples for hit in hits]


def intervals(
    flagged: StratumCounts, passed: StratumCounts, k: float, rng: np.random.Generator
) -> list[Interval]:
    """Compute the eight intervals of one sample; the paper's prior is 0."""
    known = BetaRate.of_labels(flagged), BetaRate.of_labels(passed)
    labels = flagged.labeled, passed.labeled
    redrawn = bootstrap(flagged, passed, rng=rng, replicas=REPLICAS).intervals()
    later = monte_carlo(*known, k, labels, rng=rng, replicas=REPLICAS).intervals()
    return [
        precision_interval(flagged),
        redrawn[0],
        precision_predictive(known[0], labels[0]),
        later[0],
        recall_interval(flagged, passed),
        redrawn[1],
        recall_predictive(*known, k, labels),
        later[1],
    ]
