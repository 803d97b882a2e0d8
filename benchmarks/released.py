"""Precision of a model that prevents outcomes, from the few flagged items that it lets through.

A flagged class of which each item is let through with a known probability. `naive` takes items
without an outcome as negative. Where each has its own probability, which follows the outcome,
released items are left out by chance until all were as likely, as the monitor does.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Flags, Values
from monitor.rounds.sampling.plausibility import FEWEST_RELEASED
from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import estimate

CHANCES = (0.01, 0.05, 0.2)
PASSED, MOST = 20_000, 2000


class Setting(NamedTuple):
    """Flagged items, their precision, and how much the release of negatives is more likely."""

    flagged: int
    precision: float
    tilt: float


SETTINGS = (Setting(6000, 0.36, 2.0), Setting(2500, 0.72, 4.0))


@dataclass(frozen=True, eq=False)
class Window:
    """The flagged items of a window: their truth, who was let through, and how likely that was."""

    truth: Flags
    released: Flags
    chance: Values

    @property
    def precision(self) -> float:
        """Precision among all flagged items."""
        return float(self.truth.mean())


def window(setting: Setting, chance: float, rng: np.random.Generator, *, per_item: bool) -> Window:
    """Draw a window; chances per item are of two sizes, the larger one likelier for negatives."""
    truth = rng.random(setting.flagged) < setting.precision
    each = np.full(setting.flagged, chance)
    if per_item:
        likelier = rng.random(setting.flagged) < np.where(truth, 0.3, 0.6)
        each = np.where(likelier, np.minimum(1.0, setting.tilt * chance), chance)
    return Window(truth, rng.random(setting.flagged) < each, each)


def kept(w: Window, rng: np.random.Generator) -> tuple[Values, int]:
    """Give the ends of the interval of a round, and the labels that it rests on."""
    usable = w.released & (rng.random(len(w.truth)) < w.chance.min() / w.chance)
    chosen = w.truth[usable][:MOST]  # in random order already
    return ends(len(w.truth), len(chosen), int(chosen.sum())), int(usable.sum())


@cache
def ends(size: int, labeled: int, positive: int) -> Values:
    """Interval of precision by the estimator of a round; all of [0, 1] without a label."""
    if not labeled:
        return np.array([0.0, 1.0])
    counts = Counts.of_matrix(
        tp=positive, fp=labeled - positive, fn=2, tn=98, flagged_size=size, passed_size=PASSED
    )
    row = estimate(counts, metrics=("precision",), estimand="window")["precision"]
    return np.array([row.low, row.high], dtype=np.float64)


def played(setting: Setting, chance: float, rounds: int, *, per_item: bool) -> str:
    """Simulate a setting, and describe it."""
    rng = np.random.default_rng([1, setting.flagged, round(1000 * chance), per_item])
    windows = [window(setting, chance, rng, per_item=per_item) for _ in range(rounds)]
    truth = np.array([w.precision for w in windows])
    naive = float(np.mean([(w.truth & w.released).mean() for w in windows]) - truth.mean())
    results = [kept(w, rng) for w in windows]
    low, high = np.array([found for found, _ in results]).T
    labels = np.array([used for _, used in results])
    covered = float(np.mean((low <= truth) & (truth <= high)))
    few = float(np.mean(labels < FEWEST_RELEASED))
    return (
        f"{setting.flagged:>6,} {setting.precision:.2f} {chance:.2f} "
        f"{'per item' if per_item else 'constant':<9} {naive:+.3f} {covered:.3f}   "
        f"{np.mean(high - low) / 2:.3f}      {np.median(labels):>5.0f}  {few:.2f}"
    )


def main(rounds: int = 2000) -> None:
    """Print coverage and half-widths."""
    print("flagged  P    pi   chances   naive covered half-width labels few")
    for setting in SETTINGS:
        for chance in CHANCES:
            for per_item in (False, True):
                print(played(setting, chance, rounds, per_item=per_item))
