"""Time of a core to pool a year of weekly rounds from scratch: 3 flagged + 5 passed strata.

Run with ``python -m benchmarks pooling_speed`` from the root of the repository.
"""

import time

import numpy as np

from monitor.stats.history.change_point import pool

ROUNDS, REPEATS = 52, 20
FLAGGED_RATE, PASSED_RATE = [0.6, 0.8, 0.95], [0.0005, 0.002, 0.01, 0.05, 0.2]


def main() -> None:
    """Print the median and the slowest of twenty runs."""
    rng = np.random.default_rng(20260101)
    histories = []
    for rates, labels in ((FLAGGED_RATE, 67), (PASSED_RATE, 210)):
        labeled = np.full((ROUNDS, len(rates)), labels)
        positive = rng.binomial(labeled, rates)
        histories.append(list(zip(positive, labeled, strict=True)))
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        for history in histories:
            pool(history)
        taken.append(time.process_time() - start)
    print(
        f"pool {ROUNDS} rounds of 3+5 strata from scratch: "
        f"median {1e3 * float(np.median(taken)):.1f} ms, slowest {1e3 * max(taken):.1f} ms"
    )
