"""Coverage of what is read from one stratified sample beside the classifier itself.

Other thresholds, a second classifier that sees logit p with noise, and curves, on samples whose
strata were made for none of them: how often intervals hold the truth, how much narrower a paired
difference is than that of two samples, and what a counted number of flagged items adds.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from monitor.stats.core.counts import Interval
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.curves.gain import area_under_gain, gain_curve
from monitor.stats.curves.weighted_curves import area_under_roc, average_precision, roc_curve
from monitor.stats.design.score_bands import band_edges, band_of
from monitor.stats.estimation.paired import compare, compare_threshold

MEAN, SPREAD, THRESHOLD = -8.898, 5.160, 0.4768
NOISE = 1.5
LABELS = ((200, 1050), (60, 300))
THRESHOLDS = (0.2, 0.35, 0.65, 0.9)
CURVE_ROUNDS = 3
"""Curves are drawn in every third round: bands take much longer than a comparison."""


@dataclass(frozen=True)
class Population:
    """Items of a window: score, truth, stratum, and whether the second classifier flags them."""

    score: np.ndarray
    positive: np.ndarray
    second: np.ndarray
    stratum: np.ndarray
    size: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def sampled(self, chosen: np.ndarray, size: np.ndarray) -> ScoredSample:
        """Take these items as the labeled sample of strata of these sizes."""
        items = LabeledSample(self.stratum[chosen], self.positive[chosen], size=size, flagged=3)
        return ScoredSample(items, self.score[chosen], low=self.low, high=self.high)


def make_population(items: int, rng: np.random.Generator) -> Population:
    """Draw the items and cut them into strata."""
    logit = rng.normal(MEAN, SPREAD, items)
    score = special.expit(logit)
    positive = rng.random(items) < score
    flagged = score >= THRESHOLD
    noisy = logit + rng.normal(0, NOISE, items)
    second = noisy >= np.quantile(noisy, 1 - flagged.mean())
    edges = [band_edges(score[flagged], 3), band_edges(score[~flagged], 5)]
    stratum = np.where(flagged, band_of(score, edges[0]), 3 + band_of(score, edges[1]))
    return Population(
        score=score,
        positive=positive,
        second=second,
        stratum=stratum,
        size=np.bincount(stratum, minlength=8),
        low=np.array([THRESHOLD, *edges[0], -np.inf, *edges[1]]),
        high=np.array([*edges[0], np.inf, *edges[1], THRESHOLD]),
    )


def allotted(population: Population, labels: tuple[int, int]) -> np.ndarray:
    """Labels of each stratum, at least 10."""
    rate = np.bincount(population.stratum, population.positive) / population.size
    need = population.size * np.sqrt(rate * (1 - rate))
    shares = np.where(np.arange(8) < 3, need / need[:3].sum(), need / need[3:].sum())
    wanted = np.where(np.arange(8) < 3, *labels) * shares
    return np.asarray(np.clip(np.round(wanted), 10, population.size), dtype=np.int64)


def metrics_of(population: Population, flags: np.ndarray) -> dict[str, float]:
    """Compute the true values of a classifier that flags these items."""
    tp, flagged = (population.positive & flags).sum(), flags.sum()
    precision, recall = tp / flagged, tp / population.positive.sum()
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * tp / (flagged + population.positive.sum()),
    }


@dataclass
class Tally:
    """Intervals against a truth."""

    under: int = 0
    over: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, interval: Interval | None, truth: float) -> None:
        """Note one interval."""
        if interval is None:
            message = "every round of this population has a value"
            raise AssertionError(message)
        self.under += truth > interval.high
        self.over += truth < interval.low
        self.widths.append(interval.high - interval.low)

    def line(self) -> str:
        """Say coverage with its standard error, both tails and the mean width."""
        n = len(self.widths)
        held = 1 - (self.under + self.over) / n
        error = np.sqrt(held * (1 - held) / n)
        tails = f"{self.over / n:.3f}/{self.under / n:.3f}"
        return f"{held:.3f} ({error:.3f})  {tails}  {np.mean(self.widths):.4f}"


def play_rates(population: Population, labels: tuple[int, int], rounds: int, seed: int) -> None:
    """Compare against the rates: items drawn from an endless population of these strata."""
    rng = np.random.default_rng(seed)
    order = np.argsort(population.stratum, kind="stable")
    start = np.concatenate([[0], np.cumsum(population.size)[:-1]])
    counts = allotted(population, labels)
    first = metrics_of(population, population.score >= THRESHOLD)
    other = {t: metrics_of(population, population.score >= t) for t in THRESHOLDS}
    second = metrics_of(population, population.second)
    tallies: dict[str, Tally] = defaultdict(Tally)
    apart: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds):
        drawn = start.repeat(counts) + (
            rng.random(counts.sum()) * population.size.repeat(counts)
        ).astype(int)
        chosen = order[drawn]
        sample = population.sampled(chosen, population.size)
        both = (sample.items, sample.items.is_flagged, population.second[chosen])
        for t in THRESHOLDS:
            for paired in compare_threshold(sample, t, rng=rng, draws=2048).metrics:
                truth = other[t][paired.metric]
                tallies[f"threshold {t}: {paired.metric}"].add(paired.second, truth)
                tallies[f"threshold {t}: {paired.metric} difference"].add(
                    paired.difference, truth - first[paired.metric]
                )
        for name, counted in (("", None), (", flagged counted", int(population.second.sum()))):
            comparison = compare(*both, second_flagged=counted, rng=rng, draws=2048)
            for paired in comparison.metrics:
                truth = second[paired.metric]
                if counted is None:
                    tallies[f"first: {paired.metric}"].add(paired.first, first[paired.metric])
                tallies[f"second{name}: {paired.metric}"].add(paired.second, truth)
                label = f"second{name}: {paired.metric} difference"
                tallies[label].add(paired.difference, truth - first[paired.metric])
                one, two = (
                    tallies[f"{of}: {paired.metric}"].widths[-1] for of in ("first", "second")
                )
                apart[label].append(float(np.hypot(one, two)))
        if number % CURVE_ROUNDS == 0:
            add_curves(tallies, population, sample, rng)
    say(f"rates, {labels[0]} + {labels[1]} labels", tallies, apart)


def add_curves(
    tallies: dict[str, Tally],
    population: Population,
    sample: ScoredSample,
    rng: np.random.Generator,
) -> None:
    """Areas and three places of each band."""
    truth = whole_curves(population)
    bands = curve_bands(sample, rng=rng)
    for name in ("roc_area", "average_precision", "gain_area"):
        tallies[f"curve: {name}"].add(getattr(bands, name), truth[name])
    recall = bands.precision_recall
    for i in (10, 20, 30):
        at = np.interp(recall.x[i], truth["tpr"], truth["fpr"])
        precision = 1 / (1 + at / recall.x[i] * (1 / truth["prevalence"] - 1))
        band = Interval(recall.point[i], recall.low[i], recall.high[i])
        tallies[f"curve: precision at recall {recall.x[i]:.2f}"].add(band, precision)


_WHOLE: dict[int, dict[str, Any]] = {}


def whole_curves(population: Population) -> dict[str, Any]:
    """Compute the curves of the whole population, once."""
    if id(population) not in _WHOLE:
        everything = np.arange(len(population.score))
        roc = roc_curve(population.sampled(everything, population.size))
        _WHOLE[id(population)] = {
            "tpr": roc.tpr,
            "fpr": roc.fpr,
            "prevalence": roc.prevalence,
            "roc_area": area_under_roc(roc),
            "average_precision": average_precision(roc),
            "gain_area": area_under_gain(gain_curve(roc)),
        }
    return _WHOLE[id(population)]


def play_windows(labels: tuple[int, int], rounds: int, seed: int) -> None:
    """Compare against the window's own items: a new window of 20,000 in every round."""
    rng = np.random.default_rng(seed)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for _ in range(rounds):
        population = make_population(20_000, rng)
        counts = allotted(population, labels)
        order = np.lexsort((rng.random(len(population.score)), population.stratum))
        start = np.concatenate([[0], np.cumsum(population.size)[:-1]])
        chosen = np.concatenate([order[a : a + n] for a, n in zip(start, counts, strict=True)])
        sample = population.sampled(chosen, population.size)
        both = (sample.items, sample.items.is_flagged, population.second[chosen])
        found = {
            "threshold 0.65": (
                compare_threshold(sample, 0.65, estimand="window", rng=rng, draws=2048),
                population.score >= 0.65,
            ),
            "second": (compare(*both, estimand="window", rng=rng, draws=2048), population.second),
        }
        first = metrics_of(population, population.score >= THRESHOLD)
        for name, (comparison, flags) in found.items():
            truth = metrics_of(population, flags)
            for paired in comparison.metrics:
                difference = truth[paired.metric] - first[paired.metric]
                tallies[f"{name}: {paired.metric}"].add(paired.second, truth[paired.metric])
                tallies[f"{name}: {paired.metric} difference"].add(paired.difference, difference)
    say(f"windows of 20,000, {labels[0]} + {labels[1]} labels", tallies, {})


def say(title: str, tallies: dict[str, Tally], apart: dict[str, list[float]]) -> None:
    """Print one table."""
    print(f"\n{title}")
    print(f"{'':47} {'holds (se)':14} {'over/under':12} width   of two samples")
    for name in sorted(tallies):
        beside = f"  {np.mean(apart[name]):.4f}" if name in apart else ""
        print(f"{name:47} {tallies[name].line()}{beside}")


def main(rounds: int = 300, seed: int = 1) -> None:
    """Run all cases."""
    population = make_population(2_000_000, np.random.default_rng(seed))
    for i, labels in enumerate(LABELS):
        play_rates(population, labels, rounds, seed + 1 + i)
    play_windows(LABELS[0], rounds, seed + 9)
