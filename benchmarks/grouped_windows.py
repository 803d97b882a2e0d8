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
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from benchmarks.fresh_windows import (
    DROP,
    POINTS,
    MetricLimits,
    Process,
    Window,
    alarms_a_year,
    drops_detected,
    ends,
    metrics_of,
    pooled_matrix,
)
from benchmarks.harness import Flags, Values, Whole
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import Matrix
from monitor.stats.design.cell_sizes import systematic_sizes
from monitor.stats.design.label_groups import LabelGroups, group_effects
from monitor.stats.estimation.cell_matrix import matrix_draws

SETTINGS = ("30000 1500 500", "30000 1500 1500")
ROUNDS = 4


@dataclass(frozen=True, eq=False)
class GroupedProcess:
    """What windows are drawn from: the strata, and how groups of ``size`` items differ.

    ``is_read`` is whether alarms read the column of the groups.
    """

    process: Process
    correlation: float
    size: int
    is_read: bool = True

    def drawn(self, rng: np.random.Generator) -> Window:
        """Draw and label a window."""
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
        groups = LabelGroups.of(columns) if self.is_read else None
        own = np.bincount(cell, weights=positive, minlength=len(size))
        return Window(counts, metrics_of(own, size, of.is_flagged), groups)

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
) -> None:
    """Print a line for each setting; ``replicates`` are rounds, or half years."""
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


def with_effects(window: Window) -> Counts:
    """Count labels by what they are worth in their groups."""
    assert window.groups is not None  # noqa: S101
    return replace(window.counts, group_effects=group_effects(window.groups, window.counts))


def coverage_line(of: GroupedProcess, replicates: int, seed: int = 1) -> str:
    """Cover the process without and with groups, and the window's own metrics."""
    rng, held, half = np.random.default_rng(seed), np.zeros((5, 2)), np.zeros((2, 2))
    cells = np.arange(len(of.process.chance))
    for _ in range(replicates):
        windows = [of.drawn(rng) for _ in range(ROUNDS)]
        plain, grouped = [each.counts for each in windows], [*map(with_effects, windows)]
        draws = [
            matrix_draws(each[-1], seed=1, points=POINTS, cells=True) for each in (plain, grouped)
        ]
        ways: Sequence[tuple[Matrix, Values]] = (
            (draws[0].of("rate"), of.process.truth),
            (pooled_matrix(plain, cells), of.process.truth),
            (draws[1].of("window"), windows[-1].own),
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
    truth = of.process.truth
    rates = [
        alarms_a_year(replace(of, is_read=is_read), MetricLimits.at(truth), paths)
        for is_read in (False, True)
    ]
    worse = replace(of, process=of.process.dropped(DROP))
    return "  ".join([*rates, drops_detected(of, worse, truth, paths)])
