"""Labels a round needs for intervals of +-.05 on precision and recall, by design and score.

Classifiers of Shang et al. 2023, Table 4: logit p ~ N(mu, sigma^2), y ~ Bernoulli(p), flagged where
p >= t. Within each class a `weak` score is four times over-confident, a `flat` one says nothing and
an `inverted` one has the opposite order. The plan's margins are moved until the mean half-width of
the wider metric is .05; `planned` is what the plan asked for unmoved.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from benchmarks.harness import Flags, Values, Whole
from benchmarks.strata import CLASSIFIERS, cut_classes
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import round_posterior
from monitor.stats.design.allocation import allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import SHARE_BY_SIZE, Prospect
from monitor.stats.design.score_bands import FLAGGED_BANDS, PASSED_BANDS, band_edges

Plan = Callable[[dict[str, float]], Whole]


MARGIN, Z = 0.05, float(special.ndtri(0.975))
METRICS = ("precision", "recall")
ITEMS = 200_000  # quantiles that stand for the population
SCALE = 10**6  # items per quantile in the plan, so that no stratum is small
DEFAULT = (FLAGGED_BANDS, PASSED_BANDS)
POINTS, CHUNK = 2**11, 50


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata of a classifier, flagged first: sizes, true rates and classes, shape ``(H,)``."""

    size: Values | Whole
    rate: Values
    is_flagged: Flags

    @property
    def truth(self) -> tuple[float, float]:
        """True precision and recall."""
        found, up = self.size * self.rate, self.is_flagged
        return found[up].sum() / self.size[up].sum(), found[up].sum() / found.sum()

    def allocated(
        self,
        known: PriorRates,
        *,
        share_by_size: float = SHARE_BY_SIZE,
        uniform: float | None = None,
        **how: Any,
    ) -> Whole:
        """Labels that the monitor plans by what is known."""
        window = Prospect.of(
            self.size, self.is_flagged, known, share_by_size=share_by_size, uniform=uniform
        )
        return allocate(window, **how).labels


@dataclass(frozen=True, eq=False)
class Design(Strata):
    """Strata with their labels, shape ``(H,)``."""

    size: Whole
    labeled: Whole

    @property
    def flagged(self) -> int:
        """How many strata are flagged."""
        return int(self.is_flagged.sum())

    @property
    def classes(self) -> tuple[slice, slice]:
        """The flagged and the passed strata."""
        return slice(0, self.flagged), slice(self.flagged, None)

    def unlabeled(self) -> Counts:
        """Give the strata before any label."""
        none = np.zeros_like(self.size)
        return Counts.of_arrays(
            size=self.size, labeled=none, positive=none, is_flagged=self.is_flagged
        )


@dataclass(frozen=True, eq=False)
class Population:
    """Scores, true rates at them, and the threshold."""

    score: Values
    rate: Values
    threshold: float

    def strata(self, bands: tuple[int, int]) -> tuple[Design, Values]:
        """Cut into bands by score: sizes and rates, and the mean score of each."""
        is_flagged, size, rate, mean = self.cut(band_edges, bands)
        return Design(size * SCALE, rate, is_flagged, np.zeros_like(size)), mean

    def cut(
        self, edges: Callable[[Values, int], Sequence[float]], strata: tuple[int, int]
    ) -> tuple[Flags, Whole, Values, Values]:
        """Cut into so many strata of each class: class, quantiles, true rate and mean score."""
        up = self.score >= self.threshold
        is_flagged, size, (rate, mean) = cut_classes(
            (self.score[of], edges(self.score[of], count), self.rate[of], self.score[of])
            for of, count in zip((up, ~up), strata, strict=True)
        )
        return is_flagged, size, rate, mean


def population(name: str, score: str) -> Population:
    """Make a population; see the module's text for the scores."""
    mu, sigma, threshold = CLASSIFIERS[name]
    p = special.expit(mu + sigma * special.ndtri((np.arange(ITEMS) + 0.5) / ITEMS))
    rate = p.copy()
    for mine in (p >= threshold, p < threshold):
        kept = {"good": 1.0, "weak": 0.25, "flat": 0.0}.get(score)
        mean = p[mine].mean()
        rate[mine] = p[mine][::-1] if kept is None else mean + kept * (p[mine] - mean)
    return Population(p, rate, threshold)


def main(replicates: int = 6000) -> None:
    """Print the table."""
    print(f"Rates known from earlier rounds; {replicates} replicates")
    error = f"{math.sqrt(0.95 * 0.05 / replicates):.3f}".lstrip("0")
    print(f"{'':34}{'labels':>7} flagged planned   half-widths   coverage (s.e. {error})")
    for name in CLASSIFIERS:
        print(f"{name} random sampling, Wilson{random_sampling(population(name, 'good')):>19}")
        known_rates(name, replicates)


def known_rates(name: str, replicates: int) -> None:
    """Two strata and bands, planned by the rates that earlier rounds found."""
    for score, bands in (
        ("good", (1, 1)),
        *((score, DEFAULT) for score in ("good", "weak", "flat", "inverted")),
        *(("good", bands) for bands in ((3, 5), (3, 7))),
        *((score, (10, 10)) for score in ("good", "weak")),
    ):
        design, _ = population(name, score).strata(bands)
        plan = planner(design, PriorRates.of_rates(design.rate))
        text = "two strata" if bands == (1, 1) else f"{bands[0]}+{bands[1]} by rounds, {score}"
        _say(f"{name} {text}", design, plan, replicates)


def planner(design: Design, known: PriorRates) -> Plan:
    """Plan by `allocate` for given margins."""
    return lambda margins: design.allocated(known, margins=margins)


def fitted(plan: Plan, design: Design, replicates: int) -> Whole:
    """Labels at which the mean half-widths are .05, or less where the other metric binds."""
    margins = dict.fromkeys(METRICS, MARGIN)
    for some in (replicates // 4, replicates // 4, replicates // 2, replicates):
        found, _ = simulated(replace(design, labeled=plan(margins)), some, seed=1)
        for metric, width in zip(METRICS, found, strict=True):
            margins[metric] = float(np.clip(margins[metric] * MARGIN / width, 0.005, 0.12))
    return plan(margins)


def simulated(design: Design, replicates: int, seed: int) -> tuple[Values, Values]:
    """Mean half-widths and coverage of precision and recall."""
    rng = np.random.default_rng(seed)
    truth = np.array(design.truth)[:, np.newaxis]
    positive = rng.binomial(design.labeled, design.rate, (replicates, len(design.size)))
    tables = [Table(design, h, positive[:, h]) for h in range(len(design.size))]
    flagged, ends = float(design.size[: design.flagged].sum()), []
    for first in range(0, replicates, CHUNK):
        some = slice(first, first + CHUNK)
        drawn = [table.rows(some, rng) for table in tables]
        tp, fn = (np.sum(drawn[part], axis=0) for part in design.classes)
        ends.append(np.stack([_ends(tp / flagged), _ends(tp / (tp + fn))]))
    low, high = np.moveaxis(np.concatenate(ends, axis=1), 2, 0)
    return (high - low).mean(axis=1) / 2, ((low <= truth) & (truth <= high)).mean(axis=1)


class Table:
    """Quantiles of one stratum's posterior for every count that occurs, in random order.

    The posterior of a class is a mixture of J components of equal weight. The points are cut
    into J x J blocks, one for each pair of components of the two classes, and are a Latin
    hypercube within a block: each stratum has the quantiles of even shares, shuffled anew for
    every few replicates, so that no error of the points is shared by all of them.
    """

    def __init__(self, design: Design, h: int, positive: Whole) -> None:
        prior = round_posterior(design.unlabeled())
        flagged = h < design.flagged
        mine, other = prior.flagged, prior.passed
        column = h if flagged else h - design.flagged
        if not flagged:
            mine, other = other, mine
        self.flagged, self.mine, self.other = flagged, len(mine.weight), len(other.weight)
        self.inside = POINTS // (self.mine * self.other)
        counts, self.index = np.unique(positive, return_inverse=True)
        even = (np.arange(self.inside) + 0.5) / self.inside
        self.quantiles = design.size[h] * special.betaincinv(
            (mine.alpha[:, column] + counts[:, np.newaxis])[:, :, np.newaxis],
            (mine.beta[:, column] + (design.labeled[h] - counts)[:, np.newaxis])[:, :, np.newaxis],
            even,
        )

    def rows(self, some: slice, rng: np.random.Generator) -> Values:
        """Draws for some replicates, shape ``(replicates, points)``."""
        pairs = [(i, j) for i in range(self.mine) for j in range(self.other)]
        if not self.flagged:
            pairs.sort(key=lambda pair: pair[1])
        columns = np.concatenate([i * self.inside + rng.permutation(self.inside) for i, _ in pairs])
        flat = self.quantiles.reshape(len(self.quantiles), -1)
        return np.asarray(flat[self.index[some]][:, columns])


def _ends(values: Values) -> Values:
    """Sort out the ends of the equal-tailed 95 % intervals, shape ``(rounds, 2)``."""
    at = [share * values.shape[1] - 0.5 for share in (0.025, 0.975)]
    low = [int(each) for each in at]
    ordered = np.partition(values, [*low, *(each + 1 for each in low)], axis=1)
    return np.stack(
        [
            ordered[:, i] + (each - i) * (ordered[:, i + 1] - ordered[:, i])
            for i, each in zip(low, at, strict=True)
        ],
        axis=1,
    )


def random_sampling(whole: Population) -> int:
    """Labels of a plain random sample by Wilson's interval at the expected counts."""
    up = whole.score >= whole.threshold
    found = float(whole.rate[up].sum())
    shares = [(found / up.sum(), up.mean()), (found / whole.rate.sum(), whole.rate.mean())]
    needed = 0.0
    for share, kept in shares:
        n = np.arange(50, 5000)
        spread = share * (1 - share) / n + Z**2 / (4 * n**2)
        width = Z * np.sqrt(spread) / (1 + Z**2 / n)
        needed = max(needed, float(n[np.argmax(width <= MARGIN)] / kept))
    return math.ceil(needed)


def _say(text: str, design: Design, plan: Plan, replicates: int) -> None:
    labels = fitted(plan, design, replicates)
    asked = int(plan(dict.fromkeys(METRICS, MARGIN)).sum())
    width, cover = simulated(replace(design, labeled=labels), replicates, seed=2)
    print(
        f"{text:<34}{labels.sum():>7}{labels[: design.flagged].sum():>8}{asked:>8}"
        f"   {width[0]:.4f} {width[1]:.4f}   {cover[0]:.3f} {cover[1]:.3f}"
    )
