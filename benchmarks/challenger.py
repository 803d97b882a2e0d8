"""A challenger on the labels of a round: coverage of the paired difference, and labels saved.

`close` keeps nearly all that the classifier flags, `better` drops two fifths of the false positives
and finds a quarter of the missed, `other` decides by itself. `apart` is the half-width of two
samples of as many labels, `saved` how many times the labels they need.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.cell_rounds import PLANS, CellRounds, cut_into_cells
from benchmarks.coverage_grid import Setting, class_probabilities, weakened
from benchmarks.harness import Values, Whole
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.estimation.grouped_cells import RoundItems
from monitor.stats.estimation.summed_windows import compare_windows

METRICS = ("precision", "recall")
DRAWS = 2**10
SETTINGS = (
    Setting(0.05, 0.85, 0.67, 500, times=100),
    Setting(0.05, 0.85, 0.67, 500, times=100, score="weak"),
    Setting(0.01, 0.70, 0.60, 1250, times=200),
)
KEEPS = {"close": ((0.98, 0.90), (0.05, 0.0005)), "better": ((0.98, 0.60), (0.25, 0.001))}
"""Chances to flag a positive and a negative, among what the classifier flags and what it passes."""
SIZES, PREVALENCES = (1.0, 0.5, 2.0, 1.0), (1.0, 1.5, 0.7, 1.2)


@dataclass(frozen=True, eq=False)
class Result:
    """One setting and challenger: one entry for precision and one for recall."""

    below: Values
    above: Values
    half: Values
    apart: Values
    bias: Values

    @property
    def covered(self) -> Values:
        """Share of intervals that hold the truth."""
        return np.asarray(1 - self.below - self.above)

    @property
    def saved(self) -> Values:
        """Labels of two samples apart, in labels of one sample for both."""
        return np.asarray(2 * (self.apart / self.half) ** 2)


def design_of(setting: Setting) -> CellRounds:
    """Cut a setting into cells, with a score that is as good as it claims or half as good."""
    claims = class_probabilities(setting.k, setting.precision, setting.recall)
    weak = setting.score == "weak"
    return cut_into_cells(setting, [(weakened(c) if weak else c, c) for c in claims])


def chances(design: CellRounds, challenger: str) -> Values:
    """Chance that the challenger flags a negative, and a positive, of each cell: ``(H, 2)``."""
    if challenger == "other":
        truth = design.truth
        fpr, tpr = truth.fp / (truth.fp + truth.tn), truth.tp / (truth.tp + truth.fn)
        return np.tile([float(fpr), float(tpr)], (len(design.size), 1))
    (found, kept), (added, spoilt) = KEEPS[challenger]
    return np.where(design.is_flagged[:, np.newaxis], [kept, found], [spoilt, added])


def window(
    design: CellRounds, chance: Values, place: int, rng: np.random.Generator
) -> tuple[RoundItems, Whole]:
    """Draw a round's labels, and the items of its window by cell, class and decision."""
    labeled = design.plans[place % PLANS]
    size = np.maximum(np.rint(design.size * SIZES[place % 4]).astype(np.int64), labeled)
    rate = np.clip(design.rate * np.where(design.is_flagged, 1, PREVALENCES[place % 4]), 0, 1)
    positive = rng.binomial(size, rate)
    of_class = np.stack([size - positive, positive], axis=1)
    up = rng.binomial(of_class, chance)
    items = np.stack([of_class - up, up], axis=2).reshape(len(size), 4)  # class, then decision
    drawn = np.array(
        [rng.multivariate_hypergeometric(mine, n) for mine, n in zip(items, labeled, strict=True)]
    )
    kind = np.repeat(np.arange(drawn.size), drawn.ravel())
    round_ = RoundItems(
        stratum=kind // 4,
        positive=kind % 4 > 1,
        other=kind % 2 == 1,
        size=size,
        other_flagged=up.sum(axis=1),
    )
    return round_, items


def differences(design: CellRounds, windows: Sequence[Whole]) -> Values:
    """Give the true differences of precision and recall on windows together."""
    items = np.sum(windows, axis=0).reshape(-1, 2, 2)
    total = items.sum(axis=0)  # class, decision of the challenger
    own = np.stack([items[of].sum(axis=(0, 2)) for of in design.classes], axis=1)  # flagged, passed
    first = Matrix(tp=own[1, 0], fp=own[0, 0], fn=own[1, 1], tn=own[0, 1])
    second = Matrix(tp=total[1, 1], fp=total[0, 1], fn=total[1, 0], tn=total[0, 0])
    return np.array([float(metric(n)(second)) - float(metric(n)(first)) for n in METRICS])


def run(design: CellRounds, challenger: str, *, replicates: int, rounds: int) -> Result:
    """Compare in many replicates."""
    rng, flagged = np.random.default_rng(1), int(design.is_flagged.sum())
    chance = chances(design, challenger)
    rows = []
    for replicate in range(replicates):
        places = [replicate] if rounds == 1 else range(rounds)
        drawn = [window(design, chance, place, rng) for place in places]
        labeled = [each for each, _ in drawn]
        found = compare_windows(labeled, flagged=flagged, cells=True, rng=rng, draws=DRAWS)
        truth = differences(design, [items for _, items in drawn])
        for place, name in enumerate(METRICS):
            one = found.metrics[place]
            assert one.metric == name and one.difference and one.first  # noqa: S101, PT018
            low, high = one.difference.low, one.difference.high
            rows.append(
                (
                    truth[place] < low,
                    truth[place] > high,
                    (high - low) / 2,
                    math.sqrt(2) * (one.first.high - one.first.low) / 2,
                    one.difference.point - truth[place],
                )
            )
    return Result(*np.array(rows, dtype=float).reshape(replicates, 2, 5).mean(axis=0).T)


def main(
    replicates: int = 400,
    rounds: int = 1,
    challengers: tuple[str, ...] = ("close", "better", "other"),
) -> None:
    """Print the table."""
    error = math.sqrt(0.95 * 0.05 / replicates)
    print(f"{rounds} rounds; standard error of a coverage {error:.3f}")
    print(f"{'':58}metric     covered (below/above)    half    apart   saved    bias/half")
    for setting in SETTINGS:
        design = design_of(setting)
        for challenger in challengers:
            found = run(design, challenger, replicates=replicates, rounds=rounds)
            for place, name in enumerate(METRICS):
                print(f"{design.name}, {challenger:<8}  {name:<10} {_line(found, place)}")


def _line(found: Result, location: int) -> str:
    of = {name: getattr(found, name)[location] for name in ("below", "above", "half", "apart")}
    return (
        f"{found.covered[location]:.3f} ({of['below']:.3f}/{of['above']:.3f})   {of['half']:.4f}  "
        f"{of['apart']:.4f}  {found.saved[location]:5.1f}   "
        f"{found.bias[location] / of['half']:+.3f}"
    )
