"""Macro and micro averages over classes: coverage, with and without regard to shared items.

The intervals were not chosen on these settings.
`bias` is in half-widths, `missed found` the mean number of missed items among a class's labels.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from benchmarks.harness import Flags, Values, Whole
from monitor.stats.core.sample import LabeledSample
from monitor.stats.estimation.class_averages import class_averages
from monitor.stats.estimation.class_samples import ClassSample
from monitor.stats.estimation.grouped_cells import grouped_cells

NAMES = ("macro precision", "macro recall", "micro precision", "micro recall")


@dataclass(frozen=True)
class Cell:
    """One setting: so many classes, how often they are right, and the labels of each.

    `worst` is how often the first class is, `neighbours` whether the others are taken for the next
    class instead of any, and `cells` whether each sample is drawn from score cells.
    """

    name: str
    classes: int
    right: float
    flagged: int
    passed: int
    window: int = 20_000
    skewed: bool = False
    separate: bool = False
    worst: float | None = None
    neighbours: bool = False
    cells: bool = False

    @property
    def rights(self) -> Values:
        """How often each class is predicted right, chance aside."""
        first = self.right if self.worst is None else self.worst
        return np.array([first, *[self.right] * (self.classes - 1)])

    @property
    def shares(self) -> Values:
        """Share of each class: equal, or of the r-th in proportion to 1/r."""
        each = 1 / np.arange(1, self.classes + 1) if self.skewed else np.ones(self.classes)
        return np.asarray(each / each.sum())


UNSEEN = (
    Cell("2 classes", 2, 0.85, 80, 200),
    Cell("2 classes, skewed", 2, 0.6, 50, 120, skewed=True),
    Cell("5 classes, neighbours", 5, 0.6, 80, 250, neighbours=True),
    Cell("5 classes, one weak", 5, 0.9, 50, 200, worst=0.4),
    Cell("8 classes, strong", 8, 0.97, 50, 200),
    Cell("8 classes, few labels, skewed", 8, 0.8, 30, 100, skewed=True),
    Cell("15 classes, weak", 15, 0.5, 40, 600),
    Cell("15 classes, neighbours, skewed", 15, 0.7, 30, 300, neighbours=True, skewed=True),
    Cell("20 classes, one weak, skewed", 20, 0.85, 50, 500, skewed=True, worst=0.3),
    Cell("25 classes, separate items", 25, 0.6, 40, 300, separate=True),
    Cell("50 classes", 50, 0.8, 30, 800, window=50_000),
    Cell("50 classes, skewed", 50, 0.6, 30, 800, window=50_000, skewed=True),
    Cell("6 classes, small window", 6, 0.8, 60, 150, window=1200),
    Cell("20 classes, small window, skewed", 20, 0.7, 30, 200, window=2000, skewed=True),
    Cell("4 classes, score cells", 4, 0.8, 80, 320, cells=True),
    Cell("10 classes, score cells, strong", 10, 0.95, 80, 320, cells=True),
    Cell("12 classes, score cells, skewed", 12, 0.6, 80, 320, cells=True, skewed=True),
)

UP, DOWN = 8, 16  # score cells of a class's flagged and passed items


@dataclass
class Tally:
    """What the replicates of a cell found, one entry of four for each average."""

    truths: list[Values] = field(default_factory=list)
    ours: list[Values] = field(default_factory=list)
    points: list[Values] = field(default_factory=list)
    missed: list[float] = field(default_factory=list)


def window(cell: Cell, rng: np.random.Generator) -> tuple[Whole, Whole]:
    """Actual and predicted class of each item."""
    actual = rng.choice(cell.classes, cell.window, p=cell.shares)
    if cell.neighbours:
        guess = (actual + 1) % cell.classes
    else:
        guess = rng.choice(cell.classes, cell.window, p=cell.shares)
    return actual, np.where(rng.random(cell.window) < cell.rights[actual], actual, guess)


def samples(
    cell: Cell, actual: Whole, predicted: Whole, rng: np.random.Generator
) -> list[ClassSample]:
    """Draw the sample of each class in the order of one hash, or of one each."""
    order = rng.permutation(cell.window)
    found = []
    for of in range(cell.classes):
        mine = rng.permutation(cell.window) if cell.separate else order
        draw = _cells_sample if cell.cells else _plain_sample
        sample, item = draw(cell, predicted == of, actual == of, mine, rng)
        found.append(ClassSample(str(of), sample, item))
    return found


def _plain_sample(
    cell: Cell, flagged: Flags, positive: Flags, order: Whole, _: np.random.Generator
) -> tuple[LabeledSample, Whole]:
    drawn = order[flagged[order]][: cell.flagged], order[~flagged[order]][: cell.passed]
    item = np.concatenate(drawn)
    stratum = np.repeat([0, 1], [len(each) for each in drawn])
    size = [flagged.sum(), (~flagged).sum()]
    return LabeledSample(stratum, positive[item], size=size, flagged=1), item


def _cells_sample(
    cell: Cell, flagged: Flags, positive: Flags, order: Whole, rng: np.random.Generator
) -> tuple[LabeledSample, Whole]:
    """Draw the same number from each cell of a score; passed cells are smaller at high scores."""
    score = rng.standard_normal(cell.window) + 1.5 * positive
    cells = np.where(flagged, _ranks(score, flagged) * UP, 0).astype(np.int64)
    passed = UP + DOWN - 1 - np.floor(np.sqrt(1 - _ranks(score, ~flagged)) * DOWN)
    cells = np.where(flagged, cells, np.clip(passed, UP, UP + DOWN - 1)).astype(np.int64)
    each = [cell.flagged // UP] * UP + [cell.passed // DOWN] * DOWN
    item = np.concatenate([order[cells[order] == c][:n] for c, n in enumerate(each)])
    size = np.bincount(cells, minlength=UP + DOWN)
    return grouped_cells(cells[item], positive[item], size=size, flagged=UP).sample, item


def _ranks(score: Values, among: Flags) -> Values:
    """Share of those among which the score is lower, for these; else 0."""
    found = np.zeros(len(score))
    found[among] = np.argsort(np.argsort(score[among])) / max(among.sum(), 1)
    return found


def truths(cell: Cell, actual: Whole, predicted: Whole) -> Values:
    """Compute the four averages of the whole window."""
    right = np.bincount(actual[actual == predicted], minlength=cell.classes)
    flagged = np.bincount(predicted, minlength=cell.classes)
    there = np.bincount(actual, minlength=cell.classes)
    return np.array(
        [
            np.mean(right[flagged > 0] / flagged[flagged > 0]),
            np.mean(right[there > 0] / there[there > 0]),
            right.sum() / flagged.sum(),
            right.sum() / there.sum(),
        ]
    )


def run(cell: Cell, replicates: int, seed: int, draws: int = 2**10) -> Tally:
    """Simulate a cell."""
    rng, tally = np.random.default_rng(seed), Tally()
    for _ in range(replicates):
        actual, predicted = window(cell, rng)
        classes = samples(cell, actual, predicted, rng)
        ours = class_averages(classes, seed=int(rng.integers(2**32)), draws=draws)
        found = [row.interval for row in ours.rows if row.interval]
        tally.truths.append(truths(cell, actual, predicted))
        tally.ours.append(np.array([[each.low, each.high] for each in found]))
        tally.points.append(np.array([each.point for each in found]))
        tally.missed.append(
            float(np.mean([(c.sample.positive & ~c.sample.is_flagged).sum() for c in classes]))
        )
    return tally


def say(cell: Cell, tally: Tally) -> None:
    """Print a cell, an average a line."""
    truth, ours = np.array(tally.truths), np.array(tally.ours)
    bias = np.array(tally.points).mean(axis=0) - truth.mean(axis=0)
    print(
        f"{cell.name}: {cell.flagged} + {cell.passed} labels a class, missed found "
        f"{np.mean(tally.missed):.1f}"
    )
    for place, name in enumerate(NAMES):
        below, above = _missed(truth[:, place], ours[:, place])
        width = float(np.mean(ours[:, place, 1] - ours[:, place, 0]))
        print(
            f"    {name:<16} {truth[:, place].mean():.3f}  covered {1 - below - above:.3f} "
            f"({below:.3f}, {above:.3f})  half {width / 2:.4f}  bias {2 * bias[place] / width:+.2f}"
        )


def _missed(truth: Values, ends: Values) -> tuple[float, float]:
    """Shares of truths below and above their intervals, to the last digits."""
    below, above = truth < ends[:, 0] - 1e-12, truth > ends[:, 1] + 1e-12
    return float(below.mean()), float(above.mean())


def main(replicates: int = 400, only: str = "", draws: int = 2**10) -> None:
    """Run what was asked for."""
    covered = []
    for seed, cell in enumerate(UNSEEN):
        if cell.name.startswith(only):
            tally = run(cell, replicates, seed, draws)
            say(cell, tally)
            covered.append(_covered(tally))
    print(f"mean  {np.mean(covered, axis=0).round(4)}  lowest {np.min(covered, axis=0).round(3)}")
    error = math.sqrt(0.95 * 0.05 / replicates)
    print(f"standard error of a share of .95: {error:.4f}")


def _covered(tally: Tally) -> list[float]:
    """How often the intervals hold the truth, in the order of the averages."""
    truth, ours = np.array(tally.truths), np.array(tally.ours)
    return [1 - sum(_missed(truth[:, place], ours[:, place])) for place in range(len(NAMES))]
