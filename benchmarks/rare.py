"""Recall and precision where one item in 10,000 or in 100,000 is positive, beside OASIS.

Pools of ten million items: logit p is normal with a spread of 8, an item is flagged from p = .3,
and the truth is drawn once. The `calibrated` score is p itself, the `overconfident` one claims 1.5
times its log odds. OASIS (Marchant and Rubinstein, VLDB 2017) samples strata with replacement by an
adaptive law; an item that comes back costs no label. Settings of the paper: strata by the
cumulative root of the score's histogram, a share of .001 for the passive law, a decaying prior
worth two labels a stratum. Shown is its best of 30 and 60 strata and of samplers made for recall
and for F1. It has no interval; `held` is that of its normal limit law with the variance found.
`ours` is a first round by score cells, one for both metrics.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import optimize, special

from benchmarks.harness import Values, Whole
from benchmarks.real_data import Window, cut, first_rounds

ITEMS, SPREAD, THRESHOLD = 10_000_000, 8.0, 0.3
CLAIMS = {"calibrated": 1.0, "overconfident": 1.5}
METRICS = ("precision", "recall")
STRATA, BINS, PASSIVE, PRIOR = (30, 60), 1000, 1e-3, 2.0
ALPHAS = (0.0, 0.5)  # recall, F1
Z = float(special.ndtri(0.975))


@dataclass(frozen=True)
class Found:
    """Points and interval ends of many samples, shape ``(samples, 2)``: precision and recall."""

    point: Values
    low: Values
    high: Values

    def figures(self, metric: int, truth: float) -> tuple[float, float, float]:
        """Return mean absolute error, half-width and coverage of one metric.

        A sample without a value has the error of 0, and covers nothing.
        """
        point, low, high = (each[:, metric] for each in (self.point, self.low, self.high))
        held = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
        error = np.abs(np.nan_to_num(point) - truth).mean()
        return float(error), float(np.nanmean(high - low)) / 2, float(held.mean())


def main(
    odds: tuple[int, ...] = (10_000, 100_000),
    labels: tuple[int, ...] = (300, 1000),
    replicates: int = 400,
) -> None:
    """Print a line for each pool, number of labels and metric."""
    names = ("oasis", "ours")
    heads = "".join(f"{f'{who}: error':>15}{'half':>7}{'held':>6}" for who in names)
    print(f"{'':<28}{'labels':>6}  {'':<10}{'truth':>6}{heads}")
    for one, (score, claims) in product(odds, CLAIMS.items()):
        pool, name = pool_of(one, claims), f"1 : {one:,}, {score}"
        theirs = [oasis(pool, *way, labels, replicates) for way in product(STRATA, ALPHAS)]
        for at, budget in enumerate(labels):
            own = ours(pool, budget, replicates)
            for i, of in enumerate((pool.is_flagged, pool.is_positive)):
                truth = float((pool.is_flagged & pool.is_positive).sum() / of.sum())
                best = min(way[at].figures(i, truth) for way in theirs)
                cells = "".join(
                    f"{error:15.4f}{half:7.3f}{held:6.2f}"
                    for error, half, held in (best, own.figures(i, truth))
                )
                print(f"{name:<28}{budget:6}  {METRICS[i]:<10}{truth:6.3f}{cells}", flush=True)


def pool_of(odds: int, claims: float) -> Window:
    """Draw a pool in which one item in so many is positive."""
    normal = SPREAD * special.ndtri((np.arange(ITEMS) + 0.5) / ITEMS)
    mean = optimize.brentq(lambda at: special.expit(at + normal).mean() - 1 / odds, -40, 0)
    rate = special.expit(mean + normal)
    actual = np.random.default_rng(odds).random(ITEMS) < rate
    score = special.expit(claims * (mean + normal))
    return Window(f"{odds}", score, rate >= THRESHOLD, actual)


def ours(pool: Window, labels: int, replicates: int) -> Found:
    """Estimate from first rounds by score cells."""
    strata, rng = cut(pool, labels), np.random.default_rng(labels)
    _, _, found = first_rounds(strata, labels, replicates, rng)
    return Found(found.point.T, found.low.T, found.high.T)


def cut_by_root(score: Values, strata: int) -> Whole:
    """Cut scores where the cumulative root of their histogram reaches equal parts."""
    counts, edges = np.histogram(score, bins=BINS)
    rising = np.cumsum(np.sqrt(counts))
    inner = edges[1:][np.searchsorted(rising, rising[-1] * np.arange(1, strata) / strata)]
    return np.unique(np.digitize(score, np.unique(inner)), return_inverse=True)[1]


def oasis(
    pool: Window, strata: int, alpha: float, budgets: Sequence[int], replicates: int
) -> list[Found]:
    """Sample until so many different items are labeled; return what each budget gives."""
    rng, stratum = np.random.default_rng((strata, int(10 * alpha))), cut_by_root(pool.score, strata)
    order, size = np.argsort(stratum, kind="stable"), np.bincount(stratum)
    first, weight, row = np.cumsum(size) - size, size / size.sum(), np.arange(replicates)
    up = np.bincount(stratum, pool.is_flagged) / size
    guess = np.bincount(stratum, pool.score) / size
    prior = PRIOR * np.stack([guess, 1 - guess])
    counts = np.zeros((2, replicates, len(size)))
    f = np.full(replicates, (up * guess) @ weight / ((alpha * up + (1 - alpha) * guess) @ weight))
    sums, squares = np.zeros((3, replicates)), np.zeros((2, 3, replicates))
    seen: list[set[int]] = [set() for _ in row]
    labeled, state = np.zeros(replicates), np.full((len(budgets), 2, 3, replicates), np.nan)
    while (labeled < budgets[-1]).any():
        known = counts + prior[:, np.newaxis] / np.maximum(counts.sum(axis=0), 1)
        chance = instrumental(known[0] / known.sum(axis=0), up, weight, f[:, np.newaxis], alpha)
        drawn = (np.cumsum(chance, axis=1) < rng.random((replicates, 1))).sum(axis=1)
        drawn = np.minimum(drawn, len(size) - 1)
        item = order[first[drawn] + (rng.random(replicates) * size[drawn]).astype(np.int64)]
        worth, true = weight[drawn] / chance[row, drawn], pool.is_positive[item]
        counts[np.where(true, 0, 1), row, drawn] += 1
        cell = np.stack([true & pool.is_flagged[item], pool.is_flagged[item], true])
        sums += worth * cell
        squares += worth**2 * np.stack([[cell[0], cell[0], base] for base in cell[1:]])
        with np.errstate(invalid="ignore", divide="ignore"):
            value = sums[0] / (alpha * sums[1] + (1 - alpha) * sums[2])
        f = np.where(np.isfinite(value), value, f)
        for mine, one in zip(seen, item, strict=True):
            mine.add(int(one))
        before, labeled = labeled, np.array([len(mine) for mine in seen])
        for at, budget in enumerate(budgets):
            is_now = (before < budget) & (labeled >= budget)
            state[at] = np.where(is_now, ends(sums, squares), state[at])
    return [Found(*(each[:, i].T for i in range(3))) for each in state]


def instrumental(rate: Values, up: Values, weight: Values, f: Values, alpha: float) -> Values:
    """Chances of the strata, shape ``(samples, strata)``: least variance, and passive."""
    missed = (1 - up) * ((1 - alpha) * f) ** 2 * rate
    flagged = up * ((alpha * f) ** 2 * (1 - rate) + (1 - f) ** 2 * rate)
    best = weight * np.sqrt(missed + flagged)
    return np.asarray(PASSIVE * weight + (1 - PASSIVE) * best / best.sum(axis=1, keepdims=True))


def ends(sums: Values, squares: Values) -> Values:
    """Points and normal ends of precision and recall, shape ``(2, 3, samples)``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        point = sums[0] / sums[1:3]
        spread = squares[:, 0] - 2 * point * squares[:, 1] + point**2 * squares[:, 2]
        half = Z * np.sqrt(np.maximum(spread, 0)) / sums[1:3]
    return np.stack([point, point - half, point + half], axis=1)
