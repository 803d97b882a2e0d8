"""Other priors and kinds of intervals on the rounds of the coverage benchmark."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_grid import Cell
from benchmarks.fast_rounds import METRICS, Design, FastRounds, Prior, default_prior
from benchmarks.harness import Values
from benchmarks.rarer import expected_rarer

POINTS = 2**10
LEVEL = 0.95


def even(count: Callable[[int], float]) -> Prior:
    """Give each of the H strata of a class the same count a = b."""

    def prior(design: Design, part: slice) -> tuple[Values, Values]:
        del design
        strata = part.stop - part.start
        both = np.full((1, strata), count(strata))
        return both, both

    return prior


def shared_by(weight: Callable[[Design, slice], Values]) -> Prior:
    """Share Jeffreys' half count out over the strata of a class by a weight."""

    def prior(design: Design, part: slice) -> tuple[Values, Values]:
        weights = weight(design, part)
        both = np.maximum(0.5 * weights / weights.sum(), 1e-3)[np.newaxis]
        return both, both

    return prior


def centred(design: Design, part: slice) -> tuple[Values, Values]:
    """One count in all, split in each stratum as its true rate, which no score knows better."""
    rate = np.clip(design.true_rate[part], 1e-3, 1 - 1e-3)[np.newaxis]
    return rate / rate.size, (1 - rate) / rate.size


def two_minded(light: float, heavy: float, power: float = 0.5) -> Prior:
    """Let half of the draws take light/H, half heavy/H**power; one stratum keeps Jeffreys'."""

    def prior(design: Design, part: slice) -> tuple[Values, Values]:
        strata = part.stop - part.start
        if strata == 1:
            return default_prior(design, part)
        both = np.outer([light / strata, heavy / strata**power], np.ones(strata))
        return both, both

    return prior


PRIORS: dict[str, Prior] = {
    ".1/H and .5/sqrt(H) (default)": default_prior,
    ".5/H, Jeffreys' shared out": even(lambda strata: 0.5 / strata),
    ".5, Jeffreys' in each": even(lambda _: 0.5),
    ".35/H": even(lambda strata: 0.35 / strata),
    "1/H, uniform shared out": even(lambda strata: 1 / strata),
    "1, uniform in each": even(lambda _: 1.0),
    "1/3, Kerman's in each": even(lambda _: 1 / 3),
    ".5/sqrt(H)": even(lambda strata: 0.5 / math.sqrt(strata)),
    ".5 shared by labels": shared_by(lambda d, part: d.labeled[part].astype(np.float64)),
    ".5 shared by size": shared_by(lambda d, part: d.size[part].astype(np.float64)),
    ".5 shared by size/labels": shared_by(
        lambda d, part: d.size[part] / np.maximum(d.labeled[part], 1)
    ),
    "1/H centred on the rate": centred,
    ".1/H and .9/H": two_minded(0.1, 0.9, power=1),
    ".25/H and .5/sqrt(H)": two_minded(0.25, 0.5),
    ".1/H and .7/sqrt(H)": two_minded(0.1, 0.7),
}


def hpd(rounds: FastRounds) -> Values:
    """Share of the shortest intervals that lie above, and below, the truth, shape ``(2, 2)``."""
    design, held = rounds.design, math.ceil(LEVEL * POINTS)
    flagged = float(design.size[: design.flagged].sum())
    missed = np.zeros((2, 2))
    for first in range(0, rounds.replicates, 128):
        tp, fn = rounds.sums(slice(first, first + 128))
        with np.errstate(invalid="ignore"):
            both = (tp / flagged, np.nan_to_num(tp / (tp + fn)))
        for metric, (drawn, truth) in enumerate(zip(both, design.truths, strict=True)):
            values = np.sort(drawn, axis=1)
            start = (values[:, held - 1 :] - values[:, : POINTS - held + 1]).argmin(axis=1)
            row = np.arange(len(values))
            missed[metric, 0] += np.sum(truth < values[row, start] - 1e-12)
            missed[metric, 1] += np.sum(truth > values[row, start + held - 1] + 1e-12)
    return missed / rounds.replicates


def mover(design: Design, positive: NDArray[np.int64]) -> Values:
    """Misses of Wilson intervals per stratum, combined as Donner & Zou (2012) do (MOVER)."""
    z = 1.959964
    n, rate = design.labeled, positive / design.labeled
    middle, half = (rate + z**2 / (2 * n)), z * np.sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    low, high = (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
    left = np.sqrt(np.broadcast_to(design.open_items, n.shape))
    parts = []
    for part in design.classes:
        size = design.size[part]
        total = rate[:, part] @ size
        down, up = (
            np.sqrt(((size * left[part] * (rate - end)[:, part]) ** 2).sum(axis=1))
            for end in (low, high)
        )
        parts.append((total, np.maximum(total - down, 0.0), total + up))
    (tp, tp_low, tp_high), (fn, fn_low, fn_high) = parts
    tp_true, fn_true = design.truth
    gap = fn_true * tp - tp_true * fn  # recall at its truth: a difference, so no ratio is needed
    under = np.sqrt((fn_true * (tp - tp_low)) ** 2 + (tp_true * (fn_high - fn)) ** 2)
    over = np.sqrt((fn_true * (tp_high - tp)) ** 2 + (tp_true * (fn - fn_low)) ** 2)
    return np.array(
        [
            [np.mean(tp_true < tp_low - 1e-9), np.mean(tp_true > tp_high + 1e-9)],
            [np.mean(gap - under > 1e-9), np.mean(gap + over < -1e-9)],
        ]
    )


def try_all(cell: Cell, replicates: int, seed: int) -> dict[str, Values]:
    """Misses of every prior and kind of interval on a cell, shape ``(2, 2)`` each."""
    positive = cell.design.simulate(replicates, np.random.default_rng(seed))
    found: dict[str, Values] = {}
    for name, prior in PRIORS.items():
        rounds = FastRounds(cell.design, positive, prior=prior, points=POINTS)
        found[name] = rounds.misses().mean(axis=2)
        if prior is default_prior:
            found["default, shortest interval"] = hpd(rounds)
    return found | {"Wilson per stratum, MOVER": mover(cell.design, positive)}


def show_priors(cells: Sequence[Cell], replicates: int) -> None:
    """Print coverage of every prior and kind of interval on the same rounds."""
    print(f"{len(cells)} cells, {replicates} rounds in each")
    missed = [try_all(cell, replicates, seed) for seed, cell in enumerate(cells)]
    say_comparison(missed, np.array([expected_rarer(cell.design) for cell in cells]))


def say_comparison(missed: Sequence[dict[str, Values]], rarer: Values) -> None:
    """Print a line for each metric and method."""
    print(f"{'':<42}all               10 or more   3 to 10      under 3")
    print(f"{'metric':<10} {'prior':<30} mean  low/high    " + "  ".join(["mean  least"] * 3))
    for metric, word in enumerate(METRICS):
        for name in missed[0]:
            found = np.array([each[name][metric] for each in missed])
            print(f"{word:<10} {name:<30} {_line(found, rarer[:, metric])}")


def _line(missed: Values, rarer: Values) -> str:
    counted = np.isfinite(rarer)
    covered = 1 - missed.sum(axis=1)
    parts = [
        f"{covered[counted].mean():.3f} {'/'.join(f'{m:.3f}' for m in missed[counted].mean(0))}"
    ]
    for low, high in ((10, math.inf), (3, 10), (0, 3)):
        group = covered[counted & (rarer >= low) & (rarer < high)]
        parts.append(f"{group.mean():.3f} {group.min():.3f}" if len(group) else "    -     -")
    return "  ".join(parts)
