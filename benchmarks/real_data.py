"""Measure coverage and the labels saved on real predictions whose labels are all known.

    python benchmarks/real_data.py --data DIR [--seeds 2000]

DIR holds `fte_mlb_world_series.csv.gz` (forecasts of FiveThirtyEight, a season a window) and
`census_ma_employment.csv.gz` (an employment model on US Census data, a year a window). Each window
is cut into the monitor's score bands, gets the plan of a first round with 300 or 1,000 labels, and
is drawn and estimated 2,000 times; the truth is the precision and recall of the window's own items,
and the interval is that of the `window` estimand. Windows where a stratum is taken whole, or where
fewer than 10 labels of the rarer answer are expected (`rarer.py`), stand apart. `random` is how
many labels a plain random sample of the window needs for intervals as wide on average.

Takes half a minute on one core.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.fast_rounds import METRICS, Design, FastRounds
from benchmarks.rarer import expected_rarer, taken_whole
from monitor.stats import (
    FLAGGED_BANDS,
    PASSED_BANDS,
    PriorRates,
    allocate,
    band_edges,
    band_of,
    random_sampling_labels,
)
from monitor.stats.design.score_bands import affordable_bands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

FILES = {
    "world-series": "fte_mlb_world_series.csv.gz",
    "census": "census_ma_employment.csv.gz",
}
BUDGETS = (300, 1000)
SOME = 200
"""Rounds whose widths are looked at."""


@dataclass(frozen=True)
class Row:
    """One window at one budget and for one metric."""

    name: str
    metric: str
    truth: float
    rarer: float
    whole: bool
    below: float
    above: float
    width: float
    labels: int
    random: int
    error: float

    @property
    def covered(self) -> float:
        """Share of intervals that hold the truth."""
        return 1 - self.below - self.above

    @property
    def counts(self) -> bool:
        """Whether the window is one that the target is about."""
        return not self.whole and self.rarer >= 10


def windows(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each season or year with its name."""
    for name, file in FILES.items():
        items = pd.read_csv(folder / file)
        year = items["year"] if "year" in items else pd.to_datetime(items["ts"]).dt.year
        for each, window in items.groupby(year):
            yield f"{name} {each}", window


def design_of(window: pd.DataFrame, budget: int) -> tuple[Design, NDArray[np.bool_]]:
    """Cut a window into bands and plan its first round, as the monitor does."""
    rows = []
    for flagged, bands in zip(
        (1, 0), affordable_bands(FLAGGED_BANDS, PASSED_BANDS, budget), strict=True
    ):
        items = window[window["pred"] == flagged]
        score = items["score"].to_numpy(dtype=np.float64)
        band = band_of(score, band_edges(score, bands))
        for index in np.unique(band):
            inside = band == index
            positive = int(items["y"].to_numpy()[inside].sum())
            rows.append((flagged, int(inside.sum()), positive, float(score[inside].mean())))
    up, size, positives, mean_score = (np.array(column) for column in zip(*rows, strict=True))
    is_flagged = up == 1
    known = PriorRates.of_scores(mean_score, is_flagged)
    labeled = allocate(size, is_flagged, known, max_labels=budget).labels
    return Design(size, labeled, int(is_flagged.sum()), positive=positives), is_flagged


def run(name: str, window: pd.DataFrame, budget: int, seeds: int) -> list[Row]:
    """Draw and estimate one window so many times."""
    design, is_flagged = design_of(window, budget)
    rounds = FastRounds(design, design.simulate(seeds, np.random.default_rng(budget)))
    missed = rounds.misses().mean(axis=2)
    ends = rounds.ends(SOME)
    rarer = expected_rarer(design)
    true_rates = PriorRates.of_rates(np.clip(design.true_rate, 1e-9, 1 - 1e-9))
    rows = []
    for metric, word in enumerate(METRICS):
        width = float(np.mean(ends[metric, 1] - ends[metric, 0]))
        margin = {word: width / 2}
        random = (
            random_sampling_labels(design.size, is_flagged, true_rates, margin)
            if width > 0
            else int(design.size.sum())
        )
        rows.append(
            Row(
                name=name,
                metric=word,
                truth=design.truths[metric],
                rarer=rarer[metric],
                whole=taken_whole(design),
                below=float(missed[metric, 0]),
                above=float(missed[metric, 1]),
                width=width,
                labels=int(design.labeled.sum()),
                random=random,
                error=math.sqrt(0.95 * 0.05 / seeds),
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


def say_targets(rows: Sequence[Row]) -> None:
    """Print what is wanted and whether it is met."""
    counted = [r for r in rows if r.counts]
    outside = [r for r in counted if abs(r.covered - 0.95) > 0.02 + 3 * r.error]
    mean = float(np.mean([r.covered for r in counted]))
    told = (
        "met" if not outside else f"MISSED by {', '.join(f'{r.name} {r.metric}' for r in outside)}"
    )
    print(f"each of {len(counted)} within .95 +- .02 +- 3 se ({3 * counted[0].error:.3f}): {told}")
    verdict = "met" if 0.94 <= mean <= 0.96 else "MISSED"
    print(f"mean {mean:.4f}, wanted .94 to .96: {verdict}")
    apart = [r.covered for r in rows if not r.counts]
    if apart:
        print(f"apart: {len(apart)}, mean {np.mean(apart):.4f}, lowest {min(apart):.4f}")
    for metric in METRICS:
        saved = [r.random / r.labels for r in rows if r.metric == metric]
        print(f"{metric}: a random sample needs {np.median(saved):.2f} times the labels (median)")


def main() -> None:
    """Run every window at both budgets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the two files")
    parser.add_argument("--seeds", type=int, default=2000)
    asked = parser.parse_args()
    begun = time.perf_counter()
    every = list(windows(asked.data))
    rows: list[Row] = []
    for budget in BUDGETS:
        print(f"\nat most {budget} labels a window, {asked.seeds} draws each")
        found = [row for name, window in every for row in run(name, window, budget, asked.seeds)]
        say([r for r in found if r.counts])
        print("apart: a stratum is taken whole, or under 10 of the rarer answer are expected")
        say([r for r in found if not r.counts])
        rows += found
    print()
    say_targets(rows)
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
