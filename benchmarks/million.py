"""Pictures of what 500 labels say about a million items: widths, designs, repeated samples.

Items have scores and true rates as the second classifier of Table 4 of Shang et al. 2023. Bands,
plans and intervals are the monitor's. ``--out`` writes the figures of docs/concepts/million.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.harness import Values, Whole
from benchmarks.label_cost import DEFAULT, METRICS, Design, population
from monitor.stats.core.counts import Counts, Interval
from monitor.stats.design.allocation import allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.estimation.posterior import estimate

WINDOWS = (2_000, 10_000, 100_000, 1_000_000, 10_000_000)
BUDGETS = (100, 250, 500, 1_000, 2_000, 4_000)
SAMPLES, WIDTH_SAMPLES = 40, 10
BLUE, ORANGE, GREY, RED, INK = "#3f51b5", "#e8843c", "#b8bcc8", "#c62828", "#30333f"


@dataclass(frozen=True)
class Window:
    """A window of so many items, cut into the default bands, and a plan that knows the rates."""

    design: Design

    @classmethod
    def of(cls, items: int) -> "Window":
        """Cut a window of the second classifier; sizes are rounded, but for none under 20."""
        design, _ = population("Phi2", "good").strata(DEFAULT)
        share = design.size / design.size.sum()
        return cls(replace(design, size=np.maximum(np.rint(share * items), 20).astype(np.int64)))

    def plan(self, labels: int) -> Whole:
        """Plan a number of labels by rates that earlier rounds found."""
        worth = 2000.0
        alpha = 0.5 + worth * self.design.rate
        known = PriorRates(alpha, 1 + worth - alpha, "rounds")
        flagged = self.design.is_flagged
        return allocate(Prospect.of(self.design.size, flagged, known), max_labels=labels).labels

    def sample(self, labels: Whole, rng: np.random.Generator) -> Counts:
        """Draw labels from items whose positives are the expected number, rounded."""
        positive = np.rint(self.design.size * self.design.rate).astype(np.int64)
        found = rng.hypergeometric(positive, self.design.size - positive, labels)
        flagged = self.design.is_flagged
        return Counts.of_arrays(
            size=self.design.size, labeled=labels, positive=found, is_flagged=flagged
        )

    def intervals(self, labels: int, seed: int, count: int) -> dict[str, list[Interval]]:
        """Estimate precision and recall of the window from repeated samples."""
        rng, plan = np.random.default_rng(seed), self.plan(labels)
        found: dict[str, list[Interval]] = {metric: [] for metric in METRICS}
        for _ in range(count):
            for metric, each in estimate(self.sample(plan, rng), estimand="window").items():
                found[metric].append(Interval(*_ends(each)))
        return found


def _ends(value: object) -> tuple[float, float, float]:
    return tuple(float(getattr(value, name)) for name in ("point", "low", "high"))  # type: ignore[return-value]


def half_widths(cases: list[tuple[Window, int]], seed: int) -> dict[str, list[float]]:
    """Mean half-width of each metric, for each window and number of labels."""
    found = [window.intervals(labels, seed, WIDTH_SAMPLES) for window, labels in cases]
    return {
        metric: [float(np.mean([(e.high - e.low) / 2 for e in each[metric]])) for each in found]
        for metric in METRICS
    }


def main(samples: int = SAMPLES, seed: int = 7, out: Path | None = None) -> None:
    """Print the figures' numbers; with a folder, draw them."""
    million = Window.of(1_000_000)
    plan = million.plan(500)
    flagged = million.design.is_flagged
    print(f"a million items: {million.design.size[flagged].sum():,} flagged")
    print(f"500 labels: {plan[flagged].sum()} flagged, {plan[~flagged].sum()} passed")
    truth = dict(zip(METRICS, million.design.values, strict=True))
    widths = half_widths([(Window.of(items), 500) for items in WINDOWS], seed)
    budgets = half_widths([(million, labels) for labels in BUDGETS], seed)
    repeated = million.intervals(500, seed, samples)
    for metric, value in truth.items():
        held = sum(each.low <= value <= each.high for each in repeated[metric])
        print(f"\n{metric} {value:.3f}: {held} of {samples} intervals hold it")
        print("items   " + "".join(f"{items:>12,}" for items in WINDOWS))
        print("+-      " + "".join(f"{width:12.3f}" for width in widths[metric]))
        print("labels  " + "".join(f"{labels:>12,}" for labels in BUDGETS))
        print("+-      " + "".join(f"{width:12.3f}" for width in budgets[metric]))
    if out is not None:
        _write(out / "million-strata.svg", strata_picture(million.design, plan))
        _write(out / "million-windows.svg", line_picture(WINDOWS, widths, "items in the window"))
        _write(out / "million-labels.svg", line_picture(BUDGETS, budgets, "labels"))
        _write(out / "million-samples.svg", samples_picture(repeated, truth))


# --- pictures ---


def _write(path: Path, body: str) -> None:
    path.write_text(body, encoding="utf-8")
    print(path)


def _svg(width: int, height: int, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
    style = 'font-family="system-ui, sans-serif" font-size="13">'
    background = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([head + style, background, *parts, "</svg>", ""])


def _text(x: float, y: float, words: str, anchor: str = "start", fill: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{words}</text>'


def _box(x: float, y: float, width: float, height: float, fill: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.7):.1f}" '
        f'height="{height:.1f}" fill="{fill}"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{stroke}" stroke-width="{width}"/>'


def strata_picture(design: Design, plan: Whole) -> str:
    """Draw which strata the items are in, and which ones the labels and the positives are in."""
    rows: list[tuple[str, Values]] = [
        ("all items", design.size.astype(float)),
        ("500 labels", plan.astype(float)),
        ("true positives and misses", design.size * design.rate),
    ]
    parts, left, whole = [], 190, 540
    for row, (name, values) in enumerate(rows):
        y = 20 + 56 * row
        parts.append(_text(left - 12, y + 20, name, "end"))
        x = float(left)
        for is_flagged, share in zip(design.is_flagged, values / values.sum(), strict=True):
            width = whole * float(share)
            parts.append(_box(x, y, width - 1, 32, BLUE if is_flagged else ORANGE))
            x += width
    parts += [
        _box(left, 188, 12, 12, BLUE),
        _text(left + 18, 199, "flagged, 4 bands by score"),
        _box(left + 220, 188, 12, 12, ORANGE),
        _text(left + 238, 199, "passed, 10 bands by score"),
    ]
    return _svg(760, 215, parts)


def _scale(values: tuple[int, ...], left: float, right: float) -> Callable[[float], float]:
    low, high = np.log(values[0]), np.log(values[-1])
    return lambda value: left + (right - left) * float((np.log(value) - low) / (high - low))


def line_picture(x_values: tuple[int, ...], lines: dict[str, list[float]], name: str) -> str:
    """Draw half-widths over a logarithmic axis."""
    top = max(max(line) for line in lines.values())
    step = 0.05 if top > 0.1 else 0.02
    highest = step * int(np.ceil(top / step))
    x_of = _scale(x_values, 70, 640)

    def y_of(value: float) -> float:
        return 240 - 210 * value / highest

    parts = []
    for tick in np.arange(0, highest + step / 2, step):
        parts.append(_line(70, y_of(tick), 640, y_of(tick), "#e3e5ec"))
        parts.append(_text(62, y_of(tick) + 4, f"±{100 * tick:.0f} %", "end"))
    parts += [_text(x_of(x), 262, f"{x:,}", "middle") for x in x_values]
    parts.append(_text(355, 286, name, "middle"))
    highest_first = sorted(lines, key=lambda metric: -lines[metric][-1])
    for (metric, line), colour in zip(lines.items(), (BLUE, ORANGE), strict=True):
        away = -7 if metric == highest_first[0] else 11
        places = [(x_of(x), y_of(y)) for x, y in zip(x_values, line, strict=True)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(
            f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in places]
        parts.append(_text(652, places[-1][1] + 4 + away / 2, metric, fill=colour))
    return _svg(740, 300, parts)


def samples_picture(found: dict[str, list[Interval]], truth: dict[str, float]) -> str:
    """Draw the intervals of repeated samples; those that miss the truth in red."""
    parts, width = [], 330
    for panel, (metric, intervals) in enumerate(found.items()):
        left = 30 + panel * (width + 40)
        low = min(each.low for each in intervals) - 0.01
        high = max(each.high for each in intervals) + 0.01

        def x_of(value: float, left: int = left, low: float = low, high: float = high) -> float:
            return left + width * (value - low) / (high - low)

        height = 40 + 8 * len(intervals)
        parts.append(_line(x_of(truth[metric]), 34, x_of(truth[metric]), height, INK, 1.5))
        parts.append(
            _text(x_of(truth[metric]), 24, f"{metric}, true value {truth[metric]:.2f}", "middle")
        )
        for row, each in enumerate(intervals):
            y, colour = 42 + 8 * row, BLUE if each.low <= truth[metric] <= each.high else RED
            parts.append(_line(x_of(each.low), y, x_of(each.high), y, colour, 2))
            parts.append(f'<circle cx="{x_of(each.point):.1f}" cy="{y}" r="2.6" fill="{colour}"/>')
        ticks = np.linspace(low + 0.01, high - 0.01, 3)
        parts += [_text(x_of(tick), height + 22, f"{tick:.2f}", "middle") for tick in ticks]
    return _svg(760, 80 + 8 * SAMPLES, parts)
