"""Simulated classifiers: their scores, items cut by score, labels, rates after a metric moved."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import optimize, special

from benchmarks.harness import Flags, Values, Whole
from monitor.stats.design.score_bands import band_edges, band_of

CLASSIFIERS = {
    "Phi1": (-8.898, 5.160, 0.4768),
    "Phi2": (-9.074, 5.179, 0.6275),
    "Phi3": (-0.649, 3.137, 0.7047),
}
"""Mean and standard deviation of the log odds, and threshold: Table 4 of Shang et al. 2023."""

Class = tuple[Values, Sequence[float], *tuple[Values | Flags, ...]]
"""Scores of the items of a predicted class, inner edges, and what is averaged over each stratum."""


def drawn_scores(classifier: str = "Phi1", *, moved: float = 0.0) -> tuple[Values, Flags]:
    """Draw the scores of 200,000 items once, and which are flagged, after all log odds moved."""
    mean, deviation, threshold = CLASSIFIERS[classifier]
    logit = np.random.default_rng(2023).normal(mean, deviation, 200_000)
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
