"""A score that 40 % of all items share just under the threshold, by score cells.

`calibrated` has the tie at .18; in `claims` and `rare` it is at .499, in truth .18 and .05.
`passed` and `tied` are labels of the passed class and of the tied cell (mean, 5 % and 95 %).
"""

import numpy as np
from scipy import special

from benchmarks.assurance import in_two_waves
from benchmarks.cells import (
    CELLS,
    CellDesign,
    class_laws,
    cut,
    interval_ends,
    probability_under,
)
from benchmarks.harness import Whole
from benchmarks.label_cost import ITEMS, Population
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.design.score_bands import LABELS_PER_CELL, affordable_bands
from monitor.stats.detection.alternatives import DECAY

TIED, LABELS, ROUNDS = 0.4, 500, 3
CASES = {  # mean and spread of the others' log odds, the tie, the truth's shift and slope
    "calibrated": (-2.6, 0.7, 0.18, 0.0, 1.0),
    "claims": (-2.0, 1.1, 0.499, -1.5, 0.5),
    "rare": (-2.0, 1.1, 0.499, -3.0, 0.9),
}


def main(histories: int = 400) -> None:
    """Print one table for each population."""
    for case in CASES:
        design = heavy(case)
        precision, recall = design.truth
        print(f"\n{case}: precision {precision:.3f}, recall {recall:.3f}")
        print("round  passed         tied           covered P, R   half-widths")
        played = [history(design, seed) for seed in range(histories)]
        for number in range(ROUNDS):
            labeled, positive = (np.array([each[number][i] for each in played]) for i in (0, 1))
            _line(number + 1, design, labeled, positive)


def heavy(case: str) -> CellDesign:
    """Cut one of the populations into cells."""
    mean, spread, tie, shift, slope = CASES[case]
    others = round(ITEMS * (1 - TIED))
    base = special.expit(mean + spread * special.ndtri((np.arange(others) + 0.5) / others))
    score = np.concatenate([base, np.full(ITEMS - others, tie)])
    rate = special.expit(shift + slope * special.logit(score))
    cells = affordable_bands(*CELLS, LABELS, LABELS_PER_CELL)
    return cut(Population(score, rate, tie + 1e-6), cells)


def history(design: CellDesign, seed: int) -> list[tuple[Whole, Whole]]:
    """Labels and positives of the rounds of one history."""
    rng, up = np.random.default_rng(seed), design.is_flagged
    u = rng.random()
    plan = design.allocated(PriorRates.of_scores(design.claim, up), max_labels=LABELS, uniform=u)
    labeled, positive = in_two_waves(design, plan, u, rng)
    rounds, n, y = [(labeled, positive)], labeled.astype(float), positive.astype(float)
    while len(rounds) < ROUNDS:
        known = recalibrated_prior(design.size, up, n, y)
        labeled = design.allocated(known, max_labels=LABELS, uniform=rng.random())
        positive = rng.binomial(labeled, design.rate)
        rounds.append((labeled, positive))
        n, y = DECAY * n + labeled, DECAY * y + positive
    return rounds


def _line(number: int, design: CellDesign, labeled: Whole, positive: Whole) -> None:
    laws = class_laws(design, labeled, positive)
    under = probability_under(design, *laws)
    covered = np.mean((under >= 0.025) & (under <= 0.975), axis=1)
    ends = interval_ends(design, *laws, len(labeled))
    passed = labeled[:, ~design.is_flagged].sum(axis=1)
    width = (ends[:, 1] - ends[:, 0]).mean(axis=1) / 2
    print(
        f"{number:5}  {_spread(passed)}  {_spread(labeled[:, -1])}  "
        f"{covered[0]:.3f} {covered[1]:.3f}    {width[0]:.4f} {width[1]:.4f}"
    )


def _spread(labels: Whole) -> str:
    low, high = np.quantile(labels, [0.05, 0.95])
    return f"{labels.mean():4.0f} ({low:3.0f}-{high:3.0f})"
