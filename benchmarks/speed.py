"""Processor time of an estimate of 3 + 5 strata, beside its Beta quantiles."""

import statistics

import numpy as np
from scipy import special
from scipy.stats import qmc

from benchmarks.harness import timed
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import POINTS, round_posterior
from monitor.stats.estimation.posterior import estimate

COUNTS = Counts.of_arrays(
    size=[20_000, 14_000, 12_000, 600_000, 220_000, 100_000, 50_000, 30_000],
    labeled=[60, 60, 80, 60, 120, 200, 300, 370],
    positive=[57, 48, 45, 0, 1, 4, 17, 60],
    is_flagged=[True] * 3 + [False] * 5,
)


def main(repeats: int = 15) -> None:
    """Print medians of estimates and quantiles, in turn."""
    posterior = round_posterior(COUNTS)
    alpha = np.concatenate([posterior.flagged.alpha[0], posterior.passed.alpha[0]])
    beta = np.concatenate([posterior.flagged.beta[0], posterior.passed.beta[0]])
    uniforms = qmc.Sobol(len(alpha), scramble=True, rng=0).random(POINTS)
    works = [lambda: estimate(COUNTS), lambda: special.betaincinv(alpha, beta, uniforms)]
    pairs = [[timed(work)[0] for work in works] for _ in range(repeats)]
    whole, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{len(alpha)} strata, {POINTS} points, {repeats} interleaved repeats, medians")
    print(f"estimate of precision and recall  {1000 * whole:8.1f} ms")
    print(f"Beta quantiles alone              {1000 * bare:8.1f} ms")
    print(f"ratio                             {statistics.median(a / b for a, b in pairs):8.2f}")
