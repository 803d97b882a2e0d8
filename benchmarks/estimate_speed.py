"""How much an estimate costs beside the Beta quantiles it draws, each found by scipy.

Run ``python -m benchmarks estimate_speed``. It times, in turn, the estimate of precision and
recall for 3 flagged and 5 passed strata (``rate`` estimand) and the bare quantile calls on as
many points, and prints the medians of their processor time and their ratio, which is to stay
under 2.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy import special
from scipy.stats import qmc

from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import POINTS, round_posterior
from monitor.stats.estimation.posterior import estimate

COUNTS = Counts.of_arrays(
    size=[20_000, 14_000, 12_000, 600_000, 220_000, 100_000, 50_000, 30_000],
    labeled=[60, 60, 80, 60, 120, 200, 300, 370],
    positive=[57, 48, 45, 0, 1, 4, 17, 60],
    is_flagged=[True] * 3 + [False] * 5,
)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(repeats: int = 15) -> None:
    """Time both, one after the other, and print medians and ratio."""
    posterior = round_posterior(COUNTS)
    alpha = np.concatenate([posterior.flagged.alpha[0], posterior.passed.alpha[0]])
    beta = np.concatenate([posterior.flagged.beta[0], posterior.passed.beta[0]])
    uniforms = qmc.Sobol(len(alpha), scramble=True, rng=0).random(POINTS)

    pairs = [
        (
            seconds(lambda: estimate(COUNTS)),
            seconds(lambda: special.betaincinv(alpha, beta, uniforms)),
        )
        for _ in range(repeats)
    ]
    whole, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)

    print(f"{len(alpha)} strata, {POINTS} points, {repeats} interleaved repeats, medians")
    print(f"estimate of precision and recall  {1000 * whole:8.1f} ms")
    print(f"Beta quantiles alone              {1000 * bare:8.1f} ms")
    print(f"ratio                             {ratio:8.2f}")
