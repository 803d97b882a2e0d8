"""Half-widths of the first three rounds of a first and of a second model version.

Windows of 100,000 items of a classifier of `label_cost`, by score cells, with one number of labels
a round; `alone` is the round as `rate`, `pooled` with earlier rounds of its version. The first
version's first round is planned by its scores, the second's by the labels of the first version,
cell by cell in order of score. Means of precision and recall, and how often both intervals hold.

`--judged`: labels that a first round of fresh windows asks for +-.05, by scores alone and given the
verdicts, mean half-widths of the window, and how often its intervals hold. A judge that `shares
mistakes` has a TPR of .95 and an FPR of .6 on flagged items and .5 and .01 on passed ones; one that
`repeats the score` says yes as .8 / .02 would, but knows no more than the score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cells import CellDesign, cut, scored
from benchmarks.fresh_windows import Process, ends, pooled_matrix
from benchmarks.harness import Values, Whole
from benchmarks.label_cost import MARGIN, METRICS
from monitor.domain.model import Verdict
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import Matrix
from monitor.stats.design.allocation import allocate
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.recalibration import labels_by_rank, recalibrated_prior
from monitor.stats.design.score_bands import LABELS_PER_CELL, affordable_bands
from monitor.stats.design.verdict_scores import verdict_scores
from monitor.stats.detection.alternatives import DECAY
from monitor.stats.estimation.cell_matrix import cell_matrix, matrix_draws

ITEMS = 100_000
ROUNDS = 3
CELLS = (20, 40)
POINTS = 2**9
MARGINS = dict.fromkeys(METRICS, MARGIN)
VERSIONS = ("good good", "good weak", "good inverted", "weak good")
"""Scores of the first version and of the second."""


@dataclass(frozen=True, eq=False)
class Version:
    """A model version, and the labels a round."""

    design: CellDesign
    labels: int

    @classmethod
    def of(cls, classifier: str, score: str, labels: int) -> "Version":
        """Cut a classifier into as many cells as the labels pay."""
        design = cut(scored(classifier, score), affordable_bands(*CELLS, labels, LABELS_PER_CELL))
        size = np.maximum(np.rint(design.size / design.size.sum() * ITEMS), 1)
        return cls(replace(design, size=size), labels)

    @property
    def by_scores(self) -> PriorRates:
        """What the scores say before any label."""
        return PriorRates.of_scores(self.design.claim, self.design.is_flagged)

    def round(self, known: PriorRates, rng: np.random.Generator) -> Counts:
        """Plan and label a round."""
        design = self.design
        labeled = design.allocated(known, max_labels=self.labels, uniform=rng.random())
        size = design.size.astype(np.int64)
        return Counts(size, labeled, rng.binomial(labeled, design.rate), design.is_flagged)


def main(
    replicates: int = 60,
    labels: tuple[int, ...] = (500, 1250),
    classifiers: tuple[str, ...] = ("Phi1", "Phi3"),
    versions: tuple[str, ...] = VERSIONS,
    *,
    judged: bool = False,
) -> None:
    """Print a line for each round."""
    if judged:
        show_judged(replicates)
        return
    print(f"{'':36}alone            pooled           covered: alone, pooled")
    for classifier in classifiers:
        for scores in versions:
            for number in labels:
                _print(
                    f"{classifier} {scores} {number}",
                    *_versions(classifier, scores, number),
                    replicates,
                )


def _versions(classifier: str, scores: str, labels: int) -> tuple[Version, Version]:
    first, second = scores.split()
    return Version.of(classifier, first, labels), Version.of(classifier, second, labels)


def _print(title: str, first: Version, second: Version, replicates: int) -> None:
    found = np.mean(
        [played(first, second, np.random.default_rng((7, path))) for path in range(replicates)],
        axis=0,
    )
    for version, rounds in enumerate(found, 1):
        for number, row in enumerate(rounds, 1):
            text = f"{title if version == number == 1 else '':<24} v{version} round {number}"
            alone, pooled, held = row[:2], row[2:4], row[4:]
            print(
                f"{text:<36}{alone[0]:.3f} {alone[1]:.3f}      {pooled[0]:.3f} {pooled[1]:.3f}"
                f"      {held[0]:.2f} {held[1]:.2f}  {held[2]:.2f} {held[3]:.2f}",
                flush=True,
            )


def played(first: Version, second: Version, rng: np.random.Generator) -> Values:
    """Play both versions: half-widths alone and pooled, and what they hold, (2, ROUNDS, 8)."""
    one = [*_history(first, first.by_scores, rng)]
    known = replace(after(first, [counts for counts, _ in one], second), source="history")
    two = [*_history(second, known, rng)]
    return np.array([[row for _, row in rounds] for rounds in (one, two)])


def _history(
    version: Version, known: PriorRates, rng: np.random.Generator
) -> Sequence[tuple[Counts, Values]]:
    rounds: list[Counts] = []
    rows = []
    for _ in range(ROUNDS):
        rounds.append(version.round(known, rng))
        known = after(version, rounds, version)
        rows.append(_measured(version, rounds))
    return list(zip(rounds, rows, strict=True))


def after(version: Version, rounds: Sequence[Counts], following: Version) -> PriorRates:
    """Know what rounds of a version say of the cells of this or the following one."""
    labeled, positive = np.zeros((2, len(version.design.size)))
    for counts in rounds:
        labeled, positive = DECAY * labeled + counts.labeled, DECAY * positive + counts.positive
    size, up = version.design.size, version.design.is_flagged
    new_size, new_up = following.design.size, following.design.is_flagged
    n, y = (
        np.concatenate(
            [
                labels_by_rank(of[up == c], size[up == c], new_size[new_up == c])
                for c in (True, False)
            ]
        )
        for of in (labeled, positive)
    )
    return recalibrated_prior(new_size, new_up, n, y)


def _measured(version: Version, rounds: list[Counts]) -> Values:
    truth = np.array(version.design.truth)
    alone: Matrix = cell_matrix(rounds[-1], "rate", seed=1, points=POINTS)
    widths, held = [], []
    for matrix in (alone, pooled_matrix(rounds, np.arange(len(version.design.size)))):
        low, high = ends(matrix)
        widths.append((high - low) / 2)
        held.append((low <= truth) & (truth <= high))
    return np.concatenate([*widths, *held])


JUDGED = ("4000 200 400", "12000 480 1000", "30000 300 600")
JUDGES = ("useless", ".8 .02", ".95 .01", "shares mistakes", "repeats the score")


def show_judged(replicates: int) -> None:
    """Print a line for each setting, judge and way to plan."""
    print(f"{'items flagged labels, judge':40}labels  half-widths  window covered")
    for setting in JUDGED:
        for judge in JUDGES:
            process, score = _judged(setting, judge)
            sign = np.array([1.0 if one is Verdict.YES else -1.0 for one in process.verdict])
            size, up = np.rint(process.chance * process.items).astype(np.int64), process.is_flagged
            given = verdict_scores(size, score, up, sign, process.cell)
            for text, scores in (("scores", score), ("verdicts", given)):
                known = PriorRates.of_scores(scores, up)
                window = Prospect.of(size, up, known, uniform=0.5, cell=process.cell)
                plan = allocate(window, margins=MARGINS, assurance=ASSURANCE)
                half, held = _first_windows(process, plan.labels, replicates)
                widths, covered = (f"{p:.3f} {r:.3f}" for p, r in (half, held))
                title = f"{setting}, {judge}, {text}"
                print(f"{title:40}{plan.total:6d}  {widths}  {covered}", flush=True)


def _judged(setting: str, judge: str) -> tuple[Process, Values]:
    """Return a process with a judge, and the score of each stratum: the rate of its cell."""
    says = ".8 .02" if judge == "repeats the score" else judge
    process = Process.of(setting, says)
    items, hits = (np.bincount(process.cell, process.chance * of) for of in (1.0, process.rate))
    score = (hits / items)[process.cell]
    return (replace(process, rate=score) if says != judge else process), score


def _first_windows(process: Process, labels: Whole, replicates: int) -> tuple[Values, Values]:
    """Mean half-widths of windows with these labels, and how often their intervals hold."""
    rng, half, held = np.random.default_rng(5), np.zeros(2), np.zeros(2)
    planned = replace(process, expected=labels.astype(np.float64))
    for _ in range(replicates):
        counts, truth = planned.drawn(rng)
        low, high = ends(matrix_draws(counts, seed=1, points=POINTS, cells=True).of("window"))
        half += (high - low) / 2
        held += (low <= truth) & (truth <= high)
    return half / replicates, held / replicates
