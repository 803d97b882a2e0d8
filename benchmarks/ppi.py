"""Precision with a judge: its verdict as a stratum, beside Stratified PPI++ of GLIDE.

Flagged items of the first classifier of Shang et al. 2023, with a verdict on each.
`strata` are ours: score cells cut by the verdict, labels planned by six rounds of their own before.
`ppi` corrects the mean of all verdicts by the labels (Fisch et al., NeurIPS 2024), within bands of
the score, labels at random or by Neyman's rule for the proxy; the better one of 1, 4 bands and both
rules is shown. `worth` is how many plain labels would have the same mean squared error, `failed`
the share of samples to which GLIDE gives no interval. Needs `glide-py` and Python 3.12.
"""

import importlib
from typing import NamedTuple

import numpy as np
from scipy import special

from benchmarks.cells import cut, scored
from benchmarks.harness import Values, Whole
from benchmarks.judge import HALF, JUDGES, JudgedDesign, judged
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes

ITEMS, HISTORY, DECAY = 3_300, 6, 0.8
LABELS_PER_CELL = 12  # six in each verdict's
SHOWN = ("TPR .8, FPR .02", "TPR .9, FPR .01", "shares mistakes", "useless")
ENDS = (0.025, 0.975)


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
) -> None:
    """Print a line for each judge, score and number of labels."""
    print(f"{'':28}labels   strata: worth covered width    ppi: worth covered width failed")
    for score in scores:
        for judge in SHOWN:
            for count in labels:
                cells = (max(1, min(HALF[0], count // LABELS_PER_CELL)), HALF[1])
                design = judged(cut(scored("Phi1", score), cells), JUDGES[judge])
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
