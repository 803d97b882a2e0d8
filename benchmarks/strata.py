"""Simulated classifiers: their scores, items cut by score, labels, rates after a metric moved.

Those of Shang et al. 2023, Table 4: logit p ~ N(mu, sigma^2), y ~ Bernoulli(p), flagged where
p >= t.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from benchmarks.harness import Flags, Values, Whole
from monitor.stats.design.allocation import allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.score_bands import band_edges, band_of

CLASSIFIERS = {
    "Phi1": (-8.898, 5.160, 0.4768),
    "Phi2": (-9.074, 5.179, 0.6275),
    "Phi3": (-0.649, 3.137, 0.7047),
}
"""Mean and standard deviation of the log odds, and threshold."""

METRICS = ("precision", "recall")
MARGIN = 0.05
ITEMS = 200_000  # items that are drawn, or quantiles that stand for all
SCALE = 10**6  # items per quantile in a plan, so that no stratum is small

Class = tuple[Values, Sequence[float], *tuple[Values | Flags, ...]]
"""Scores of the items of a predicted class, inner edges, and what is averaged over each stratum."""


def drawn_scores(classifier: str = "Phi1", *, moved: float = 0.0) -> tuple[Values, Flags]:
    """Draw the scores of items once, and which are flagged, after all log odds moved."""
    mean, deviation, threshold = CLASSIFIERS[classifier]
    logit = np.random.default_rng(2023).normal(mean, deviation, ITEMS)
    p = special.expit(logit + moved)
    return p, p >= threshold


def cut_classes(classes: Iterable[Class]) -> tuple[Flags, Whole, list[Values]]:
    """Cut the flagged and the passed items: class, size and means of each stratum, ``(H,)``."""
    parts = []
    for score, edges, *columns in classes:
        stratum = band_of(score, edges)
        size = np.bincount(stratum)
        parts.append((size, *(np.bincount(stratum, weights=each) / size for each in columns)))
    size, *means = (np.concatenate(each) for each in zip(*parts, strict=True))
    return np.arange(len(size)) < len(parts[0][0]), size, means


def drawn_strata(classifier: str, bands: Sequence[int]) -> tuple[Flags, Whole, Values]:
    """Cut drawn items into so many bands of each class: class, size and true rate, ``(H,)``."""
    p, up = drawn_scores(classifier)
    is_flagged, size, (rate,) = cut_classes(
        (p[of], band_edges(p[of], count), p[of]) for of, count in zip((up, ~up), bands, strict=True)
    )
    return is_flagged, size, rate


def shared_out(
    size: Values | Whole, rate: Values, is_flagged: Flags, labels: Sequence[int]
) -> Whole:
    """Share labels out in each class by size times the spread of a label, about ten at least."""
    spread, labeled = size * np.sqrt(rate * (1 - rate)), np.zeros(len(size), dtype=np.int64)
    for of, total in zip((is_flagged, ~is_flagged), labels, strict=True):
        share = np.maximum(10.0, total * spread[of] / spread[of].sum())
        labeled[of] = share * total / share.sum()
    return labeled


def shifted(logit: Values, mean: float) -> Values:
    """Probabilities of this mean whose log odds are those given but for a common shift."""

    def gap(shift: float) -> float:
        return float(special.expit(shift + logit).mean()) - mean

    return np.asarray(special.expit(optimize.brentq(gap, -100, 100) + logit))


def moved_to(
    size: Values | Whole,
    is_flagged: Flags,
    rates: Values,
    metrics: Mapping[str, Values | float],
    most: float = 0.999,
) -> Values:
    """Rates at which metrics have these values: wrong answers of a class grow by one factor.

    ``rates`` have the shape ``(..., H)``, and precision and recall ``(..., 1)``; no wrong answer
    becomes likelier than ``most``. Where precision alone moves, misses stay as they are.
    """
    up, now = is_flagged, rates
    if "precision" in metrics:
        before = (size * rates)[..., up].sum(axis=-1, keepdims=True) / size[up].sum()
        wrong = np.minimum((1 - metrics["precision"]) / (1 - before) * (1 - rates), most)
        now = np.where(up, 1 - wrong, rates)
    if "recall" in metrics:
        found, missed = ((size * now)[..., of].sum(axis=-1, keepdims=True) for of in (up, ~up))
        lost = np.minimum(found * (1 / metrics["recall"] - 1) / missed * rates, most)
        now = np.where(up, now, lost)
    return now


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

    def allocated(self, known: PriorRates, *, uniform: float, **how: Any) -> Whole:
        """Labels that the monitor plans by what is known."""
        window = Prospect.of(self.size, self.is_flagged, known, uniform=uniform)
        return allocate(window, **how).labels


@dataclass(frozen=True, eq=False)
class Population:
    """Scores, true rates at them, and the threshold."""

    score: Values
    rate: Values
    threshold: float

    def bands(self, count: tuple[int, int]) -> Strata:
        """Cut into bands by score."""
        is_flagged, size, rate, _ = self.cut(band_edges, count)
        return Strata(size * SCALE, rate, is_flagged)

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
    """Make a classifier whose score is good or, within each class, worse.

    A `weak` score is four times over-confident, an `inverted` one has the opposite order, and an
    `overconfident` one claims twice the log odds.
    """
    mu, sigma, threshold = CLASSIFIERS[name]
    p = special.expit(mu + sigma * special.ndtri((np.arange(ITEMS) + 0.5) / ITEMS))
    rate = p.copy()
    for mine in (p >= threshold, p < threshold):
        mean = float(p[mine].mean())
        if score == "weak":
            rate[mine] = mean + 0.25 * (p[mine] - mean)
        elif score == "inverted":
            rate[mine] = p[mine][::-1]
        elif score == "overconfident":
            rate[mine] = shifted(special.logit(p[mine]) / 2, mean)
    return Population(p, rate, threshold)
