"""Try a prior that pools the bands of a class along the score, beside the monitor's.

In each class logit pi_h = a + b x_h + s z_h, x_h from -1 to 1 in the order of the bands, z_h
standard normal, flat priors of a, b and s over a grid. Cells are those of both grids of `coverage`
with an endless window and several bands; both intervals see the same rounds.
"""

import math

import numpy as np
from scipy import special, stats

from benchmarks.coverage_grid import Cell, every_cell, second_cells
from benchmarks.fast_rounds import METRICS, Design, FastRounds, expected_rarer
from benchmarks.harness import Values, Whole

DRAWS = 600
_LEVEL, _SLOPE, _SPREAD = (
    axis.ravel()
    for axis in np.meshgrid(
        np.linspace(-15, 5, 81),
        np.linspace(-1, 5, 7),
        np.array([0.1, 0.3, 1.0, 3.0]),
        indexing="ij",
    )
)
_Z = np.linspace(-4, 4, 81)
_WEIGHT = stats.norm.pdf(_Z) / stats.norm.pdf(_Z).sum()
GROUPS = ((0.0, 3.0), (3.0, 10.0), (10.0, math.inf))


def class_draws(size: Whole, labeled: Whole, positive: Whole, rng: np.random.Generator) -> Values:
    """Draw the positives of a class in each round, shape ``(rounds, DRAWS)``."""
    place = np.linspace(-1, 1, len(size)) if len(size) > 1 else np.zeros(1)
    log_weight = np.zeros((len(positive), len(_LEVEL)))
    given = []  # of each band: which row belongs to a round, and P(z at most, node) per row
    for h, x in enumerate(place):
        counts, row = np.unique(positive[:, h], return_inverse=True)
        logit = (_LEVEL + _SLOPE * x)[:, np.newaxis] + _SPREAD[:, np.newaxis] * _Z
        found = counts[:, np.newaxis, np.newaxis]
        log_like = found * special.log_expit(logit)
        log_like += (labeled[h] - found) * special.log_expit(-logit)
        top = log_like.max(axis=2, keepdims=True)
        likely = np.exp(log_like - top) * _WEIGHT
        total = likely.sum(axis=2)
        log_weight += (np.log(total) + top[:, :, 0])[row]
        given.append((row, np.cumsum(likely / total[:, :, np.newaxis], axis=2)))
    chance = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    upto = np.cumsum(chance, axis=1) / chance.sum(axis=1, keepdims=True)
    items = np.zeros((len(positive), DRAWS))
    for r in range(len(positive)):
        even = (np.arange(DRAWS) + rng.random()) / DRAWS
        node = np.minimum(np.searchsorted(upto[r], even), len(_LEVEL) - 1)
        for h, (row, below) in enumerate(given):
            step = (below[row[r]][node] < rng.random((DRAWS, 1))).sum(axis=1)
            # anywhere in the step, so that draws are not a few values
            z = _Z[np.minimum(step, len(_Z) - 1)] + (_Z[1] - _Z[0]) * (rng.random(DRAWS) - 0.5)
            logit = _LEVEL[node] + _SLOPE[node] * place[h] + _SPREAD[node] * z
            items[r] += size[h] * special.expit(logit)
    return items


def ends_of(design: Design, positive: Whole, rng: np.random.Generator) -> Values:
    """Give the intervals' ends for precision and recall, shape ``(2, 2, rounds)``."""
    up, down = design.classes
    tp, fn = (
        class_draws(design.size[part], design.labeled[part], positive[:, part], rng)
        for part in design.classes
    )
    shares = np.array([tp / design.size[up].sum(), tp / (tp + fn)])
    ends = np.moveaxis(np.quantile(shares, [0.025, 0.975], axis=2), 0, 1)
    found = positive[:, up].sum(axis=1)
    ends[:, 0, found == 0] = 0.0
    ends[0, 1, found == design.labeled[up].sum()] = 1.0
    ends[1, 1, positive[:, down].sum(axis=1) == 0] = 1.0
    return np.asarray(ends)


def suited(every: int) -> list[Cell]:
    """Cells of both grids whose rates are to be found and whose classes have bands."""
    return [
        cell
        for cells in (every_cell()[40:], second_cells())
        for cell in [c for c in cells if c.design.rate is not None and len(c.design.size) > 3][
            ::every
        ]
    ]


def run(cell: Cell, replicates: int, seed: int) -> Values:
    """Find expected rarer answers, coverage of both intervals, ratio of widths: ``(2, 4)``."""
    design = cell.design
    positive = design.simulate(replicates, np.random.default_rng(seed))
    ours = FastRounds(design, positive, points=2**10).ends(replicates)
    its = ends_of(design, positive, np.random.default_rng(seed + 1))
    truth = np.array(design.truths)[:, np.newaxis]
    held = [((e[:, 0] <= truth) & (truth <= e[:, 1])).mean(axis=1) for e in (ours, its)]
    width = [(e[:, 1] - e[:, 0]).mean(axis=1) for e in (ours, its)]
    return np.column_stack([expected_rarer(design), *held, width[1] / width[0]])


def main(replicates: int = 200, every: int = 5) -> None:
    """Run the cells and print each, then the groups."""
    found = []
    print(f"{'':50}  metric     expected  monitor  pooled  width")
    for seed, cell in enumerate(suited(every)):
        found.append(run(cell, replicates, seed))
        for name, (rarer, ours, its, ratio) in zip(METRICS, found[-1], strict=True):
            print(f"{cell.name:50}  {name:<9}  {rarer:8.1f}  {ours:.3f}    {its:.3f}   {ratio:.2f}")
    print("\nmetric     expected  cells  monitor: mean least  pooled: mean least  width")
    for metric, name in enumerate(METRICS):
        rows = np.array(found)[:, metric]
        for low, high in GROUPS:
            group = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
            if len(group):
                (ours, its, ratio), (least, lowest, _) = (
                    group[:, 1:].mean(axis=0),
                    group[:, 1:].min(axis=0),
                )
                print(
                    f"{name:<9}  {low:>3g} and up  {len(group):4d}         {ours:.3f} {least:.3f}"
                    f"         {its:.3f} {lowest:.3f}   {ratio:.2f}"
                )
