"""Macro and micro averages over classes: coverage, with and without regard to shared items.

    PYTHONPATH=. python benchmarks/class_averages.py [--replicates 400] [--only "30 classes"]
        [--draws 1024]

Each replicate makes a window: every item has an actual class, and is predicted to be that with the
cell's chance, else another at random. A sample is drawn for each class, so many flagged and so
many passed items in the order of one hash for all classes (`separate`: of a hash for each), and
`class_averages` is asked for the averages of that very window. `covered` is how often the 95 %
interval holds the truth, with the shares of truths below and above it, `half` its mean half-width.
`apart` is how often the interval holds it that takes the classes for independent (the same call,
with no item said to be shared), and how wide that is in widths of ours. `bias` is that of the
point, in half-widths. `missed found` is the mean number of missed items among a class's labels,
`answers` the share of all labels that has to be asked for, since one answer counts in all samples.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.sample import LabeledSample
from monitor.stats.estimation.class_averages import ClassAverages, ClassSample, class_averages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

NAMES = ("macro precision", "macro recall", "micro precision", "micro recall")


@dataclass(frozen=True)
class Cell:
    """One setting: so many classes, how often they are right, and the labels of each."""

    name: str
    classes: int
    right: float
    flagged: int
    passed: int
    window: int = 20_000
    skewed: bool = False
    separate: bool = False

    @property
    def shares(self) -> Values:
        """Share of each class: equal, or of the r-th in proportion to 1/r."""
        each = 1 / np.arange(1, self.classes + 1) if self.skewed else np.ones(self.classes)
        return np.asarray(each / each.sum())


CELLS = (
    Cell("3 classes", 3, 0.7, 100, 300),
    Cell("3 classes, separate items", 3, 0.7, 100, 300, separate=True),
    Cell("3 classes, weak", 3, 0.2, 100, 300),
    Cell("3 classes, small window", 3, 0.7, 100, 300, window=900),
    Cell("10 classes", 10, 0.75, 60, 400),
    Cell("10 classes, skewed", 10, 0.75, 60, 400, skewed=True),
    Cell("10 classes, weak, skewed", 10, 0.3, 60, 400, skewed=True),
    Cell("10 classes, separate items", 10, 0.75, 60, 400, separate=True),
    Cell("30 classes", 30, 0.75, 40, 1000),
    Cell("30 classes, strong", 30, 0.95, 40, 1000),
    Cell("30 classes, skewed", 30, 0.75, 40, 1000, skewed=True),
    Cell("30 classes, few labels", 30, 0.75, 40, 200),
)


@dataclass
class Tally:
    """What the replicates of a cell found, one entry of four for each average."""

    truths: list[Values] = field(default_factory=list)
    ours: list[Values] = field(default_factory=list)
    apart: list[Values] = field(default_factory=list)
    points: list[Values] = field(default_factory=list)
    missed: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)


def window(cell: Cell, rng: np.random.Generator) -> tuple[Whole, Whole]:
    """Actual and predicted class of each item."""
    actual = rng.choice(cell.classes, cell.window, p=cell.shares)
    guess = rng.choice(cell.classes, cell.window, p=cell.shares)
    return actual, np.where(rng.random(cell.window) < cell.right, actual, guess)


def samples(
    cell: Cell, actual: Whole, predicted: Whole, rng: np.random.Generator
) -> list[ClassSample]:
    """Draw the sample of each class in the order of one hash, or of one each."""
    order = rng.permutation(cell.window)
    found = []
    for of in range(cell.classes):
        mine = rng.permutation(cell.window) if cell.separate else order
        is_flagged = predicted[mine] == of
        flagged, passed = mine[is_flagged], mine[~is_flagged]
        drawn = flagged[: cell.flagged], passed[: cell.passed]
        item = np.concatenate(drawn)
        sample = LabeledSample(
            np.repeat([0, 1], [len(each) for each in drawn]),
            actual[item] == of,
            size=[len(flagged), len(passed)],
            flagged=1,
        )
        found.append(ClassSample(str(of), sample, item))
    return found


def not_shared(classes: Sequence[ClassSample]) -> list[ClassSample]:
    """Say of no item that it is in two samples."""
    first = np.cumsum([0, *(len(each.item) for each in classes)])
    return [
        ClassSample(each.name, each.sample, np.arange(len(each.item)) + start)
        for each, start in zip(classes, first, strict=False)
    ]


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
        seed_of = int(rng.integers(2**32))
        ours = class_averages(classes, seed=seed_of, draws=draws)
        apart = class_averages(not_shared(classes), seed=seed_of, draws=draws)
        tally.truths.append(truths(cell, actual, predicted))
        tally.ours.append(_ends(ours))
        tally.apart.append(_ends(apart))
        tally.points.append(np.array([row.interval.point for row in ours.rows if row.interval]))
        tally.missed.append(
            float(np.mean([(c.sample.positive & ~c.sample.is_flagged).sum() for c in classes]))
        )
        tally.answers.append(ours.items / ours.labels)
    return tally


def _ends(found: ClassAverages) -> Values:
    return np.array([[row.interval.low, row.interval.high] for row in found.rows if row.interval])


def say(cell: Cell, tally: Tally) -> None:
    """Print a cell, an average a line."""
    truth, ours, apart = (np.array(each) for each in (tally.truths, tally.ours, tally.apart))
    bias = np.array(tally.points).mean(axis=0) - truth.mean(axis=0)
    print(
        f"{cell.name}: {cell.flagged} + {cell.passed} labels a class, missed found "
        f"{np.mean(tally.missed):.1f}, answers {np.mean(tally.answers):.2f}"
    )
    for place, name in enumerate(NAMES):
        below, above = _missed(truth[:, place], ours[:, place])
        other = 1 - sum(_missed(truth[:, place], apart[:, place]))
        width = float(np.mean(ours[:, place, 1] - ours[:, place, 0]))
        wide = float(np.mean(apart[:, place, 1] - apart[:, place, 0])) / width
        print(
            f"    {name:<16} {truth[:, place].mean():.3f}  covered {1 - below - above:.3f} "
            f"({below:.3f}, {above:.3f})  half {width / 2:.4f}  bias {2 * bias[place] / width:+.2f}"
            f"  apart {other:.3f}, {wide:.2f} as wide"
        )


def _missed(truth: Values, ends: Values) -> tuple[float, float]:
    """Shares of truths below and above their intervals, to the last digits."""
    below, above = truth < ends[:, 0] - 1e-12, truth > ends[:, 1] + 1e-12
    return float(below.mean()), float(above.mean())


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--only", default="", help="cells whose name begins so")
    parser.add_argument("--draws", type=int, default=2**10)
    asked = parser.parse_args()
    begun = time.perf_counter()
    for seed, cell in enumerate(CELLS):
        if cell.name.startswith(asked.only):
            say(cell, run(cell, asked.replicates, seed, asked.draws))
    error = math.sqrt(0.95 * 0.05 / asked.replicates)
    print(f"standard error of a share of .95: {error:.4f}; {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
