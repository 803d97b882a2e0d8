"""Labels for +-.05 where a judge's verdict cuts the score cells, beside those without a judge.

A judge says yes to `TP` of the flagged positives, `FN` of the missed ones, `FP` of the flagged
negatives and `TN` of the passed ones; `ratio` are its labels over those without it. Rounds are
planned after six of their own. `then`: the judge changes, and labels are still where the plan put
them; `turned round` makes a no of every yes. Intervals are of people's labels alone.

`--pooled`: values with earlier rounds, 0, 1, 2, 4 and 8 rounds after a judge of TPR .9 and FPR .01
changed without notice, as plans and pooling go on. Least coverage of precision and recall in those
rounds by the round alone, as pooled, and if rates by verdict were pooled as if the judge were
steady; of what is pooled also the farthest bias of the point, and the width against the round
alone, in the first of them and in the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks import cells, pooling_coverage
from benchmarks.cells import CELLS, SHARES, CellDesign, Found
from benchmarks.harness import Values, Whole
from benchmarks.strata import MARGIN, moved_to, population
from monitor.rounds.estimation.history import class_labels
from monitor.stats.core.counts import Counts
from monitor.stats.design.cell_sizes import expected_sizes
from monitor.stats.design.recalibration import Cut, recalibrated_rates
from monitor.stats.detection.alternatives import DECAY
from monitor.stats.history.pooled_rates import pooled_rates
from monitor.stats.history.run_length import Run, RunLength, advance, begin

JUDGES = {
    "TPR .8, FPR .02": (0.8, 0.8, 0.02, 0.02),
    "TPR .9, FPR .01": (0.9, 0.9, 0.01, 0.01),
    "TPR .6, FPR .05": (0.6, 0.6, 0.05, 0.05),
    "TPR .98, FPR .005": (0.98, 0.98, 0.005, 0.005),
    "useless": (0.3, 0.3, 0.3, 0.3),
    "shares mistakes": (0.95, 0.5, 0.6, 0.01),
    "inverted": (0.1, 0.1, 0.9, 0.9),
}
"""What a judge says yes to: shares of TP, FN, FP and TN."""

CHANGED = "TPR .9, FPR .01"
CHANGES = {"turned round": (0.1, 0.1, 0.99, 0.99), "TPR .6": (0.6, 0.6, 0.01, 0.01)}
SHARE, START, HALVINGS = SHARES[1], 4000.0, 7


def main(
    replicates: int = 1000,
    classifiers: tuple[str, ...] = ("Phi1", "Phi2", "Phi3"),
    scores: tuple[str, ...] = ("weak", "good"),
    labels: tuple[int, ...] = (500, 1000),
    *,
    pooled: bool = False,
) -> None:
    """Print the table; ``labels`` are those of a round that is pooled."""
    if pooled:
        for name, score, each in product(classifiers, scores, labels):
            say_pooled(name, score, each, replicates)
        return
    print(f"{'':34}  none labels ratio flagged  half-widths   covered (truth below / above), bias")
    for name in classifiers:
        for score in scores:
            plain = cells.cut(population(name, score))
            alone = cells.learned(plain, SHARE, replicates, labels=START)
            cells.say(f"{name} {score} no judge", alone, alone.labels)
            for text, rates in JUDGES.items():
                design = judged(cells.cut(population(name, score), HALF), rates)
                found = fitted(design, alone.labels, replicates)
                cells.say(f"{name} {score} {text}", found, alone.labels)
                if text == CHANGED:
                    for change, other in CHANGES.items():
                        after = judged(cells.cut(population(name, score), HALF), other)
                        found_then = changed(design, after, found.labels, replicates)
                        cells.say(f"    then {change}", found_then, alone.labels)


def fitted(design: "JudgedDesign", most: float, replicates: int) -> Found:
    """Find the labels at which the wider mean half-width is the margin, by halving; see `cells`."""
    low, high = most / 32, most * 1.5
    some = max(20, replicates // 4)
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        planned = cells.after_history(design, SHARE, middle, some, seed=1)
        is_wide = cells.simulated(planned, some, seed=3).half_width.max() > MARGIN
        low, high = (middle, high) if is_wide else (low, middle)
    planned = cells.after_history(design, SHARE, (low * high) ** 0.5, replicates, seed=2)
    return cells.simulated(planned, replicates, seed=4)


def changed(design: "JudgedDesign", after: CellDesign, labels: float, replicates: int) -> Found:
    """Let the judge change after six rounds of the design, by which labels were planned."""
    planned = cells.after_history(design, SHARE, labels, replicates, seed=2)
    return cells.simulated(replace(planned, size=after.size, rate=after.rate), replicates, seed=4)


HALF = (CELLS[0] // 2, CELLS[1] // 2)


@dataclass(frozen=True, eq=False)
class JudgedDesign(CellDesign):
    """Cells that a verdict cuts as well."""

    cut: Cut

    @property
    def cell(self) -> Whole:
        """Score cell that verdicts cut each stratum from."""
        return self.cut.position

    def recalibrated(self, labeled: Values, positive: Values) -> Values:
        """Rates of the cells by labels of earlier rounds."""
        return recalibrated_rates(self.size, self.is_flagged, labeled, positive, cut=self.cut)


def judged(design: CellDesign, judge: tuple[float, float, float, float]) -> JudgedDesign:
    """Cut each class by the verdict, those that say no first; each verdict has all cells."""
    up = design.is_flagged
    tp, fn, fp, tn = judge
    on_positive, on_negative = np.where(up, tp, fn), np.where(up, fp, tn)
    yes = design.rate * on_positive + (1 - design.rate) * on_negative
    sizes = (1 - yes, yes)
    rates = (design.rate * (1 - on_positive) / (1 - yes), design.rate * on_positive / yes)
    place = np.concatenate([np.arange(up.sum()), np.arange((~up).sum())])
    parts = [
        (design.size[of] * size[of], rate[of], design.claim[of], place[of], np.full(of.sum(), sign))
        for of in (up, ~up)
        for size, rate, sign in zip(sizes, rates, (-1.0, 1.0), strict=True)
    ]
    size, rate, claim, where, sign = (np.concatenate(each) for each in zip(*parts, strict=True))
    terms = np.column_stack([sign, np.zeros(len(sign))])
    is_flagged = np.repeat([True, False], [2 * up.sum(), 2 * (~up).sum()])
    return JudgedDesign(size, rate, is_flagged, claim, np.zeros(len(size)), Cut(where, terms))


QUIET, LOOKED_AT = 12, (0, 1, 2, 4, 8)
OWN_SHARE = 0.30
DRAWN_AT = (np.arange(512) + 0.5) / 512
POOLED_CHANGES = {
    "steady": (0.9, 0.9, 0.01, 0.01),
    "TPR .75": (0.75, 0.75, 0.01, 0.01),
    "TPR .6": (0.6, 0.6, 0.01, 0.01),
    "FPR .03": (0.9, 0.9, 0.03, 0.03),
    "turned round": CHANGES["turned round"],
    "shares mistakes": JUDGES["shares mistakes"],
}
OF_CLASSIFIER = {"precision -.05": (-0.05, 0.0), "recall -.05": (0.0, -0.05)}


def say_pooled(classifier: str, score: str, labels: int, replicates: int) -> None:
    """Print a line for each change of the judge, and of the classifier."""
    print(f"\n{f'{classifier} {score}, {labels} labels':<32}least covered P/R")
    print(f"{'':<32}alone        pooled       by verdict   bias           width: first    last")
    plain, half = (cells.cut(population(classifier, score), each) for each in (CELLS, HALF))
    quiet, steady = judged(half, JUDGES[CHANGED]), POOLED_CHANGES["steady"]
    followed(f"no judge, {labels} labels", plain, plain, labels, replicates)
    for text, rates in POOLED_CHANGES.items():
        followed(text, quiet, judged(half, rates), labels, replicates)
    for text, by in OF_CLASSIFIER.items():
        followed(f"no judge, {text}", plain, moved(plain, *by), labels, replicates)
        after = judged(moved(half, *by), steady)
        followed(f"steady, {text}", quiet, after, labels, replicates)


Answers = list[tuple[Values, Values]]
"""Effective positives and labels of each class."""


@dataclass(frozen=True)
class Look:
    """Coverage of P and R, bias of the points and mean width, in one round of many paths."""

    covered: Values
    bias: Values
    width: Values


def followed(text: str, quiet: CellDesign, after: CellDesign, labels: int, replicates: int) -> None:
    """Play rounds through a change, and print what is pooled after it."""
    rng, up = np.random.default_rng(7), quiet.is_flagged
    cell = score_cells(quiet)
    rounds: list[Counts] = []
    looks: list[tuple[Look, ...]] = []
    n, y, rates = np.zeros(len(up)), np.zeros(len(up)), by_class(quiet)
    for t in range(QUIET + max(LOOKED_AT) + 1):
        design = quiet if t < QUIET else after
        inside = np.clip(rates, 1e-9, 1 - 1e-9)
        plan = expected_sizes(design.size, up, inside, labels=labels, share=SHARE)
        labeled, positive = replace(design, expected=plan).draw(replicates, rng)
        rounds.append(Counts(design.size.astype(np.int64), labeled, positive, up))
        n, y = DECAY * n + plan, DECAY * y + plan * design.rate
        rates = quiet.recalibrated(n, y)
        if t - QUIET in LOOKED_AT:
            of_cell, of_verdict = pooled_runs(rounds, cell), pooled_runs(rounds, np.arange(len(up)))
            looks.append(
                (look(after, *of_cell, 1.0), look(after, *of_cell), look(after, *of_verdict))
            )
    covered = "".join(
        "{:6.3f}/{:.3f}".format(*np.min([of.covered for of in way], axis=0))
        for way in zip(*looks, strict=True)
    )
    bias = np.array([known.bias for _, known, _ in looks])
    farthest = np.take_along_axis(bias, abs(bias).argmax(axis=0)[np.newaxis], axis=0)[0]
    width = "".join(
        "{:10.2f}/{:.2f}".format(*(known.width / alone.width))
        for alone, known, _ in (looks[0], looks[-1])
    )
    print(f"{text:<31}{covered}   {farthest[0]:+.3f}/{farthest[1]:+.3f}{width}")


def score_cells(design: CellDesign) -> Whole:
    """Score cell of each stratum."""
    count = len(design.size)
    place = design.cut.position if isinstance(design, JudgedDesign) else np.arange(count)
    return np.asarray(place + count * design.is_flagged, dtype=np.int64)


def by_class(design: CellDesign) -> Values:
    """Rates of a first plan: each class has its mean."""
    up, found = design.is_flagged, design.size * design.rate
    flagged, passed = (found[of].sum() / design.size[of].sum() for of in (up, ~up))
    return np.asarray(np.where(up, flagged, passed))


def pooled_runs(rounds: Sequence[Counts], cell: Whole) -> tuple[list[Run], list[Run], Answers]:
    """Pool each class of all paths before the newest round and with it; and what that is worth."""
    worth = class_labels(rounds, rounds[-1], cell)
    before, runs, newest = [], [], []
    for i in range(2):
        positive, labeled = worth.positive[..., [i]], worth.labeled[..., [i]]
        run = last = begin(0 * positive[0], 0 * labeled[0])
        for t, answers in enumerate(zip(positive, labeled, strict=True), start=1):
            last, run = run, advance(run, *answers, t, RunLength())
        before.append(last)
        runs.append(run)
        newest.append((positive[-1], labeled[-1]))
    return before, runs, newest


def look(
    design: CellDesign, before: list[Run], runs: list[Run], newest: Answers, own: float = OWN_SHARE
) -> Look:
    """Compare what is pooled, with a share for the round alone, with the truth."""
    low, high = np.quantile(metrics_of(design, runs, newest, own), [0.025, 0.975], axis=2)
    truth = np.array(design.truth)[:, np.newaxis]
    points = np.clip(points_of(design, before, newest), low, high)
    return Look(
        covered=((low <= truth) & (truth <= high)).mean(axis=1),
        bias=(points - truth).mean(axis=1),
        width=(high - low).mean(axis=1),
    )


def moved(design: CellDesign, of_precision: float, of_recall: float) -> CellDesign:
    """Scale the wrong answers of each class so that precision and recall move by so much."""
    (precision, recall), known = design.truth, (design.size, design.is_flagged, design.rate)
    both = {"precision": precision + of_precision, "recall": recall + of_recall}
    return replace(design, rate=moved_to(*known, both, most=1.0))


def laws(runs: list[Run], parts: Answers, own: float) -> list[tuple[Values, Values, Values]]:
    """Weights and Beta parameters of each class, shape ``(paths, J)``."""
    mixed = (
        pooling_coverage.pooled(run, y, n, own) for run, (y, n) in zip(runs, parts, strict=True)
    )
    return [(weight, alpha[..., 0], beta[..., 0]) for weight, alpha, beta in mixed]


def draws(law: tuple[Values, Values, Values], rng: np.random.Generator) -> Values:
    """Draws of a class's rate, stratified within its components, shape ``(paths, points)``."""
    weight, alpha, beta = law
    chosen = (np.cumsum(weight, axis=1)[:, np.newaxis] < DRAWN_AT[:, np.newaxis]).sum(axis=2)
    chosen = np.minimum(chosen, weight.shape[1] - 1)
    a, b = (np.take_along_axis(each, chosen, axis=1) for each in (alpha, beta))
    return np.asarray(rng.permuted(rng.beta(a, b), axis=1))


def metrics_of(design: CellDesign, runs: list[Run], parts: Answers, own: float) -> Values:
    """Draws of precision and recall, shape ``(2, paths, points)``."""
    rng = np.random.default_rng(3)
    precision, omission = (draws(law, rng) for law in laws(runs, parts, own))
    return _values(design, precision, omission)


def points_of(design: CellDesign, before: list[Run], parts: Answers) -> Values:
    """Points of the pooled estimates, shape ``(2, paths)``."""
    rates = [
        pooled_rates((run.weight, run.alpha, run.beta), y, n, [size])[:, 0]
        for run, (y, n), size in zip(before, parts, design.classes, strict=True)
    ]
    return _values(design, *rates)


def _values(design: CellDesign, precision: Values, omission: Values) -> Values:
    tp, fn = design.classes[0] * precision, design.classes[1] * omission
    return np.stack([precision, tp / (tp + fn)])
