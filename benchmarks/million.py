"""Pictures of what 500 labels say about a million items: widths, designs, repeated samples.

Items have scores and true rates as the second classifier of Table 4 of Shang et al. 2023. Bands,
plans and intervals are the monitor's. ``--out`` writes the figures of docs/concepts/million.md.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.harness import Values, Whole
from benchmarks.strata import METRICS, Strata, population
from monitor.drawing.legend import Key
from monitor.drawing.legend import row as row_of
from monitor.drawing.panel import Box, Panel
from monitor.drawing.scales import Linear, Log
from monitor.drawing.svg import INK, element, picture, text_at
from monitor.stats.core.counts import Counts, Interval
from monitor.stats.design.allocation import allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.score_bands import FLAGGED_BANDS, PASSED_BANDS
from monitor.stats.estimation.posterior import estimate

WINDOWS = (2_000, 10_000, 100_000, 1_000_000, 10_000_000)
BUDGETS = (100, 250, 500, 1_000, 2_000, 4_000)
SAMPLES, WIDTH_SAMPLES = 40, 10
BLUE, ORANGE, RED = "#3f51b5", "#e8843c", "#c62828"


@dataclass(frozen=True)
class Window:
    """A window of so many items, cut into the default bands, and a plan that knows the rates."""

    design: Strata

    @classmethod
    def of(cls, items: int) -> "Window":
        """Cut a window of the second classifier; sizes are rounded, but for none under 20."""
        design = population("Phi2", "good").bands((FLAGGED_BANDS, PASSED_BANDS))
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
        size, is_flagged = self.design.size.astype(np.int64), self.design.is_flagged
        positive = np.rint(size * self.design.rate).astype(np.int64)
        found = rng.hypergeometric(positive, size - positive, labels)
        return Counts.of_arrays(size=size, labeled=labels, positive=found, is_flagged=is_flagged)

    def intervals(self, labels: int, seed: int, count: int) -> dict[str, list[Interval]]:
        """Estimate precision and recall of the window from repeated samples."""
        rng, plan = np.random.default_rng(seed), self.plan(labels)
        found: dict[str, list[Interval]] = {metric: [] for metric in METRICS}
        for _ in range(count):
            for metric, each in estimate(self.sample(plan, rng), estimand="window").items():
                ends = (float(getattr(each, end)) for end in ("point", "low", "high"))
                found[metric].append(Interval(*ends))
        return found


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
    truth = dict(zip(METRICS, million.design.truth, strict=True))
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
        pictures = {
            "strata": strata_picture(million.design, plan),
            "windows": line_picture(WINDOWS, widths, "items in the window"),
            "labels": line_picture(BUDGETS, budgets, "labels"),
            "samples": samples_picture(repeated, truth),
        }
        for name, drawn in pictures.items():
            (out / f"million-{name}.svg").write_bytes(drawn)
            print(out / f"million-{name}.svg")


# --- pictures ---


def strata_picture(design: Strata, plan: Whole) -> bytes:
    """Draw which strata the items are in, and which ones the labels and the positives are in."""
    rows: list[tuple[str, Values]] = [
        ("all items", design.size.astype(float)),
        ("500 labels", plan.astype(float)),
        ("true positives and misses", design.size * design.rate),
    ]
    shapes, left, whole = [], 150.0, 400.0
    for row, (name, values) in enumerate(rows):
        y = 12.0 + 40 * row
        shapes.append(text_at((left - 8, y + 16), name, 10, anchor="end"))
        x = left
        for is_flagged, share in zip(design.is_flagged, values / values.sum(), strict=True):
            width, fill = whole * float(share), BLUE if is_flagged else ORANGE
            drawn = max(width - 0.7, 0.5)
            shapes.append(element("rect", x=x, y=y, width=drawn, height=24, fill=fill))
            x += width
    keys = [
        Key("bar", BLUE, "flagged, 4 bands by score"),
        Key("bar", ORANGE, "passed, 10 bands by score"),
    ]
    description = "Strata of all items, of 500 labels and of the positives"
    return picture((560, 155), "Strata", description, [*shapes, *row_of(keys, (left, 145))])


def line_picture(x_values: tuple[int, ...], lines: dict[str, list[float]], name: str) -> bytes:
    """Draw half-widths over a logarithmic axis."""
    x = Log(0.8 * x_values[0], 1.25 * x_values[-1], "{:,.0f}".format)
    top = 1.1 * max(map(max, lines.values()))
    panel = Panel(Box(60, 24, 470, 160), x, Linear(0, top))
    panel.grid(upright=False)
    for widths, colour in zip(lines.values(), (BLUE, ORANGE), strict=True):
        panel.curve(x_values, widths, colour)
        for point in zip(x_values, widths, strict=True):
            panel.dot(*point, 3, colour)
    panel.axes()
    panel.names(name, "half-width")
    keys = [Key("line", *each) for each in zip((BLUE, ORANGE), lines, strict=True)]
    shapes = [*panel.shapes(), *row_of(keys, (60, 14))]
    return picture((550, 225), f"Half-widths by {name}", "Precision and recall", shapes)


def samples_picture(found: dict[str, list[Interval]], truth: dict[str, float]) -> bytes:
    """Draw the intervals of repeated samples; those that miss the truth in red."""
    shapes = []
    for left, (metric, intervals) in zip((30, 305), found.items(), strict=True):
        ends = [end for each in intervals for end in (each.low, each.high)]
        x, y = Linear(min(ends) - 0.01, max(ends) + 0.01), Linear(len(intervals), -1)
        panel = Panel(Box(left, 24, 240, 6.0 * len(intervals)), x, y)
        panel.up(truth[metric], INK, 1.2)
        for row, each in enumerate(intervals):
            colour = BLUE if each.low <= truth[metric] <= each.high else RED
            panel.level(row, each.low, each.high, colour)
            panel.dot(each.point, row, 2, colour)
        panel.title(f"{metric}, true value {truth[metric]:.2f}")
        shapes += panel.shapes()
        bottom = 24 + 6.0 * len(intervals)
        for tick in x.ticks():
            corner = (left + 240 * x.share(tick.value), bottom + 12)
            shapes.append(text_at(corner, tick.label, 9, anchor="middle"))
    return picture((560, 45 + 6 * SAMPLES), "Repeated samples", "40 intervals each", shapes)
