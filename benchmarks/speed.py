"""Processor time of an estimate of 3 + 5 strata, beside its Beta quantiles, and of pooling."""

import statistics

import numpy as np
from scipy import special
from scipy.stats import qmc

from benchmarks.harness import timed
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import POINTS, round_posterior
from monitor.stats.estimation.posterior import estimate
from monitor.stats.history.change_point import pool

COUNTS = Counts.of_arrays(
    size=[20_000, 14_000, 12_000, 600_000, 220_000, 100_000, 50_000, 30_000],
    labeled=[60, 60, 80, 60, 120, 200, 300, 370],
    positive=[57, 48, 45, 0, 1, 4, 17, 60],
    is_flagged=[True] * 3 + [False] * 5,
)
ROUNDS = 52
FLAGGED_RATE, PASSED_RATE = [0.6, 0.8, 0.95], [0.0005, 0.002, 0.01, 0.05, 0.2]


def main(repeats: int = 15) -> None:
    """Print medians of estimates and quantiles, in turn, and of pooling a year of weekly rounds."""
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
    rng, histories = np.random.default_rng(20260101), []
    for rates, labels in ((FLAGGED_RATE, 67), (PASSED_RATE, 210)):
        labeled = np.full((ROUNDS, len(rates)), labels)
        histories.append(list(zip(rng.binomial(labeled, rates), labeled, strict=True)))
    taken = [timed(lambda: [pool(each) for each in histories])[0] for _ in range(repeats)]
    print(
        f"pool {ROUNDS} rounds of 3+5 strata from scratch: "
        f"median {1e3 * statistics.median(taken):.1f} ms, slowest {1e3 * max(taken):.1f} ms"
    )
