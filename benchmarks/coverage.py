"""Measure how often 95 % intervals for precision and recall hold the truth, where it is hard.

    python -m benchmarks coverage [--grid second] [--all] [--compare] [--replicates 1000]
        [--every 1]

250 cells: the twelve rows of Table 3 of Shang et al. (AISTATS 2023), 28 more named ones, and 210
drawn from k .001 to 1, precision .3 to .99, recall .2 to .99, 60 to 5,000 labels, 2 to 14 strata,
finite and infinite windows, good and weak scores (`coverage_grid.py`). In each, thousands of
rounds are drawn and estimated as the monitor does (`fast_rounds.py`): 5,000 in a named cell and
1,000 in another. Other methods see the same rounds. A cell's groups go by the labels of the rarer
answer that its design can expect (`rarer.py`); limits of single cells are widened by 3 standard
errors. A metric that the labels leave no doubt of (its strata are taken whole) is not counted.

Then how far the points lie off the truth, in each group of cells and over a year of quiet rounds
(`point_bias.py`).

`--grid second` takes 120 other cells, on which nothing was chosen (`second_grid.py`); `--all`
prints every cell; `--compare` tries other priors and kinds of intervals on the same rounds instead
(`other_priors.py`). Takes 5 minutes on one core, the second grid 2, `--compare` 15.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_grid import TABLE_3, Cell, every_cell
from benchmarks.fast_rounds import METRICS, POINTS, FastRounds
from benchmarks.harness import Values
from benchmarks.other_methods import OTHERS
from benchmarks.other_priors import show_priors
from benchmarks.point_bias import Bias, CellBias, bias_of, say_bias, say_quiet
from benchmarks.rarer import expected_rarer
from benchmarks.second_grid import second_cells
from monitor.stats import Counts, Estimand, small_count_caution

SOME = 100
"""Rounds of a cell in which widths and cautions are looked at."""

GROUPS = ((10.0, math.inf), (3.0, 10.0), (0.0, 3.0))
FLOOR = (0.93, 0.91, 0.88)


@dataclass(frozen=True)
class Result:
    """One cell: expected rarer answers, misses, what was said, and other methods' misses."""

    cell: Cell
    replicates: int
    rarer: tuple[float, float]
    below: Values
    above: Values
    width: Values
    cautioned: Values
    bias: Bias
    drift: float
    others: dict[str, tuple[float, float]]

    @property
    def covered(self) -> Values:
        """Share of intervals that hold precision, recall."""
        return 1 - self.below - self.above

    @property
    def error(self) -> float:
        """Standard error of a share of .95."""
        return math.sqrt(0.95 * 0.05 / self.replicates)


def run(cell: Cell, replicates: int, seed: int) -> Result:
    """Simulate a cell."""
    design = cell.design
    positive = design.simulate(replicates, np.random.default_rng(seed))
    rounds = FastRounds(design, positive)
    missed = rounds.misses().mean(axis=2)
    ends = rounds.ends(min(SOME, replicates))
    width = ends[:, 1] - ends[:, 0]
    finer = FastRounds(design, positive[:20], points=2**14).ends(20)
    with np.errstate(invalid="ignore"):
        drift = np.abs(finer - ends[:, :, :20]) / width[:, np.newaxis, :20]
    return Result(
        cell=cell,
        replicates=replicates,
        rarer=expected_rarer(design),
        below=missed[:, 0],
        above=missed[:, 1],
        width=width.mean(axis=1),
        cautioned=cautioned(cell, positive[:SOME]),
        bias=bias_of(rounds, ends),
        drift=float(np.nanmean(drift)) if np.any(width > 0) else 0.0,
        others=others(cell, positive),
    )


def cautioned(cell: Cell, positive: NDArray[np.int64]) -> Values:
    """Share of rounds that say that few labels decide precision, recall."""
    design = cell.design
    is_flagged = np.arange(len(design.size)) < design.flagged
    said = np.zeros(2)
    for found in positive:
        counts = Counts.of_arrays(
            size=design.size, labeled=design.labeled, positive=found, is_flagged=is_flagged
        )
        estimand: Estimand = "rate" if design.rate is not None else "window"
        said += [
            small_count_caution(counts, name, estimand=estimand) is not None for name in METRICS
        ]
    return said / len(positive)


def others(cell: Cell, positive: NDArray[np.int64]) -> dict[str, tuple[float, float]]:
    """Coverage of each method that the cell suits (no value is a miss), and its mean width."""
    found = {}
    for name, (metric, method) in OTHERS.items():
        ends = method(cell.design, positive)
        if ends is not None:
            truth = cell.design.truths[metric]
            held = (ends[0] <= truth) & (truth <= ends[1])
            found[name] = (float(held.mean()), float(np.nanmean(ends[1] - ends[0])))
    return found


def say_groups(results: Sequence[Result]) -> None:
    """Print coverage by group, beside what it should be."""
    print(
        "metric     expected  cells   mean  miss low  miss high  lowest  highest  within  cautioned"
    )
    for metric, name in enumerate(METRICS):
        counted = [r for r in results if r.rarer[metric] < math.inf]
        rows = [("all", counted)] + [
            (
                f"{low:g} to {high:g}" if high < math.inf else f"{low:g} or more",
                [r for r in counted if low <= r.rarer[metric] < high],
            )
            for low, high in GROUPS
        ]
        for label, group in rows:
            if group:
                print(f"{name:<10} {group_line(label, group, metric)}")


def group_line(label: str, group: Sequence[Result], metric: int) -> str:
    """Say one group: `within` is the share of cells inside .935 to .965, widened."""
    covered = np.array([r.covered[metric] for r in group])
    slack = np.array([3 * r.error for r in group])
    within = np.mean((covered >= 0.935 - slack) & (covered <= 0.965 + slack))
    below, above, said = (
        float(np.mean([getattr(r, part)[metric] for r in group]))
        for part in ("below", "above", "cautioned")
    )
    return (
        f"{label:>10} {len(group):5d}  {covered.mean():.4f}   {below:.4f}     {above:.4f}   "
        f"{covered.min():.4f}   {covered.max():.4f}    {within:.2f}       {said:.2f}"
    )


def say_targets(results: Sequence[Result]) -> None:
    """Print each target and whether it is met, with the cells that miss it."""
    for metric, name in enumerate(METRICS):
        counted = [r for r in results if r.rarer[metric] < math.inf]
        mean = float(np.mean([r.covered[metric] for r in counted]))
        error = math.sqrt(sum(r.error**2 for r in counted)) / len(counted)
        verdict = "met" if 0.947 <= mean <= 0.953 else "MISSED"
        print(f"{name}: mean {mean:.4f} (se {error:.4f}), wanted .947 to .953: {verdict}")
        middle = [r.covered[metric] for r in counted if 3 <= r.rarer[metric] < 10]
        if middle:
            verdict = "met" if np.mean(middle) >= 0.945 else "MISSED"
            said = f"mean {np.mean(middle):.4f} where 3 to 10 are expected, wanted .945"
            print(f"{name}: {said}: {verdict}")
        for (low, high), floor in zip(GROUPS, FLOOR, strict=True):
            group = [r for r in counted if low <= r.rarer[metric] < high]
            under = [r for r in group if r.covered[metric] < floor - 3 * r.error]
            upto = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
            text = f"never under {floor} where {upto} are expected"
            print(f"{name}: {text}: {'met' if not under else f'MISSED in {len(under)} cells'}")
            for result in under:
                print(f"    {cell_line(result)}")


def cell_line(result: Result) -> str:
    """Say one cell: its setting, then rarer answers, misses and coverage of both metrics."""
    parts = [
        f"{min(result.rarer[m], 9999):6.1f} {result.below[m]:.4f} {result.above[m]:.4f} "
        f"{result.covered[m]:.4f}"
        for m in range(2)
    ]
    return f"{result.cell.name}  {'  '.join(parts)}"


def say_cells(results: Sequence[Result]) -> None:
    """Print cells one a line."""
    head = "k      prec rec  labels bands  window score  plan"
    metric = "rarer  low    high   covered"
    print(f"{head}  {metric}  {metric}")
    for result in results:
        print(cell_line(result))


def say_others(results: Sequence[Result]) -> None:
    """Print other methods beside ours, each on the cells that it suits."""
    print(
        "metric     method                  cells  expected   ours    it   its lowest  width/ours"
    )
    for name, (metric, _) in OTHERS.items():
        suited = [r for r in results if name in r.others and r.rarer[metric] < math.inf]
        for low, high in GROUPS:
            group = [r for r in suited if low <= r.rarer[metric] < high]
            if group:
                ours = float(np.mean([r.covered[metric] for r in group]))
                its = np.array([r.others[name] for r in group])
                wide = float(np.nanmean(its[:, 1] / [r.width[metric] for r in group]))
                print(
                    f"{METRICS[metric]:<10} {name:<24} {len(group):4d}  {low:>4g} and up"
                    f"  {ours:.4f}  {its[:, 0].mean():.4f}  {its[:, 0].min():.4f}  {wide:.2f}"
                )


def main(
    grid: Literal["first", "second"] = "first",
    all: bool = False,
    compare: bool = False,
    replicates: int = 1000,
    every: int = 1,
) -> None:
    """Run what was asked for."""
    cells = (every_cell() if grid == "first" else second_cells())[::every]
    begun = time.perf_counter()
    if compare:
        show_priors(cells, replicates)
        return
    results = [
        run(cell, replicates * (5 if cell.setting.named else 1), seed)
        for seed, cell in enumerate(cells)
    ]
    say_groups(results)
    print()
    say_targets(results)
    print()
    say_bias([CellBias(r.cell.name, r.rarer, r.width / 2, r.bias) for r in results])
    if grid == "first":
        say_quiet(max(1, replicates // 10))
        print("\nTable 3 of Shang et al.")
        say_cells([r for r in results if r.cell.setting in TABLE_3])
    print("\nOther methods on the same rounds")
    say_others(results)
    drift = np.array([r.drift for r in results])
    print(
        f"\n{len(results)} cells, {sum(r.replicates for r in results)} rounds, {POINTS} points: "
        f"ends differ from those of 2^14 points by {drift.mean():.3%} of the width in the mean, "
        f"{drift.max():.2%} in the worst cell"
    )
    if all:
        print()
        say_cells(results)
    print(f"{time.perf_counter() - begun:.0f} s")
