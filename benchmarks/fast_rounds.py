"""Thousands of simulated rounds of one design, estimated as the monitor does, in a second.

All rounds share the Sobol points, so a stratum's draws depend on its positive count alone. Beta
quantiles come from a cubic spline of their log odds over the normal scores, right to 1e-7;
`tests/stats/test_benchmarks.py` compares whole intervals with `estimates`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special, stats
from scipy.interpolate import CubicSpline
from scipy.stats import qmc

from benchmarks.harness import Flags, Values, Whole
from monitor.stats.core.beta_mixture import round_priors
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import drawn_sizes
from monitor.stats.core.metrics import METRICS as FORMULAS
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.estimation.small_counts import small_count_caution

POINTS = 2**12
CHUNK = 64
METRICS = ("precision", "recall")
DECIDES = 0.1
TAIL = (1 - 0.95) / 2

_NODES = np.linspace(-6.4, 6.4, 401)  # the Sobol points reach 2**-31, a score of -6.2
_MANY = 25.0  # variance from which a binomial quantile is expanded, not looked up


@dataclass(frozen=True, eq=False)
class Design:
    """Strata of a window or of a classifier, flagged first, and the labels of each.

    ``positive`` are the actual positives of a finite window, ``rate`` the rates of an infinite
    one; the other is None. All have the shape ``(H,)``.
    """

    size: Whole
    labeled: Whole
    flagged: int
    positive: Whole | None = None
    rate: Values | None = None

    @cached_property
    def classes(self) -> tuple[slice, slice]:
        """The flagged and the passed strata."""
        return slice(0, self.flagged), slice(self.flagged, len(self.size))

    @cached_property
    def true_rate(self) -> Values:
        """Rate of each stratum that the interval should find."""
        if self.rate is not None:
            return self.rate
        assert self.positive is not None  # noqa: S101
        return self.positive / np.maximum(self.size, 1)

    @cached_property
    def truth(self) -> tuple[float, float]:
        """Actual positives among the flagged, TP, and among the passed, FN."""
        found = self.size * self.rate if self.rate is not None else self.positive
        assert found is not None  # noqa: S101
        tp, fn = (float(found[class_].sum()) for class_ in self.classes)
        return tp, fn

    @cached_property
    def open_items(self) -> Values:
        """Share of each stratum that stays unlabeled, 1 in an infinite window."""
        return (self.size - self.labeled) / self.size if self.rate is None else np.ones(1)

    @cached_property
    def truths(self) -> tuple[float, float]:
        """True precision and recall."""
        tp, fn = self.truth
        return tp / float(self.size[: self.flagged].sum()), tp / (tp + fn)

    def simulate(self, replicates: int, rng: np.random.Generator) -> Whole:
        """Labeled positives, shape ``(replicates, H)``."""
        shape = (replicates, len(self.size))
        if self.rate is not None:
            return rng.binomial(self.labeled, self.rate, size=shape)
        assert self.positive is not None  # noqa: S101
        return rng.hypergeometric(self.positive, self.size - self.positive, self.labeled, shape)


class FastRounds:
    """Posterior draws of every stratum and count that occurs among simulated rounds."""

    def __init__(
        self, design: Design, positive: Whole, *, points: int = POINTS, seed: int = 0
    ) -> None:
        strata = len(design.size)
        sobol = qmc.Sobol(2 * strata + 2, scramble=True, rng=seed).random(points) + 2.0**-31
        self.design, self.replicates, self.positive = design, len(positive), positive
        uniforms = sobol[:, strata : 2 * strata]
        self.sizes = np.hstack(
            [drawn_sizes(design.size[each], uniforms[:, each]) for each in design.classes]
        )
        self.index: list[Whole] = []
        self.rows: list[Values] = []
        for part, pick in zip(design.classes, (-2, -1), strict=True):
            prior = round_priors(max(1, int((design.size[part] > 0).sum())))
            component = (sobol[:, pick] * len(prior)).astype(np.int64)
            for h in range(strata)[part]:
                counts, index = np.unique(positive[:, h], return_inverse=True)
                rest = design.labeled[h] - counts
                rates = np.empty((len(counts), points))
                for j, count in enumerate(prior):
                    mine = component == j
                    rates[:, mine] = beta_quantiles(count + counts, count + rest, sobol[mine, h])
                self.index.append(index)
                self.rows.append(self._items(h, counts, rates, sobol[:, strata + h]))

    def _items(self, h: int, counts: Whole, rates: Values, uniforms: Values) -> Values:
        """Actual positives of a stratum in the window, or a drawn size times the rate."""
        if self.design.rate is not None:
            return np.asarray(rates * self.sizes[:, h])
        left = int(self.design.size[h] - self.design.labeled[h])
        found = counts[:, np.newaxis].astype(np.float64)
        if left == 0:
            return np.broadcast_to(found, rates.shape).copy()
        drawn = binomial_quantiles(np.broadcast_to(uniforms, rates.shape), left, rates)
        return np.asarray(found + drawn)

    def sums(self, rounds: slice) -> tuple[Values, Values]:
        """Draws of TP and FN for some of the rounds, shape ``(rounds, points)``."""
        tp, fn = (
            sum(self.rows[h][self.index[h][rounds]] for h in range(len(self.rows))[class_])
            for class_ in self.design.classes
        )
        return np.asarray(tp), np.asarray(fn)

    def misses(self) -> Flags:
        """Whether the truth lies below, and above, each 95 % interval: ``(2, 2, rounds)``.

        The first axis is precision and recall, the second below and above. Equal to comparing
        with `inverted_cdf` quantiles; a draw counts against the truth without dividing.
        """
        tp, fn = self.design.truth
        missed = np.zeros((2, 2, self.replicates), dtype=np.bool_)
        for first in range(0, self.replicates, CHUNK):
            some = slice(first, first + CHUNK)
            for end, (tps, fns) in enumerate(self.extremes(some)):
                for metric, gap in enumerate((tps - tp, fn * tps - tp * fns)):
                    missed[metric, end, some] = (
                        np.mean(gap <= 0, axis=1) < TAIL
                        if end == 0
                        else np.mean(gap < 0, axis=1) >= 1 - TAIL
                    )
        return missed

    def extremes(self, rounds: slice) -> tuple[tuple[Values, Values], tuple[Values, Values]]:
        """Draws of TP and FN for low ends and for high ends, shape ``(rounds, points)``.

        They differ where a class had one answer only (`monitor.stats.estimation.posterior`).
        """
        tp, fn = self.sums(rounds)
        up, down = self.design.classes
        found, every = self.positive[rounds], self.design.labeled
        sizes = [float(self.design.size[each].sum()) for each in (up, down)]
        none_up, none_down = (found[:, each].sum(axis=1) == 0 for each in (up, down))
        all_up, all_down = (found[:, each].sum(axis=1) == every[each].sum() for each in (up, down))
        return (
            (
                np.where(none_up[:, np.newaxis], 0.0, tp),
                np.where(all_down[:, np.newaxis], sizes[1], fn),
            ),
            (
                np.where(all_up[:, np.newaxis], sizes[0], tp),
                np.where(none_down[:, np.newaxis], 0.0, fn),
            ),
        )

    def ends(self, rounds: int) -> Values:
        """Give the first rounds' interval ends, shape ``(2, 2, rounds)``: metric, low, high."""
        found = np.empty((2, 2, rounds))
        flagged = float(self.design.size[: self.design.flagged].sum())
        extremes = self.extremes(slice(0, rounds))
        for end, (share, (tp, fn)) in enumerate(zip((TAIL, 1 - TAIL), extremes, strict=True)):
            with np.errstate(invalid="ignore"):
                for metric, values in enumerate((tp / flagged, tp / (tp + fn))):
                    found[metric, end] = np.nanquantile(
                        values, share, axis=1, method="inverted_cdf"
                    )
        return found

    def points(self, rounds: int) -> Values:
        """Give the first rounds' points, ``(2, rounds)``: the scaled matrix's, or the mean."""
        design, flagged = self.design, float(self.design.size[: self.design.flagged].sum())
        is_flagged = np.arange(len(design.size)) < design.flagged
        matrix = scaled_matrix(design.size, design.labeled, self.positive[:rounds], is_flagged)
        found = np.array([FORMULAS[name](matrix) for name in METRICS])
        for at in np.flatnonzero(np.isnan(found).any(axis=0)):
            tp, fn = self.sums(slice(at, at + 1))
            with np.errstate(invalid="ignore"):
                means = [np.nanmean(tp / flagged), np.nanmean(tp / (tp + fn))]
            found[:, at] = np.where(np.isnan(found[:, at]), means, found[:, at])
        return found


def beta_quantiles(alpha: Values, beta: Values, uniforms: Values) -> Values:
    """Quantiles of Beta laws, shape ``(laws, points)``, by a spline over normal scores."""
    low, high = special.ndtr(_NODES)[:, np.newaxis], special.ndtr(-_NODES)[:, np.newaxis]
    tiny = np.finfo(np.float64).tiny
    rate = np.maximum(special.betaincinv(alpha, beta, low), tiny)
    rest = np.maximum(special.betaincinv(beta, alpha, high), tiny)
    spline = CubicSpline(_NODES, np.log(rate) - np.log(rest), axis=0)
    return np.ascontiguousarray(special.expit(spline(special.ndtri(uniforms))).T)


def binomial_quantiles(uniforms: Values, items: int, rates: Values) -> Values:
    """Binomial quantiles: exact where the variance is small, else by Cornish and Fisher."""
    variance = items * rates * (1 - rates)
    few = variance < _MANY
    spread = np.sqrt(np.where(few, _MANY, variance))
    skew = (1 - 2 * rates) / spread
    excess = (1 - 6 * rates * (1 - rates)) / spread**2
    z = special.ndtri(uniforms)
    w = z + skew * (z**2 - 1) / 6 + excess * (z**3 - 3 * z) / 24 - skew**2 * (2 * z**3 - 5 * z) / 36
    found = np.clip(np.ceil(items * rates + spread * w - 0.5), 0, items)
    found[few] = stats.binom.ppf(uniforms[few], items, rates[few])
    return np.asarray(found)


def expected_rarer(design: Design) -> tuple[float, float]:
    """Expect so many labels of the rarer answer for precision, recall; infinite where known."""
    tp, fn = design.truth
    recall = tp / (tp + fn)
    worth, variance = [], []
    for part, gradient in zip(design.classes, (1 - recall, recall), strict=True):
        size, rate = design.size[part].astype(np.float64), design.true_rate[part]
        spread = size**2 * rate * (1 - rate) / np.maximum(design.labeled[part], 1)
        mean, total = float(size @ rate / size.sum()), float(spread.sum() / size.sum() ** 2)
        worth.append(mean * (1 - mean) / total * min(mean, 1 - mean) if total > 0 else math.inf)
        left = np.broadcast_to(design.open_items, design.size.shape)[part]
        variance.append(gradient**2 * float(np.sum(spread * left)))
    for_recall = [
        each
        for each, moved in zip(worth, variance, strict=True)
        if moved >= DECIDES * sum(variance)
    ]
    return (
        worth[0] if variance[0] > 0 else math.inf,
        min(for_recall) if sum(variance) > 0 else math.inf,
    )


def cautioned(
    size: Whole, labeled: Whole, positive: Whole, is_flagged: Flags, **how: Any
) -> Values:
    """Share of rounds that say that few labels decide precision, recall."""
    said = np.zeros(len(METRICS))
    for found in positive:
        counts = Counts.of_arrays(size=size, labeled=labeled, positive=found, is_flagged=is_flagged)
        said += [small_count_caution(counts, name, **how) is not None for name in METRICS]
    return said / len(positive)
