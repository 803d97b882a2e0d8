"""Labels for +-.05 where a judge's verdict cuts the score cells, beside those without a judge.

A judge says yes to `TP` of the flagged positives, `FN` of the missed ones, `FP` of the flagged
negatives and `TN` of the passed ones; `ratio` are its labels over those without it. Rounds are
planned after six of their own. `then`: the judge changes, and labels are still where the plan put
them; `turned round` makes a no of every yes. Intervals are of people's labels alone.
"""

from dataclasses import dataclass, replace

import numpy as np

from benchmarks import cells
from benchmarks.cells import CELLS, SHARES, CellDesign, Found
from benchmarks.harness import Values, Whole
from benchmarks.strata import MARGIN, moved_to, population
from monitor.stats.design.recalibration import Cut, recalibrated_rates

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
) -> None:
    """Print the table."""
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


def moved(design: CellDesign, of_precision: float, of_recall: float) -> CellDesign:
    """Scale the wrong answers of each class so that precision and recall move by so much."""
    (precision, recall), known = design.truth, (design.size, design.is_flagged, design.rate)
    both = {"precision": precision + of_precision, "recall": recall + of_recall}
    return replace(design, rate=moved_to(*known, both, most=1.0))
