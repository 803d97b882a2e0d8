"""Measure coverage and the labels saved on real predictions whose labels are all known.

The folder holds `fte_mlb_world_series.csv.gz` (a season a window) and `census_ma_employment.csv.gz`
(a year a window). Each window gets the plan of a first round by score cells, and is drawn and
estimated 800 times. `random` is how many labels a plain random sample needs for intervals as wide
on average.
"""

import csv
import gzip
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.cell_rounds import CELLS, CellRounds, Judged, judged
from benchmarks.coverage_grid import Setting
from benchmarks.fast_rounds import METRICS
from benchmarks.harness import Flags, Values, Whole
from benchmarks.strata import cut_classes
from monitor.stats import PriorRates, Prospect, allocate, random_sampling_labels
from monitor.stats.design.score_bands import LABELS_PER_CELL, affordable_bands, cell_edges

FILES = {"world-series": "fte_mlb_world_series.csv.gz", "census": "census_ma_employment.csv.gz"}
BUDGETS = (300, 1000)
SAME_PLAN = 25
"""Rounds with one plan."""


@dataclass(frozen=True, eq=False)
class Window:
    """Items of a window: score, predicted and actual class, shape ``(items,)``."""

    name: str
    score: Values
    is_flagged: Flags
    is_positive: Flags


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata of a window, flagged first: items, actual positives and mean score, ``(H,)``."""

    size: Whole
    positive: Whole
    mean_score: Values
    is_flagged: Flags


@dataclass(frozen=True)
class Row:
    """One window at one budget and for one metric."""

    name: str
    metric: str
    truth: float
    rarer: float
    below: float
    above: float
    width: float
    labels: int
    random: int

    @property
    def covered(self) -> float:
        """Share of intervals that hold the truth."""
        return 1 - self.below - self.above

    @property
    def counts(self) -> bool:
        """Whether the window is one that the target is about."""
        return 10 <= self.rarer < math.inf


def windows(folder: Path) -> Iterator[Window]:
    """Yield each season or year."""
    for name, file in FILES.items():
        items = defaultdict[str, list[tuple[float, float, float]]](list)
        with gzip.open(folder / file, "rt", encoding="utf-8", newline="") as lines:
            for item in csv.DictReader(lines):
                year = item["year"] if "year" in item else item["ts"][:4]
                items[year].append((float(item["score"]), float(item["pred"]), float(item["y"])))
        for year in sorted(items):
            score, predicted, actual = np.array(items[year]).T
            yield Window(f"{name} {year}", score, predicted == 1, actual == 1)


def cut(window: Window, budget: int) -> Strata:
    """Cut a window into cells, as the monitor does."""
    counts = affordable_bands(*CELLS, budget, LABELS_PER_CELL)
    score = window.score
    is_flagged, size, (rate, mean_score) = cut_classes(
        (score[of], cell_edges(score[of], count), window.is_positive[of], score[of])
        for of, count in zip((window.is_flagged, ~window.is_flagged), counts, strict=True)
    )
    return Strata(size, np.rint(size * rate).astype(np.int64), mean_score, is_flagged)


def first_rounds(
    strata: Strata, budget: int, seeds: int, rng: np.random.Generator
) -> tuple[Whole, CellRounds, Judged]:
    """Draw first rounds and estimate them: labels of shape ``(seeds, H)``, design, estimates."""
    some = [min(SAME_PLAN, seeds - at) for at in range(0, seeds, SAME_PLAN)]
    drawn = [drawn_round(strata, budget, rounds, rng) for rounds in some]
    labeled, positive = (np.concatenate(each) for each in zip(*drawn, strict=True))
    design = as_rounds(strata, budget, labeled)
    return labeled, design, estimated(design, positive)


def drawn_round(
    strata: Strata, budget: int, rounds: int, rng: np.random.Generator
) -> tuple[Whole, Whole]:
    """Labels and positives of first rounds with one plan, shape ``(rounds, H)``."""
    size, true, u = strata.size, strata.positive, rng.random()
    known = PriorRates.of_scores(strata.mean_score, strata.is_flagged)
    window = Prospect.of(size, strata.is_flagged, known, uniform=u)
    plan = allocate(window, max_labels=budget).labels
    shape = (rounds, len(size))
    return np.broadcast_to(plan, shape), rng.hypergeometric(true, size - true, plan, shape)


def as_rounds(strata: Strata, budget: int, plans: Whole) -> CellRounds:
    """Describe rounds of a window, each with a plan of its own."""
    up, size, true = strata.is_flagged, strata.size, strata.positive
    flagged, positives, hits = int(size[up].sum()), int(true.sum()), int(true[up].sum())
    setting = Setting(
        k=flagged / int(size[~up].sum()),
        precision=hits / flagged,
        recall=hits / positives,
        labels=budget,
        times=int(size.sum()) // budget,
        plan="scores",
    )
    return CellRounds(setting, size, true / size, up, true, plans)


def estimated(design: CellRounds, positive: Whole) -> Judged:
    """Estimate rounds, of which those with the same plan at once."""
    _, first, plan = np.unique(design.plans, axis=0, return_index=True, return_inverse=True)
    found = [
        judged(design, METRICS, int(index), positive[plan == place])
        for place, index in enumerate(first)
    ]
    fields = ("below", "above", "low", "high", "point")
    return Judged(*(np.concatenate([getattr(f, n) for f in found], axis=1) for n in fields))


def rows_of(window: Window, budget: int, seeds: int) -> list[Row]:
    """Draw and estimate rounds; a row for each metric."""
    rng = np.random.default_rng(budget)
    labeled, design, found = first_rounds(cut(window, budget), budget, seeds, rng)
    if silent := int(np.isnan(found.low).sum()):
        print(f"{window.name}: no interval {silent} times")
    up, true = window.is_flagged, window.is_positive
    rate = np.clip([true[up].mean(), true[~up].mean()], 1e-9, 1 - 1e-9)
    whole = Prospect.of([up.sum(), (~up).sum()], [True, False], PriorRates.of_rates(rate))
    rows = []
    for index, (name, of) in enumerate(zip(METRICS, (up, true), strict=True)):
        width = float(np.nanmean(found.high[index] - found.low[index]))
        needed = random_sampling_labels(whole, {name: width / 2}) if width > 0 else len(up)
        rows.append(
            Row(
                name=window.name,
                metric=name,
                truth=float((up & true).sum() / of.sum()),
                rarer=design.rarer[index],
                below=float(np.nanmean(found.below[index])),
                above=float(np.nanmean(found.above[index])),
                width=width,
                labels=round(float(labeled.sum(axis=1).mean())),
                random=needed,
            )
        )
    return rows


def say(rows: Sequence[Row]) -> None:
    """Print rows one a line."""
    print(
        "window              metric     truth  rarer  miss low  miss high"
        "  covered  width  labels  random"
    )
    for r in rows:
        rarer = "  known" if r.rarer == math.inf else f"{r.rarer:7.1f}"
        missed = f"{r.below:.4f}     {r.above:.4f}   {r.covered:.4f}"
        print(
            f"{r.name:<19} {r.metric:<9} {r.truth:6.3f}{rarer}    {missed}  "
            f"{r.width:.3f}  {r.labels:6d}  {r.random:6d}"
        )


def say_targets(rows: Sequence[Row], seeds: int) -> None:
    """Print what is wanted and whether it is met."""
    counted, slack = [r for r in rows if r.counts], 3 * math.sqrt(0.95 * 0.05 / seeds)
    outside = [r for r in counted if abs(r.covered - 0.95) > 0.02 + slack]
    mean = float(np.mean([r.covered for r in counted]))
    told = (
        "met" if not outside else f"MISSED by {', '.join(f'{r.name} {r.metric}' for r in outside)}"
    )
    print(f"each of {len(counted)} within .95 +- .02 +- 3 se ({slack:.3f}): {told}")
    verdict = "met" if 0.94 <= mean <= 0.96 else "MISSED"
    print(f"mean {mean:.4f}, wanted .94 to .96: {verdict}")
    apart = [r.covered for r in rows if not r.counts]
    if apart:
        print(f"apart: {len(apart)}, mean {np.mean(apart):.4f}, lowest {min(apart):.4f}")
    for metric in METRICS:
        saved = [r.random / r.labels for r in rows if r.metric == metric]
        print(f"{metric}: a random sample needs {np.median(saved):.2f} times the labels (median)")


def main(data: Path, seeds: int = 800) -> None:
    """Run every window at both budgets."""
    every = list(windows(data))
    rows: list[Row] = []
    for budget in BUDGETS:
        print(f"\nat most {budget} labels a window, {seeds} draws each")
        here = [row for window in every for row in rows_of(window, budget, seeds)]
        say([r for r in here if r.counts])
        print("apart: known, or under 10 of the rarer answer are expected")
        say([r for r in here if not r.counts])
        rows += here
    print()
    say_targets(rows, seeds)
