"""Windows whose items come in groups, as of one user or campaign: intervals, alarms and power.

The process is that of `fresh_windows` without a judge: 30,000 items, 1,500 of them flagged, in
score cells, precision .85 and recall .75. Items of a class come in groups of `--sizes` items on
average; weights of groups are exponential. An item is positive where a normal variable is above
the quantile of its cell; within a group it has one of `--correlations` (labels have less, of rare
answers much less). Each week has other groups. A line has the intervals of `rate` and `pooled` as
without the column, then `window`, `rate` and `pooled` with it: how often they hold precision and
recall; and half-widths of the rate without and with it.

`--alarms`: false alarms a year with both limits exactly at the process's values, where 1 is
promised, without and with the column; then the share of drops of precision by 8 points that are
found with it within 4 and 12 rounds.

`--caps`: what a label is worth if at most so many items of a group are labeled. Flagged items of
one cell are drawn in random order, and only the first `caps` of each group are labeled, until there
are 240 labels; each group counts by its items in the draw. The worth is the number of labels of a
plain draw with the same mean squared error about the window, for each label: what the window
itself errs about the process is the same for all.

`--runs`: the share of rounds that are noted for runs of labels over time, with so many labels of a
class. `sizes` are then labels of a group, which follow one another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy import special

from benchmarks.fresh_windows import (
    METRICS,
    QUIET,
    REMEMBERED,
    WITHIN,
    YEAR,
    Process,
    ends,
    pooled_matrix,
)
from benchmarks.harness import Flags, Values, Whole
from monitor.rounds.estimation.groups import NOTED
from monitor.rounds.parts.runs import CHANCE
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.design.cell_sizes import systematic_sizes
from monitor.stats.design.label_groups import LabelGroups, group_effects
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares
from monitor.stats.estimation.cell_matrix import matrix_draws
from monitor.stats.labels.label_runs import label_runs

SETTINGS = ("30000 1500 500", "30000 1500 1500")
POINTS, ROUNDS, DROP = 2**9, 4, 0.08
FLAGGED, LABELS, RATE = 1500, 240, 0.85  # of the capped draws
Window = tuple[Counts, LabelGroups, Values]


@dataclass(frozen=True, eq=False)
class GroupedProcess:
    """What windows are drawn from: the strata, and how groups of ``size`` items differ."""

    process: Process
    correlation: float
    size: int

    def drawn(self, rng: np.random.Generator) -> Window:
        """Draw and label a window: its counts, its labels by group, and its own metrics."""
        of = self.process
        cell = np.sort(rng.choice(len(of.chance), of.items, p=of.chance / of.chance.sum()))
        group = self._groups(rng, of.is_flagged[cell])
        positive = self._positive(rng, cell, group)
        size = np.bincount(cell, minlength=len(of.chance))
        labeled = np.minimum(systematic_sizes(of.expected, rng.random()), size)
        order = np.lexsort((rng.random(of.items), cell))
        starts = np.concatenate([[0], np.cumsum(size)[:-1]])
        drawn = np.concatenate(
            [order[start : start + n] for start, n in zip(starts, labeled, strict=True)]
        )
        yes = np.bincount(cell[drawn], weights=positive[drawn], minlength=len(size))
        counts = Counts(size, labeled, yes.astype(np.int64), of.is_flagged)
        columns = zip(
            group[drawn].tolist(), cell[drawn].tolist(), positive[drawn].tolist(), strict=True
        )
        groups = LabelGroups.of(columns)
        own = np.bincount(cell, weights=positive, minlength=len(size))
        return counts, groups, _metrics(own, size, of)

    def _groups(self, rng: np.random.Generator, is_flagged: Flags) -> Whole:
        """Name the group of each item; groups of the two classes are different ones."""
        group = np.zeros(len(is_flagged), dtype=np.int64)
        for of_class, first in ((is_flagged, 0), (~is_flagged, len(group))):
            items = int(of_class.sum())
            weight = rng.exponential(size=max(items // self.size, 1))
            group[of_class] = first + rng.choice(len(weight), items, p=weight / weight.sum())
        return np.unique(group, return_inverse=True)[1]

    def _positive(self, rng: np.random.Generator, cell: Whole, group: Whole) -> Flags:
        of_group = rng.standard_normal(int(group.max()) + 1)[group]
        own = rng.standard_normal(len(group))
        latent = np.sqrt(self.correlation) * of_group + np.sqrt(1 - self.correlation) * own
        return np.asarray(latent < special.ndtri(self.process.rate)[cell])


def main(
    replicates: int = 200,
    settings: tuple[str, ...] = SETTINGS,
    correlations: tuple[float, ...] = (0.0, 0.1, 0.3, 0.5),
    sizes: tuple[int, ...] = (50, 500),
    alarms: bool = False,
    caps: tuple[int, ...] = (),
    runs: tuple[int, ...] = (),
) -> None:
    """Print a line for each setting; ``replicates`` are rounds, or half years."""
    if caps or runs:
        print_by_group(correlations, sizes, caps, runs, replicates)
        return
    heads = "alarms: without     with        found in 4 and 12 rounds"
    kinds = "without: rate  pooled      with: window  rate  pooled, half-widths without and with"
    print(f"{'labels, correlation, size':32}{heads if alarms else kinds}")
    for setting in settings:
        process = Process.of(setting, "none")
        for rho in correlations:
            for size in sizes:
                of = GroupedProcess(process, rho, size)
                line = alarm_line(of, replicates) if alarms else coverage_line(of, replicates)
                print(f"{f'{setting}, {rho:g}, {size}':32}{line}", flush=True)


def noted_share(correlation: float, size: int, labels: int, rounds: int, seed: int = 5) -> float:
    """Return the share of rounds whose labels are noted for their runs."""
    rng, noted = np.random.default_rng(seed), 0
    for _ in range(rounds):
        group = np.arange(labels) // size
        latent = np.sqrt(correlation) * rng.standard_normal(group[-1] + 1)[group]
        latent += np.sqrt(1 - correlation) * rng.standard_normal(labels)
        found = label_runs(latent < special.ndtri(RATE))
        noted += found.probability < CHANCE and found.effect >= NOTED
    return noted / rounds


def print_by_group(
    correlations: Sequence[float],
    sizes: Sequence[int],
    caps: Sequence[int],
    runs: Sequence[int],
    replicates: int,
) -> None:
    """Print a line for each kind of groups: worths by cap, or shares that are noted by labels."""
    what = "worth of a label, by cap:" if caps else "noted, by labels:"
    print("correlation, size   ", what, *(caps or runs))
    for rho, size in product(correlations, sizes):
        if caps:
            found = capped_worth(rho, size, caps, replicates).tolist()
        else:
            found = [noted_share(rho, size, labels, replicates) for labels in runs]
        print(f"{f'{rho:g}, {size}':21}" + "  ".join(f"{each:.2f}" for each in found), flush=True)


def with_effects(counts: Counts, groups: LabelGroups) -> Counts:
    """Count labels by what they are worth in their groups."""
    return replace(counts, group_effects=group_effects(groups, counts))


def coverage_line(of: GroupedProcess, replicates: int, seed: int = 1) -> str:
    """Cover the process without and with groups, and the window's own metrics."""
    rng, held, half = np.random.default_rng(seed), np.zeros((5, 2)), np.zeros((2, 2))
    cells = np.arange(len(of.process.chance))
    for _ in range(replicates):
        windows = [of.drawn(rng) for _ in range(ROUNDS)]
        plain = [counts for counts, _, _ in windows]
        grouped = [with_effects(counts, groups) for counts, groups, _ in windows]
        own = windows[-1][2]
        draws = [
            matrix_draws(each[-1], seed=1, points=POINTS, cells=True) for each in (plain, grouped)
        ]
        ways: Sequence[tuple[Matrix, Values]] = (
            (draws[0].of("rate"), of.process.truth),
            (pooled_matrix(plain, cells), of.process.truth),
            (draws[1].of("window"), own),
            (draws[1].of("rate"), of.process.truth),
            (pooled_matrix(grouped, cells), of.process.truth),
        )
        for i, (matrix, truth) in enumerate(ways):
            low, high = ends(matrix)
            held[i] += (low <= truth) & (truth <= high)
            if i in (0, 3):
                half[i // 3] += (high - low) / 2
    shares = "  ".join(f"{p:.2f} {r:.2f}" for p, r in held / replicates)
    return shares + "   " + "  ".join(f"{p:.3f} {r:.3f}" for p, r in half / replicates)


def alarm_line(of: GroupedProcess, paths: int) -> str:
    """Count false alarms a year without and with groups, and the drops found."""
    rates = []
    for use in (False, True):
        fired = [
            sum(played(of, use, YEAR // 2, np.random.default_rng((2, path))))
            for path in range(paths)
        ]
        year = np.array(fired) * 2.0
        rates.append(f"{year.mean():5.2f} ({year.std() / np.sqrt(paths):.2f})")
    worse, first = replace(of, process=of.process.dropped(DROP)), []
    for path in range(max(paths // 2, 1)):
        fired = played(of, True, WITHIN[-1], np.random.default_rng((3, path)), then=worse, only=1)
        first.append(next((i for i, each in enumerate(fired) if each), YEAR))
    shares = [float(np.mean(np.array(first) < within)) for within in WITHIN]
    return "  ".join(rates) + "  " + " ".join(f"{share:.2f}" for share in shares)


def played(
    of: GroupedProcess,
    use: bool,
    rounds: int,
    rng: np.random.Generator,
    then: GroupedProcess | None = None,
    only: int = len(METRICS),
) -> list[int]:
    """Count the alarms of each round after some quiet ones; evidence that fires starts again."""
    limits = [
        Limit(name, float(value), "at_least")
        for name, value in zip(METRICS[:only], of.process.truth[:only], strict=True)
    ]
    earlier = [of.drawn(rng)[0] for _ in range(QUIET)]
    threshold, evidence = log_threshold(YEAR, only), [Evidence()] * only
    alarms = []
    for _ in range(rounds):
        counts, groups, _ = (then or of).drawn(rng)
        before = earlier[-REMEMBERED:]
        rates = guess(before)
        read = [
            log_e_path_of_shares(
                limit, [counts], rates, None, before, groups=groups if use else None
            )[-1]
            for limit in limits
        ]
        after = [each.after(log_e) for each, log_e in zip(evidence, read, strict=True)]
        alarms.append(sum(each.fires(threshold) for each in after))
        evidence = [Evidence() if each.fires(threshold) else each for each in after]
        earlier.append(counts)
    return alarms


def capped_worth(
    correlation: float, size: int, caps: Sequence[int], windows: int, seed: int = 4
) -> Values:
    """Return for each cap how many plain labels one label is worth."""
    rng = np.random.default_rng(seed)
    errors, labels = np.zeros((windows, len(caps) + 1)), np.zeros(len(caps))
    for errors_of in errors:
        weight = rng.exponential(size=max(FLAGGED // size, 1))
        group = rng.choice(len(weight), FLAGGED, p=weight / weight.sum())
        latent = np.sqrt(correlation) * rng.standard_normal(len(weight))[group]
        latent += np.sqrt(1 - correlation) * rng.standard_normal(FLAGGED)
        positive = latent < special.ndtri(RATE)
        errors_of[0] = positive[:LABELS].mean() - positive.mean()
        for i, cap in enumerate(caps):
            estimate, labeled = _capped(group, positive, cap)
            errors_of[1 + i] = estimate - positive.mean()
            labels[i] += labeled / windows
    plain, *capped = (errors**2).mean(axis=0)
    of_one = plain / (1 / LABELS - 1 / FLAGGED)
    return np.asarray(1 / (np.array(capped) / of_one + 1 / FLAGGED) / labels)


def _capped(group: Whole, positive: Flags, cap: int) -> tuple[float, int]:
    """Estimate the rate from the first labels of each group; returns the number of labels too."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - first
    drawn = int(np.searchsorted(np.cumsum(rank < cap), LABELS, side="right"))
    kept = rank[:drawn] < cap
    items = np.bincount(group[:drawn])
    labeled = np.bincount(group[:drawn][kept], minlength=len(items))
    yes = np.bincount(group[:drawn][kept], positive[:drawn][kept], minlength=len(items))
    return float(items @ (yes / np.maximum(labeled, 1)) / drawn), int(kept.sum())


def _metrics(positive: Values | Whole, size: Values | Whole, of: Process) -> Values:
    up, down = of.is_flagged, ~of.is_flagged
    matrix = Matrix(
        tp=positive[up].sum(),
        fp=(size - positive)[up].sum(),
        fn=positive[down].sum(),
        tn=(size - positive)[down].sum(),
    )
    return np.array([float(metric(name)(matrix)) for name in METRICS])
