"""Measure how often 95 % intervals hold the truth, where it is hard: by bands, or by score cells.

Settings of `coverage_grid`, the named ones with five times the rounds. Groups go by the labels of
the rarer answer that a design can expect; a metric that the labels leave no doubt of is not
counted, and limits of single settings are widened by 3 standard errors. Other methods see the same
rounds in bands.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from benchmarks.cell_rounds import PLANS, CellRounds, first_rounds, judged, second_rounds
from benchmarks.coverage_grid import Cell, every_cell, second_cells
from benchmarks.fast_rounds import FastRounds, cautioned, expected_rarer
from benchmarks.harness import Values, Whole
from benchmarks.other_methods import OTHERS
from monitor.stats.core.metrics import metric

MAIN = ("precision", "recall")
GROUPS = ((10.0, math.inf), (3.0, 10.0), (0.0, 3.0))
FLOOR = (0.93, 0.91, 0.88)
ENOUGH, GOAL = 5.0, 0.1
SOME, CAUTIONED, POINTS_OF = 100, 50, 1000  # rounds: widths and cautions in bands, in cells; points


@dataclass(frozen=True, eq=False)
class Result:
    """One setting: one entry of each for every metric; NaN where no round has an interval."""

    name: str
    estimand: str
    rarer: tuple[float, float]
    rounds: int
    below: Values
    above: Values
    half: Values
    bias: Values
    cautioned: Values
    others: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def covered(self) -> Values:
        """Share of intervals that hold the truth."""
        return np.asarray(1 - self.below - self.above)

    @property
    def error(self) -> float:
        """Standard error of a share of .95."""
        return math.sqrt(0.95 * 0.05 / self.rounds)

    def counts_for(self, metric: int) -> bool:
        """Whether the labels leave a doubt of a metric."""
        return bool(self.half[metric] > 0 and self.rarer[metric] < math.inf)


def main(
    by: Literal["bands", "cells"] = "bands",
    grid: Literal["first", "second"] = "first",
    settings: int = 150,
    seed: int = 3,
    replicates: int = 1000,
) -> None:
    """Print the tables; ``settings`` and ``seed`` are those of cells."""
    if by == "bands":
        bands = every_cell() if grid == "first" else second_cells()
        results = [
            run_bands(cell, replicates * (5 if cell.setting.named else 1), number)
            for number, cell in enumerate(bands)
        ]
    else:
        cells = (first_rounds if grid == "first" else second_rounds)(settings, seed)
        results = [run_cells(design, replicates, number) for number, design in enumerate(cells)]
    print(f"{len(results)} settings, {sum(r.rounds for r in results)} rounds")
    say_groups(results)
    say_targets(results)
    if by == "bands":
        say_others(results)


def run_bands(cell: Cell, replicates: int, seed: int) -> Result:
    """Simulate a setting in bands."""
    design = cell.design
    positive = design.simulate(replicates, np.random.default_rng(seed))
    rounds = FastRounds(design, positive)
    missed = rounds.misses().mean(axis=2)
    ends = rounds.ends(min(SOME, replicates))
    points = rounds.points(min(POINTS_OF, replicates))
    estimand = "rate" if design.rate is not None else "window"
    is_flagged = np.arange(len(design.size)) < design.flagged
    strata = (design.size, design.labeled, positive[:SOME], is_flagged)
    return Result(
        name=cell.name,
        estimand=estimand,
        rarer=expected_rarer(design),
        rounds=replicates,
        below=missed[:, 0],
        above=missed[:, 1],
        half=(ends[:, 1] - ends[:, 0]).mean(axis=1) / 2,
        bias=points.mean(axis=1) - np.array(design.truths),
        cautioned=cautioned(*strata, estimand=estimand),
        others=others(cell, positive),
    )


def others(cell: Cell, positive: Whole) -> dict[str, tuple[float, float]]:
    """Coverage of each method that the cell suits (no value is a miss), and its mean width."""
    found = {}
    for name, (index, method) in OTHERS.items():
        ends = method(cell.design, positive)
        if ends is not None:
            truth = cell.design.truths[index]
            held = (ends[0] <= truth) & (truth <= ends[1])
            found[name] = (float(held.mean()), float(np.nanmean(ends[1] - ends[0])))
    return found


def run_cells(design: CellRounds, replicates: int, seed: int) -> Result:
    """Simulate a setting in score cells."""
    rng = np.random.default_rng(seed)
    each = max(2, replicates // PLANS)
    answers = [design.answers(plan, each, rng) for plan in range(PLANS)]
    parts = [judged(design, MAIN, plan, found) for plan, found in enumerate(answers)]
    below, above, low, high, point = (
        np.concatenate([getattr(part, of) for part in parts], axis=1)
        for of in ("below", "above", "low", "high", "point")
    )
    truths = np.array([[float(metric(name)(design.truth))] for name in MAIN])
    some = CAUTIONED // PLANS + 1
    how: dict[str, Any] = {"estimand": design.estimand, "cells": True}
    said = [
        cautioned(design.size, design.plans[plan], found[:some], design.is_flagged, **how)
        for plan, found in enumerate(answers)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a metric without an interval
        return Result(
            name=design.name,
            estimand=design.estimand,
            rarer=design.rarer,
            rounds=each * PLANS,
            below=np.nanmean(below, axis=1),
            above=np.nanmean(above, axis=1),
            half=np.nanmean(high - low, axis=1) / 2,
            bias=np.nanmean(point - truths, axis=1),
            cautioned=np.mean(said, axis=0),
        )


def say_groups(results: Sequence[Result]) -> None:
    """Print coverage, bias and cautions by the rarer answers expected."""
    print(
        "metric    estimand    expected settings   mean  miss low/high  least  within   half"
        "  |bias|/half: mean most  cautioned"
    )
    for index, name in enumerate(MAIN):
        counted = [r for r in results if r.counts_for(index)]
        for estimand in ("both", "rate", "window"):
            for low, high in ((0.0, math.inf), *GROUPS):
                group = [
                    r
                    for r in counted
                    if estimand in ("both", r.estimand) and low <= r.rarer[index] < high
                ]
                if group:
                    print(f"{name:<9} {estimand:<8} {_range(low, high)} {_line(group, index)}")


def say_targets(results: Sequence[Result]) -> None:
    """Print the settings that miss a target by more than 3 standard errors."""
    for index, name in enumerate(MAIN):
        counted = [r for r in results if r.counts_for(index)]
        for (low, high), floor in zip(GROUPS, FLOOR, strict=True):
            group = [r for r in counted if low <= r.rarer[index] < high]
            under = [r for r in group if r.covered[index] < floor - 3 * r.error]
            verdict = f"MISSED in {len(under)} of {len(group)}" if under else "met"
            print(f"{name}: never under {floor} where{_range(low, high)} are expected: {verdict}")
            for r in under:
                print(
                    f"    {r.covered[index]:.3f} ({r.below[index]:.3f}/{r.above[index]:.3f}), "
                    f"{r.rarer[index]:.1f} expected, cautioned {r.cautioned[index]:.2f}: {r.name}"
                )
        asked = [r for r in counted if r.rarer[index] >= ENOUGH]
        over = [r for r in asked if abs(r.bias[index]) > GOAL * r.half[index]]
        worst = max((abs(r.bias[index]) / r.half[index] for r in over), default=GOAL)
        verdict = f"MISSED in {len(over)} of {len(asked)}, {worst:.2f} at most" if over else "met"
        print(f"{name}: |bias| at most {GOAL} half-widths, {ENOUGH:g} or more expected: {verdict}")
        say_cautions(name, index, counted)


def say_cautions(name: str, index: int, results: Sequence[Result]) -> None:
    """Print how often few labels are said to decide where there are enough, and elsewhere."""
    poor = [r.cautioned[index] for r in results if r.covered[index] < FLOOR[0]]
    fine = np.array([r.cautioned[index] for r in results if r.rarer[index] >= GROUPS[0][0]])
    if not len(fine):
        return
    told = f"{np.mean(poor):.3f}" if poor else "-"
    print(
        f"{name}: cautioned {fine.mean():.3f} where 10 or more are expected, over .10 in "
        f"{np.sum(fine > 0.1)} of {len(fine)} settings; {told} in the {len(poor)} settings "
        f"covered under {FLOOR[0]}"
    )


def say_others(results: Sequence[Result]) -> None:
    """Print other methods beside ours, each on the settings that it suits."""
    print("\nOther methods on the same rounds")
    print(
        "metric     method                  cells  expected   ours    it   its lowest  width/ours"
    )
    for name, (index, _) in OTHERS.items():
        suited = [r for r in results if name in r.others and r.rarer[index] < math.inf]
        for low, high in GROUPS:
            group = [r for r in suited if low <= r.rarer[index] < high]
            if group:
                ours = float(np.mean([r.covered[index] for r in group]))
                its = np.array([r.others[name] for r in group])
                wide = float(np.nanmean(its[:, 1] / [2 * r.half[index] for r in group]))
                print(
                    f"{MAIN[index]:<10} {name:<24} {len(group):4d}  {low:>4g} and up"
                    f"  {ours:.4f}  {its[:, 0].mean():.4f}  {its[:, 0].min():.4f}  {wide:.2f}"
                )


def _range(low: float, high: float) -> str:
    said = "all" if low == 0 and high == math.inf else f"{low:g}-{high:g}"
    return f"{f'{low:g}+' if low > 0 and high == math.inf else said:>11}"


def _line(group: Sequence[Result], index: int) -> str:
    covered = np.array([r.covered[index] for r in group])
    slack = np.array([3 * r.error for r in group])
    within = np.mean((covered >= 0.935 - slack) & (covered <= 0.965 + slack))
    below, above, half = (
        float(np.mean([getattr(r, of)[index] for r in group])) for of in ("below", "above", "half")
    )
    off = np.abs([r.bias[index] / r.half[index] for r in group])
    said = np.mean([r.cautioned[index] for r in group])
    return (
        f"{len(group):5d}     {covered.mean():.4f}  {below:.4f}/{above:.4f}  {covered.min():.3f}"
        f"   {within:.2f}   {half:.4f}        {off.mean():.3f} {off.max():.3f}      {said:.2f}"
    )
