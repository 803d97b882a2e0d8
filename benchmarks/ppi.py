"""Precision with a judge: its verdict as a stratum, beside Stratified PPI++.

Flagged items of the first classifier of Shang et al. 2023, with a verdict on each.
`strata` are ours: score cells cut by the verdict, labels planned by six rounds of their own before.
`ppi` corrects the mean of all verdicts by the labels (Fisch et al., NeurIPS 2024), within bands of
the score, labels at random or by Neyman's rule for the proxy; the better one of 1, 4 bands and both
rules is shown. `worth` is how many plain labels would have the same mean squared error, `failed`
the share of samples to which GLIDE gives no interval. Needs `glide-py` and Python 3.12.

`--by-class`: precision and recall of the processes of `fresh_windows`, PPI++ in each predicted
class, with labels at random in it. Recall is the ratio of the estimated totals, with the delta
method. Shown is its best, by the product of both errors, of two proxies, the verdict and the true
rate of each stratum, and of an eighth, a quarter and a half of the labels for flagged items.
Of precision and recall by both: the root of the mean squared error, the half-width, and the share
of intervals that hold the process's value. Needs no GLIDE.
"""

import importlib
import math
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import special

from benchmarks.cells import cut
from benchmarks.fresh_windows import METRICS, POINTS, SETTINGS, Process, ends
from benchmarks.harness import Values, Whole
from benchmarks.judge import HALF, JUDGES, JudgedDesign, judged
from benchmarks.strata import population
from monitor.domain.model import Verdict
from monitor.stats.core.metrics import metric
from monitor.stats.core.sampled_sizes import with_size_noise
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.estimation.cell_matrix import matrix_draws, weighted_matrix

ITEMS, HISTORY, DECAY = 3_300, 6, 0.8
LABELS_PER_CELL = 12  # six in each verdict's
SHOWN = ("TPR .8, FPR .02", "TPR .9, FPR .01", "shares mistakes", "useless")
ENDS = (0.025, 0.975)
OF_WINDOWS = ("useless", ".8 .02", ".95 .01", "shares mistakes")
SHARES = (0.125, 0.25, 0.5)


class Sample(NamedTuple):
    """Points and ends of many samples; NaN where there is none."""

    point: Values
    low: Values
    high: Values


def main(
    replicates: int = 1000,
    labels: tuple[int, ...] = (50, 100, 200),
    scores: tuple[str, ...] = ("weak", "good"),
    seed: int = 1,
    *,
    by_class: bool = False,
) -> None:
    """Print a line for each judge, score and number of labels."""
    if by_class:
        print_by_class(replicates, seed)
        return
    print(f"{'':28}labels   strata: worth covered width    ppi: worth covered width failed")
    for score in scores:
        for judge in SHOWN:
            for count in labels:
                cells = (max(1, min(HALF[0], count // LABELS_PER_CELL)), HALF[1])
                design = judged(cut(population("Phi1", score), cells), JUDGES[judge])
                rng = np.random.default_rng((seed, count))
                ours, theirs = compared(design, count, replicates, rng)
                print(f"{score} {judge:<23}{count:6}   {ours}      {theirs}")


def compared(
    design: JudgedDesign, labels: int, replicates: int, rng: np.random.Generator
) -> tuple[str, str]:
    """Describe both methods on windows of the same law."""
    up = design.is_flagged
    share, rate = design.size[up] / design.size[up].sum(), design.rate[up]
    size = np.maximum(np.rint(ITEMS * share), 1).astype(np.int64)
    ours = Sample(*np.array([strata(design, size, labels, rng) for _ in range(replicates)]).T)
    yes, band = design.cut.terms[up, 0] > 0, design.cut.position[up]
    ways = [
        Sample(
            *np.array(
                [ppi(size, rate, yes, groups, labels, rule, rng) for _ in range(replicates)]
            ).T
        )
        for groups in (np.zeros_like(band), band * 4 // (band.max() + 1))
        for rule in ("proportional", "neyman")
    ]
    truth = float(size @ rate / size.sum())
    best = min(ways, key=lambda way: np.isnan(way.low).mean() + _error(way, truth))
    failed = float(np.isnan(best.low).mean())
    return _text(ours, truth), f"{_text(best, truth)}{failed:7.2f}"


def _error(sample: Sample, truth: float) -> float:
    return float(np.nanmean((sample.point - truth) ** 2))


def _text(sample: Sample, truth: float) -> str:
    there = ~np.isnan(sample.low)
    held = (sample.low <= truth) & (truth <= sample.high)
    worth = truth * (1 - truth) / _error(sample, truth)
    half = float(np.nanmean(sample.high - sample.low)) / 2
    return f"{worth:13.0f}{held[there].mean():8.3f}{half:6.3f}"


def strata(design: JudgedDesign, size: Whole, labels: int, rng: np.random.Generator) -> Values:
    """Estimate by the verdict as a stratum, after rounds of as many labels."""
    up = design.is_flagged
    rate, whole = design.rate[up], np.zeros((2, len(up)))
    even = systematic_sizes(labels * size / size.sum(), np.array([rng.random()]))[0]
    plan = np.minimum(even, size)
    for _ in range(HISTORY):
        whole[:, up] = DECAY * whole[:, up] + [plan, rng.binomial(plan, rate)]
        guess = np.where(up, design.recalibrated(*whole), design.rate)
        wanted = expected_sizes(
            design.size, up, np.clip(guess, 1e-6, 1 - 1e-6), labels=10 * labels, share=0.25
        )[up]
        wanted = np.minimum(wanted * labels / wanted.sum(), size)
        plan = np.minimum(systematic_sizes(wanted, np.array([rng.random()]))[0], size)
    found = cell_counts(size, plan, rng.binomial(plan, rate))
    worth, positive = float(found.labeled[0]), float(found.positive[0])
    low, high = special.betaincinv(0.5 + positive, 0.5 + worth - positive, ENDS)
    return np.array([positive / worth, low, high])


def ppi(
    size: Whole,
    rate: Values,
    yes: Values,
    groups: Whole,
    labels: int,
    rule: str,
    rng: np.random.Generator,
) -> Values:
    """Estimate by Stratified PPI++ on one window."""
    glide = importlib.import_module("glide.estimators"), importlib.import_module("glide.samplers")

    proxy, group = np.repeat(yes, size).astype(float), np.repeat(groups, size)
    truth = (rng.random(len(proxy)) < np.repeat(rate, size)).astype(float)
    try:
        chosen = (
            glide[1]
            .StratifiedSampler()
            .sample(proxy, group, labels, strategy=rule, random_seed=int(rng.integers(2**31)))
        )
        labeled = np.where(chosen == 1, truth, np.nan)
        interval = (
            glide[0]
            .StratifiedPPIMeanEstimator()
            .estimate(labeled, proxy, group)
            .confidence_interval
        )
    except ValueError:
        return np.full(3, np.nan)
    return np.array([interval.mean, interval.lower_bound, interval.upper_bound])


def print_by_class(replicates: int, seed: int) -> None:
    """Print a line for each setting and judge of `fresh_windows`."""
    ways = [f"{of} {who}" for of in ("P", "R") for who in ("ours", "ppi++")]
    heads = "".join(f"{way:>9}{'half':>6}{'held':>6}" for way in ways)
    print(f"{'items flagged labels, judge':<32}{heads}")
    for setting, judge in product(SETTINGS, OF_WINDOWS):
        process, labels = Process.of(setting, judge), int(setting.split()[2])
        rng = np.random.default_rng(seed)
        ours = of_strata(process, replicates, rng)
        theirs = list(of_classes(process, labels, replicates, rng))
        truths = [float(each) for each in process.truth]
        best = min(theirs, key=lambda way: math.prod(map(_error, way, truths)))
        cells = ""
        for truth, *both in zip(truths, ours, best, strict=True):
            cells += "".join(_figures(way, truth) for way in both)
        print(f"{f'{setting}, {judge}':<32}{cells}", flush=True)


def _figures(sample: Sample, truth: float) -> str:
    held = (sample.low <= truth) & (truth <= sample.high)
    half = float((sample.high - sample.low).mean()) / 2
    return f"{_error(sample, truth) ** 0.5:9.3f}{half:6.3f}{held.mean():6.2f}"


def of_strata(process: Process, replicates: int, rng: np.random.Generator) -> list[Sample]:
    """Estimate precision and recall of the process by verdicts as strata."""
    rows = []
    for _ in range(replicates):
        counts = process.drawn(rng).counts
        matrix = matrix_draws(counts, seed=1, points=POINTS, cells=True).of("rate")
        low, high = ends(with_size_noise(matrix, counts, seed=1))
        scaled = weighted_matrix(counts)
        rows.append([[float(metric(name)(scaled)) for name in METRICS], low, high])
    return [Sample(*each) for each in np.moveaxis(np.array(rows), 0, -1).swapaxes(0, 1)]


def of_classes(
    process: Process, labels: int, replicates: int, rng: np.random.Generator
) -> Iterator[list[Sample]]:
    """Estimate precision and recall by PPI++ in each class, in each way."""
    verdict = np.array([float(one is Verdict.YES) for one in process.verdict])
    size = rng.multinomial(process.items, process.chance, replicates)
    for share, proxy in product(SHARES, (verdict, process.rate)):
        parts = []
        for of, part in ((process.is_flagged, share), (~process.is_flagged, 1 - share)):
            items = size[:, of]
            count = np.minimum(round(part * labels), items.sum(axis=1) - 2)
            each = zip(items, count, strict=True)
            labeled = np.array([rng.multivariate_hypergeometric(*window) for window in each])
            positive = rng.binomial(labeled, process.rate[of])
            found = ppi_mean(items - labeled, labeled, positive, proxy[of])
            parts.append((items.sum(axis=1), *found))
        total, mean, variance = np.array(parts).swapaxes(0, 1)
        yield [_interval(mean[0], variance[0]), _recall(total, mean, variance)]


def ppi_mean(
    others: Whole, labeled: Whole, positive: Whole, proxy: Values
) -> tuple[Values, Values]:
    """Estimate a mean by PPI++ (Angelopoulos, Bates & Zrnic, arXiv 2311.01453), and its variance.

    Unlabeled and labeled items and positives of strata with one proxy each, ``(samples, H)``.
    """
    m, n = others.sum(axis=1), labeled.sum(axis=1)
    of_others, of_labeled = others @ proxy / m, labeled @ proxy / n
    every = others + labeled
    spread = every @ proxy**2 / (m + n) - (every @ proxy / (m + n)) ** 2
    both = positive @ proxy / n - of_labeled * positive.sum(axis=1) / n
    trust = np.divide(both, spread * (1 + n / m), out=np.zeros(len(n)), where=spread > 0)
    trust = np.clip(trust, 0, 1)
    shown = trust[:, np.newaxis] * proxy
    left = (positive.sum(axis=1) - (labeled * shown).sum(axis=1)) / n
    squares = (positive * (1 - shown) ** 2 + (labeled - positive) * shown**2).sum(axis=1) / n
    of_proxy = others @ proxy**2 / m - of_others**2
    variance = (squares - left**2) / (n - 1) + trust**2 * of_proxy / (m - 1)
    return trust * of_others + left, variance


def _recall(total: Values, mean: Values, variance: Values) -> Sample:
    """Divide the flagged total by both, with the delta method; the sizes of classes vary too."""
    (tp, fn), (of_tp, of_fn) = total * mean, total**2 * variance
    recall, positives = tp / (tp + fn), tp + fn
    of_sizes = (recall * (1 - recall)) ** 2 * (1 / total).sum(axis=0)
    return _interval(recall, (fn**2 * of_tp + tp**2 * of_fn) / positives**4 + of_sizes)


def _interval(point: Values, variance: Values) -> Sample:
    half = special.ndtri(ENDS[1]) * np.sqrt(np.maximum(variance, 0))
    return Sample(point, np.clip(point - half, 0, 1), np.clip(point + half, 0, 1))
