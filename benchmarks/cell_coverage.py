"""Coverage of intervals from score cells, over the grid of benchmarks/coverage_grid.py.

    PYTHONPATH=. python benchmarks/cell_coverage.py [--replicates 1000] [--settings 150] [--seed 1]
        [--bent]

The settings of the grid (classifier, precision, recall, labels, score, what the plan knows) with
20+40 score cells, fewer where a cell would have under 6 labels on average, a quarter of the passed
labels by size, no finite window. `rounds`: the plan knows each cell's rate as three rounds of the
same labels would; `scores`: a tenth of the plan believes the score, the rest goes by size. With
--bent the truth is another one than the grid's two, with which the formula was chosen: its log
odds wind around .7 of what the score claims. Settings are sorted by the labels of the rarer answer
that can be expected (benchmarks/rarer.py). About a second a setting.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from benchmarks.cells import CELLS, CellDesign, edges, joined, judged, shift_to
from benchmarks.coverage_grid import Setting, class_probabilities, grid, weakened
from benchmarks.fast_rounds import Design
from benchmarks.rarer import expected_rarer
from monitor.stats.design.cell_sizes import expected_sizes
from monitor.stats.design.score_bands import band_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LABELS_PER_CELL, SHARE, BLEND = 6, 0.25, 0.9
ITEMS = 1e9


def main() -> None:
    """Print coverage by the rarer answers expected, and the settings that are covered least."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--settings", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bent", action="store_true")
    asked = parser.parse_args()
    rows, settings = [], grid(asked.settings, asked.seed)
    for number, setting in enumerate(settings):
        design = planned(setting, bent=asked.bent)
        found = judged(design, asked.replicates, seed=number)
        rarer = expected_rarer(as_strata(design))
        rows.append([(rarer[m], found.below[m], found.above[m], found.bias[m]) for m in (0, 1)])
    for metric, name in enumerate(("precision", "recall")):
        say(name, np.array(rows)[:, metric], settings)


def planned(setting: Setting, *, bent: bool) -> CellDesign:
    """Cut the setting's population into cells and plan its labels."""
    few = min(1.0, setting.labels / (LABELS_PER_CELL * sum(CELLS)))
    shares = setting.k / (1 + setting.k), 1 / (1 + setting.k)
    claims = class_probabilities(setting.k, setting.precision, setting.recall)
    parts = []
    for claim, cells, share in zip(claims, CELLS, shares, strict=True):
        rate = wound(claim) if bent else claim if setting.score == "good" else weakened(claim)
        cell = band_of(claim, edges(claim, max(1, int(cells * few))))
        size = np.bincount(cell)
        mean, claimed = (np.bincount(cell, weights=each) / size for each in (rate, claim))
        inside = np.clip(mean, 1e-12, 1 - 1e-12)
        parts.append((ITEMS * share * size / size.sum(), inside, claimed))
    design = joined(parts)
    return replace(design, expected=plan(setting, design))


def plan(setting: Setting, design: CellDesign) -> Values:
    """Expect labels in each cell by what the setting says is known."""
    up, believed = design.is_flagged, design.rate
    worth = 3 * setting.labels / len(up)
    if setting.plan == "scores":
        believed, worth = design.claim, 100.0
    prior = 1 / (2 * np.where(up, up.sum(), (~up).sum()))
    guess = (worth * believed + prior) / (worth + 2 * prior)
    by_rates = expected_sizes(design.size, up, guess, labels=setting.labels, share=SHARE)
    if setting.plan == "rounds":
        return by_rates
    of_class = np.array([by_rates[members].sum() for members in (~up, up)])[up.astype(int)]
    items = np.array([design.size[members].sum() for members in (~up, up)])[up.astype(int)]
    return np.asarray((1 - BLEND) * by_rates + BLEND * of_class * design.size / items)


def wound(claim: Values) -> Values:
    """Give true probabilities whose log odds wind around .7 of what is claimed."""
    logit = special.logit(np.clip(claim, 1e-15, 1 - 1e-15))
    bend = 0.7 * logit + 0.8 * np.sin(1.3 * logit)
    return np.asarray(special.expit(shift_to(float(claim.mean()), bend) + bend))


def as_strata(design: CellDesign) -> Design:
    """Cells as strata with their expected labels, flagged first as they are."""
    return Design(
        np.rint(design.size).astype(np.int64),
        np.maximum(np.rint(design.expected), 1).astype(np.int64),
        int(design.is_flagged.sum()),
        rate=design.rate,
    )


def say(name: str, rows: Values, settings: list[Setting]) -> None:
    """Print one metric."""
    rarer, below, above, bias = rows.T
    covered = 1 - below - above
    for least, most in ((10.0, np.inf), (3.0, 10.0), (0.0, 3.0)):
        mine = (rarer >= least) & (rarer < most)
        if not mine.any():
            continue
        within = np.mean((covered[mine] >= 0.935) & (covered[mine] <= 0.965))
        print(
            f"{name:<10} {least:2.0f} to {most:3.0f} expected: {mine.sum():4d} settings, mean "
            f"{covered[mine].mean():.3f} (truth below {below[mine].mean():.3f}, above "
            f"{above[mine].mean():.3f}), least {covered[mine].min():.3f}, "
            f".935-.965 in {within:.2f}, mean bias {bias[mine].mean():+.4f}"
        )
    for worst in np.argsort(np.where(rarer >= 3, covered, 9.0))[:4]:
        s = settings[worst]
        print(
            f"    {covered[worst]:.3f} ({below[worst]:.3f}/{above[worst]:.3f}), {rarer[worst]:.1f} "
            f"expected: k {s.k:g}, P {s.precision:g}, R {s.recall:g}, {s.labels} labels, "
            f"{s.score}, {s.plan}"
        )


if __name__ == "__main__":
    main()
