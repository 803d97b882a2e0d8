"""Precision and recall with a judge, beside PPI++ in each predicted class.

The processes of `fresh_windows`, with labels of one round; `ours` has verdicts as strata. PPI++
corrects the mean of all verdicts by the labels, which are at random in a class. Recall is the ratio
of the estimated totals, with the delta method. Shown is its best, by the product of both errors, of
two proxies, the verdict and the true rate of each stratum, and of an eighth, a quarter and a half
of the labels for flagged items. Of precision and recall by both: the root of the mean squared
error, the half-width, and the share of intervals that hold the process's value.
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import special

from benchmarks.fresh_windows import METRICS, POINTS, SETTINGS, Process, ends
from benchmarks.harness import Values, Whole
from monitor.domain.model import Verdict
from monitor.stats.core.metrics import metric
from monitor.stats.core.sampled_sizes import with_size_noise
from monitor.stats.estimation.cell_matrix import matrix_draws, weighted_matrix

ENDS = (0.025, 0.975)
JUDGES = ("useless", ".8 .02", ".95 .01", "shares mistakes")
SHARES = (0.125, 0.25, 0.5)


class Sample(NamedTuple):
    """Points and ends of many samples; NaN where there is none."""

    point: Values
    low: Values
    high: Values


def main(replicates: int = 1000, seed: int = 1) -> None:
    """Print a line for each setting and judge of `fresh_windows`."""
    ways = [f"{of} {who}" for of in ("P", "R") for who in ("ours", "ppi++")]
    heads = "".join(f"{way:>9}{'half':>6}{'held':>6}" for way in ways)
    print(f"{'items flagged labels, judge':<32}{heads}")
    for setting, judge in product(SETTINGS, JUDGES):
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


def _error(sample: Sample, truth: float) -> float:
    return float(np.nanmean((sample.point - truth) ** 2))


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
