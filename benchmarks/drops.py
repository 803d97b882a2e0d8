"""How soon a drop is found in bands, in cells of a score, and with the verdicts of a judge.

Limits 5 points under the levels of precision and recall, one false alarm a year promised over both.
A row has the labels of a round and those of flagged items, and the shares of paths on which a drop
by ten points, from 5 points above the limit, fires within 4 rounds.

A score cuts 20+40 cells, or half of each by verdict, planned by the rates of quiet rounds, with
equal margins but where `P` is named beside .05 for recall. The judge says yes to as many of each
kind of item after a drop as before it (`judge`): what moves are the sizes of the strata.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks import cells, judge
from benchmarks.cells import CELLS
from benchmarks.drift import (
    DESIGNS,
    METRICS,
    QUIET,
    YEAR,
    drawn_from_population,
    limits_of,
    rates_at,
)
from benchmarks.harness import Values
from benchmarks.strata import MARGIN, population
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.design.prospect import SHARE_BY_SIZE
from monitor.stats.detection.delay import Paths
from monitor.stats.detection.scenario import Scenario

LABELS = ((200, 1050), (60, 300))
ROOM = {"precision": 0.05, "recall": 0.05}
DROP, WITHIN = 0.10, 4
LEVELS: dict[str, tuple[float, float] | None] = {"Phi1": None, ".85 / .75": (0.85, 0.75)}
BANDS = "3+5 bands"
PROXIES: dict[str, tuple[str, str | None, tuple[int, int], float]] = {
    "good score": ("good", None, CELLS, 1.0),
    "good score, P .04, 5+10 cells": ("good", None, (5, 10), 0.8),
    "good score, judge .8 / .02": ("good", "TPR .8, FPR .02", judge.HALF, 1.0),
    "weak score, judge .8 / .02": ("weak", "TPR .8, FPR .02", judge.HALF, 1.0),
    "weak score, judge .8 / .02, P .03": ("weak", "TPR .8, FPR .02", judge.HALF, 0.6),
    "weak score, judge .9 / .01": ("weak", "TPR .9, FPR .01", judge.HALF, 1.0),
    "weak score, judge .9 / .01, P .03": ("weak", "TPR .9, FPR .01", judge.HALF, 0.6),
    "weak score, shared mistakes": ("weak", "shares mistakes", judge.HALF, 1.0),
}
"""Score, judge, cells of each class, and the margin of precision over that of recall."""


@dataclass(frozen=True, eq=False)
class Watched:
    """A design in a quiet time: its strata, and its expected labels where they vary."""

    scenario: Scenario
    expected: Values | None = None

    @property
    def flagged(self) -> float:
        """Expected labels of flagged items."""
        expected = self.scenario.labeled if self.expected is None else self.expected
        return float(expected[self.scenario.is_flagged].sum())

    def window(self, rng: np.random.Generator) -> Scenario:
        """Strata of one more round."""
        if self.expected is None:
            return self.scenario
        return replace(self.scenario, labeled=systematic_sizes(self.expected, rng.random()))


def main(paths: int = 2000) -> None:
    """Print a row for each number of labels, design and level of the metrics."""
    head = "".join(f"{metric:>11} -{DROP:.2f}" for metric in METRICS)
    print(f"found within {WITHIN} rounds, {paths} paths\n{'':<58}flagged{head}")
    for labels, name, levels in product(LABELS, (BANDS, *PROXIES), LEVELS):
        of_bands = name == BANDS
        quiet, *falls = in_bands(labels, levels) if of_bands else by_proxy(labels, levels, name)
        row = "".join(
            f"{found(quiet, fall, metric, paths):16.3f}"
            for fall, metric in zip(falls, METRICS, strict=True)
        )
        print(f"{sum(labels):>5,}  {name:<39}{levels:<12}{quiet.flagged:7.0f}{row}", flush=True)


def in_bands(labels: tuple[int, int], levels: str) -> Iterator[Watched]:
    """Make bands in a quiet time, and after a drop of each metric."""
    scenario = bands(labels)
    if (values := LEVELS[levels]) is not None:
        [rates] = rates_at(scenario, *(np.array([[value]]) for value in values))
        scenario = replace(scenario, rates=rates)
    yield Watched(scenario)
    for metric in METRICS:
        yield Watched(scenario.dropped(metric, DROP))


def bands(labels: tuple[int, int]) -> Scenario:
    """Make the 3+5 bands of `drift`."""
    return drawn_from_population(*DESIGNS[f"3+5, {labels[0]}+{labels[1]}"])


def by_proxy(labels: tuple[int, int], levels: str, proxy: str) -> Iterator[Watched]:
    """Plan rounds by the rates of a quiet one: itself, and after a drop of each metric."""
    score, verdict, cut_into, ratio = PROXIES[proxy]
    design = cells.cut(population("Phi1", score), cut_into)
    by = np.subtract(LEVELS[levels] or design.truth, design.truth)
    margins = {"precision": ratio * MARGIN, "recall": MARGIN}
    known = np.empty(0)
    for drop in ((0.0, 0.0), (DROP, 0.0), (0.0, DROP)):
        now = judge.moved(design, *by - np.array(drop))
        if verdict is not None:
            now = judge.judged(now, judge.JUDGES[verdict])
        known = known if known.size else np.clip(now.rate, 1e-9, 1 - 1e-9)
        strata = now.size, now.is_flagged, known
        plan = expected_sizes(*strata, labels=sum(labels), share=SHARE_BY_SIZE, margins=margins)
        yield Watched(Scenario.of(now.size, 0 * plan, now.is_flagged, now.rate), plan)


def found(design: Watched, after: Watched, metric: str, paths: int) -> float:
    """Share of paths on which the limit of a metric that drops fires in time."""
    rng = np.random.default_rng(1)
    watchers = Paths(limits_of(design.scenario, ROOM), YEAR, paths)
    detected = np.zeros(paths, dtype=np.bool_)
    for t in range(-QUIET - 1, WITHIN):
        now = after if t >= 0 else design
        fired = watchers.close(now.window(rng).drawn(rng, paths))[METRICS.index(metric)]
        detected |= fired & (t >= 0)
    return float(detected.mean())
