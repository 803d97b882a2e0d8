"""Measure how often 95 % intervals for precision and recall hold the truth, where it is hard.

5,000 rounds in a named cell of `coverage_grid` and 1,000 in another; other methods see the same
rounds. Groups go by the labels of the rarer answer that a design can expect; limits of single
cells are widened by 3 standard errors. Then how far the points lie off (`point_bias`).
``--compare`` tries other priors and kinds of intervals instead.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.coverage_grid import TABLE_3, Cell, every_cell, second_cells
from benchmarks.fast_rounds import (
    METRICS,
    POINTS,
    Design,
    FastRounds,
    Prior,
    cautioned,
    default_prior,
    expected_rarer,
)
from benchmarks.harness import Values, Whole
from benchmarks.other_methods import OTHERS
from benchmarks.point_bias import Bias, CellBias, bias_of, say_bias, say_quiet

FEW_POINTS = 2**10
LEVEL = 0.95


def even(count: Callable[[int], float]) -> Prior:
    """Give each of the H strata of a class the same count a = b."""

    def prior(design: Design, part: slice) -> tuple[Values, Values]:
        del design
        strata = part.stop - part.start
        both = np.full((1, strata), count(strata))
        return both, both

    return prior


def shared_by(weight: Callable[[Design, slice], Values]) -> Prior:
    """Share Jeffreys' half count out over the strata of a class by a weight."""

    def prior(design: Design, part: slice) -> tuple[Values, Values]:
        weights = weight(design, part)
        both = np.maximum(0.5 * weights / weights.sum(), 1e-3)[np.newaxis]
        return both, both

    return prior


def centred(design: Design, part: slice) -> tuple[Values, Values]:
    """One count in all, split in each stratum as its true rate, which no score knows better."""
    rate = np.clip(design.true_rate[part], 1e-3, 1 - 1e-3)[np.newaxis]
    return rate / rate.size, (1 - rate) / rate.size


def two_minded(light: float, heavy: float, power: float = 0.5) -> Prior:
    """Let half of the draws take light/H, half heavy/H**power; one stratum keeps Jeffreys'."""

    def prior(design: Design, part: slice) -> tuple[Values, Values]:
        strata = part.stop - part.start
        if strata == 1:
            return default_prior(design, part)
        both = np.outer([light / strata, heavy / strata**power], np.ones(strata))
        return both, both

    return prior


PRIORS: dict[str, Prior] = {
    ".1/H and .5/sqrt(H) (default)": default_prior,
    ".5/H, Jeffreys' shared out": even(lambda strata: 0.5 / strata),
    ".5, Jeffreys' in each": even(lambda _: 0.5),
    ".35/H": even(lambda strata: 0.35 / strata),
    "1/H, uniform shared out": even(lambda strata: 1 / strata),
    "1, uniform in each": even(lambda _: 1.0),
    "1/3, Kerman's in each": even(lambda _: 1 / 3),
    ".5/sqrt(H)": even(lambda strata: 0.5 / math.sqrt(strata)),
    ".5 shared by labels": shared_by(lambda d, part: d.labeled[part].astype(np.float64)),
    ".5 shared by size": shared_by(lambda d, part: d.size[part].astype(np.float64)),
    ".5 shared by size/labels": shared_by(
        lambda d, part: d.size[part] / np.maximum(d.labeled[part], 1)
    ),
    "1/H centred on the rate": centred,
    ".1/H and .9/H": two_minded(0.1, 0.9, power=1),
    ".25/H and .5/sqrt(H)": two_minded(0.25, 0.5),
    ".1/H and .7/sqrt(H)": two_minded(0.1, 0.7),
}


def hpd(rounds: FastRounds) -> Values:
    """Share of the shortest intervals that lie above, and below, the truth, shape ``(2, 2)``."""
    design, held = rounds.design, math.ceil(LEVEL * FEW_POINTS)
    flagged = float(design.size[: design.flagged].sum())
    missed = np.zeros((2, 2))
    for first in range(0, rounds.replicates, 128):
        tp, fn = rounds.sums(slice(first, first + 128))
        with np.errstate(invalid="ignore"):
            both = (tp / flagged, np.nan_to_num(tp / (tp + fn)))
        for metric, (drawn, truth) in enumerate(zip(both, design.truths, strict=True)):
            values = np.sort(drawn, axis=1)
            start = (values[:, held - 1 :] - values[:, : FEW_POINTS - held + 1]).argmin(axis=1)
            row = np.arange(len(values))
            missed[metric, 0] += np.sum(truth < values[row, start] - 1e-12)
            missed[metric, 1] += np.sum(truth > values[row, start + held - 1] + 1e-12)
    return missed / rounds.replicates


def mover(design: Design, positive: Whole) -> Values:
    """Misses of Wilson intervals per stratum, combined as Donner & Zou (2012) do (MOVER)."""
    z = 1.959964
    n, rate = design.labeled, positive / design.labeled
    middle, half = (rate + z**2 / (2 * n)), z * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    low, high = (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
    left = np.sqrt(np.broadcast_to(design.open_items, n.shape))
    parts = []
    for part in design.classes:
        size = design.size[part]
        total = rate[:, part] @ size
        down, up = (
            np.sqrt(((size * left[part] * (rate - end)[:, part]) ** 2).sum(axis=1))
            for end in (low, high)
        )
        parts.append((total, np.maximum(total - down, 0.0), total + up))
    (tp, tp_low, tp_high), (fn, fn_low, fn_high) = parts
    tp_true, fn_true = design.truth
    gap = fn_true * tp - tp_true * fn  # recall at its truth: a difference, so no ratio is needed
    under = np.sqrt((fn_true * (tp - tp_low)) ** 2 + (tp_true * (fn_high - fn)) ** 2)
    over = np.sqrt((fn_true * (tp_high - tp)) ** 2 + (tp_true * (fn - fn_low)) ** 2)
    return np.array(
        [
            [np.mean(tp_true < tp_low - 1e-9), np.mean(tp_true > tp_high + 1e-9)],
            [np.mean(gap - under > 1e-9), np.mean(gap + over < -1e-9)],
        ]
    )


def try_all(cell: Cell, replicates: int, seed: int) -> dict[str, Values]:
    """Misses of every prior and kind of interval on a cell, shape ``(2, 2)`` each."""
    positive = cell.design.simulate(replicates, np.random.default_rng(seed))
    found: dict[str, Values] = {}
    for name, prior in PRIORS.items():
        rounds = FastRounds(cell.design, positive, prior=prior, points=FEW_POINTS)
        found[name] = rounds.misses().mean(axis=2)
        if prior is default_prior:
            found["default, shortest interval"] = hpd(rounds)
    return found | {"Wilson per stratum, MOVER": mover(cell.design, positive)}


def show_priors(cells: Sequence[Cell], replicates: int) -> None:
    """Print coverage of every prior and kind of interval on the same rounds."""
    print(f"{len(cells)} cells, {replicates} rounds in each")
    missed = [try_all(cell, replicates, seed) for seed, cell in enumerate(cells)]
    say_comparison(missed, np.array([expected_rarer(cell.design) for cell in cells]))


def say_comparison(missed: Sequence[dict[str, Values]], rarer: Values) -> None:
    """Print a line for each metric and method."""
    print(f"{'':<42}all               10 or more   3 to 10      under 3")
    print(f"{'metric':<10} {'prior':<30} mean  low/high    " + "  ".join(["mean  least"] * 3))
    for metric, word in enumerate(METRICS):
        for name in missed[0]:
            found = np.array([each[name][metric] for each in missed])
            print(f"{word:<10} {name:<30} {_line(found, rarer[:, metric])}")


def _line(missed: Values, rarer: Values) -> str:
    counted = np.isfinite(rarer)
    covered = 1 - missed.sum(axis=1)
    parts = [
        f"{covered[counted].mean():.3f} {'/'.join(f'{m:.3f}' for m in missed[counted].mean(0))}"
    ]
    for low, high in ((10, math.inf), (3, 10), (0, 3)):
        group = covered[counted & (rarer >= low) & (rarer < high)]
        parts.append(f"{group.mean():.3f} {group.min():.3f}" if len(group) else "    -     -")
    return "  ".join(parts)


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
        cautioned=cautioned(
            design.size,
            design.labeled,
            positive[:SOME],
            np.arange(len(design.size)) < design.flagged,
            estimand="rate" if design.rate is not None else "window",
        ),
        bias=bias_of(rounds, ends),
        drift=float(np.nanmean(drift)) if np.any(width > 0) else 0.0,
        others=others(cell, positive),
    )


def others(cell: Cell, positive: Whole) -> dict[str, tuple[float, float]]:
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
