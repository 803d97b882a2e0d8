"""How many rounds of score cells say nothing about a limit, and how soon a collapse is found.

Eight quiet rounds, then the metric falls to `to`. `silent` is the share of rounds with e = 1, quiet
and first after the fall; `found` by the 1st, 2nd and 4th round after it; `mean e` the largest exact
mean over rates that keep the limit. Nothing was tuned on any but the first five settings.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.cells import edges
from benchmarks.e_factor import around, null_points
from benchmarks.harness import Values
from benchmarks.strata import cut_classes, shifted
from monitor.stats.design.cell_sizes import CELL_FLOOR, expected_sizes, systematic_sizes
from monitor.stats.design.score_bands import band_edges
from monitor.stats.detection.alternatives import alternatives, steps
from monitor.stats.detection.half_space import Limit, half_space
from monitor.stats.detection.projection import inside, project
from monitor.stats.detection.scenario import Scenario
from monitor.stats.detection.simulated_paths import Paths, RoundStrata, log_e_many

QUIET, AFTER, YEAR = 8, 4, 52
BANDS = 4  # flagged ones at most
BAND_FLOOR = 10.0  # labels of a band


@dataclass(frozen=True, slots=True)
class Setting:
    """A classifier, its limit, the labels of a round, and what becomes of the metric."""

    precision: float
    recall: float
    metric: str
    limit: float
    to: float
    labels: int = 400
    rows: int = 20_000
    flagged: float = 0.06
    cells: tuple[int, int] = (20, 40)

    @property
    def has_cells(self) -> bool:
        """Whether its strata are score cells, not bands."""
        return self.cells[0] > BANDS

    def scenario(self) -> Scenario:
        """Cut the window into cells or bands, without labels."""
        rng = np.random.default_rng(2026)
        items = (int(self.rows * self.flagged), int(self.rows * (1 - self.flagged)))
        missed = self.precision * items[0] * (1 / self.recall - 1) / items[1]
        cut = edges if self.has_cells else band_edges
        scores = [
            shifted(rng.normal(0, spread, count), mean)
            for count, mean, spread in zip(items, (self.precision, missed), (1.5, 2.5), strict=True)
        ]
        is_flagged, size, (rates,) = cut_classes(
            (p, cut(p, wanted), p) for p, wanted in zip(scores, self.cells, strict=True)
        )
        return Scenario.of(size, np.zeros(len(size)), is_flagged, rates)

    def after(self, quiet: Scenario) -> Values:
        """Rates after the fall."""
        if self.metric == "precision":
            factor = self.to / (quiet.value("precision") or 1.0)
            return np.where(quiet.is_flagged, factor * quiet.rates, quiet.rates)
        fallen = Limit(self.metric, self.to, "at_least")
        about = (fallen, quiet.size, quiet.is_flagged, inside(quiet.rates))
        return np.asarray(alternatives(*about, beyond=(0.0,))[0])


SETTINGS = (
    Setting(0.985, 0.80, "precision", 0.80, to=0.40),
    Setting(0.93, 0.74, "precision", 0.75, to=0.50),
    Setting(0.97, 0.74, "precision", 0.80, to=0.60),
    Setting(0.985, 0.80, "precision", 0.80, to=0.60, labels=1250),
    Setting(0.985, 0.80, "precision", 0.80, to=0.40, cells=(4, 10)),
    Setting(0.90, 0.95, "recall", 0.70, to=0.50),
    Setting(0.90, 0.97, "recall", 0.80, to=0.60, labels=250, flagged=0.02),
    Setting(0.85, 0.75, "precision", 0.80, to=0.65),
    Setting(0.96, 0.60, "f1", 0.60, to=0.45),
    Setting(0.95, 0.90, "accuracy", 0.95, to=0.90),
    Setting(0.99, 0.99, "precision", 0.50, to=0.30, labels=160, rows=3000, flagged=0.3),
    Setting(0.70, 0.50, "precision", 0.30, to=0.20, labels=200, rows=4000),
)


def main(paths: int = 400) -> None:
    """Print a line for each setting."""
    print(f"{'':<58}   silent quiet / first    found by round 1 / 2 / 4   mean e")
    for setting in SETTINGS:
        print(f"{_named(setting):<58}   {_played(setting, paths)}")


def _played(setting: Setting, paths: int) -> str:
    quiet, rng = setting.scenario(), np.random.default_rng(5)
    limit = Limit(setting.metric, setting.limit, "at_least")
    expected = expected_sizes(
        quiet.size,
        quiet.is_flagged,
        inside(quiet.rates),
        labels=setting.labels,
        share=0.25,
        floor=CELL_FLOOR if setting.has_cells else BAND_FLOOR,
    )
    watchers, silent, fired = Paths([limit], YEAR, paths), [], []
    after, mean = setting.after(quiet), 0.0
    for t in range(1 + QUIET + AFTER):
        window = RoundStrata(quiet.size, quiet.is_flagged, systematic_sizes(expected, rng.random()))
        rates = quiet.rates if t <= QUIET else after
        positive = rng.binomial(window.labeled, rates, (paths, len(rates)))
        guess = watchers.guess(window)
        if guess is None:
            watchers.learn(window, positive)
            continue
        silent.append(~log_e_many(limit, window, positive, guess).any(axis=1))
        if t <= 2:
            mean = max(mean, _largest_mean(limit, window, guess[0]))
        fired.append(watchers.close(window, positive)[0])
    found = np.maximum.accumulate(fired[QUIET:], axis=0).mean(axis=1)
    return (
        f"{np.mean(silent[:QUIET]):12.3f} / {np.mean(silent[QUIET]):.3f}"
        f"{found[0]:16.3f} / {found[1]:.3f} / {found[3]:.3f}   {mean:.4f}"
    )


def _largest_mean(limit: Limit, window: RoundStrata, guess: Values) -> float:
    """Largest exact mean of e, of single alternatives, over rates that keep the limit."""
    space = half_space(limit, window.size, window.is_flagged)
    about, n = (limit, window.size, window.is_flagged, guess), window.labeled
    rows = alternatives(*about, steps(*about, n), labeled=n)
    nearest = np.array([inside(project(space, row, n)) for row in rows])
    points = np.vstack([null_points(space, 1000), around(space, nearest, 2000)])[:, n > 0]
    worst = 0.0
    for row, x in zip(inside(rows)[:, n > 0], nearest[:, n > 0], strict=True):
        per_label = points * row / x + (1 - points) * (1 - row) / (1 - x)
        worst = max(worst, float(np.exp(np.log(per_label) @ n[n > 0]).max()))
    return worst


def _named(s: Setting) -> str:
    cut = f"{s.cells[0]}+{s.cells[1]}"
    return (
        f"P {s.precision:g} R {s.recall:g}, {s.metric} at least {s.limit:g}, to {s.to:g}, "
        f"{cut}, {s.labels}"
    )
