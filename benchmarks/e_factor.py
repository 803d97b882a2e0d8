"""Whether a round's e-factor has a mean of at most 1 wherever the limit is kept.

Two strata: every possible sample is enumerated. Five strata: the mean factorises over labels, so
it is exact at each of 100,000 sets of rates per limit, half of them on the limit.
"""

import numpy as np
from scipy import special

from benchmarks.harness import Values, Whole
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import ERRORS, alternatives, steps
from monitor.stats.detection.e_detector import log_e_factor, log_mixed
from monitor.stats.detection.half_space import HalfSpace, Limit, half_space
from monitor.stats.detection.projection import project

TWO_LIMITS = [
    Limit("precision", 0.7, "at_least"),
    Limit("recall", 0.6, "at_least"),
    Limit("f1", 0.6, "at_least"),
    Limit("accuracy", 0.6, "at_least"),
    Limit("prevalence", 0.3, "at_most"),
    Limit("fpr", 0.2, "at_most"),
]
FIVE_METRICS = ("precision", "recall", "specificity", "npv", "prevalence", "accuracy", "f1")
SIZE = np.array([300, 160, 60_000, 20_000, 9540])
IS_FLAGGED = np.array([True, True, False, False, False])
GUESS = np.array([0.9, 0.6, 0.0005, 0.005, 0.025])
LABELED = (
    np.array([60, 40, 80, 100, 120]),
    np.array([30, 0, 0, 11, 120]),
    np.array([3, 2, 4, 5, 6]),
)
POINTS = 100_000


def main() -> None:
    """Print the largest means."""
    print("largest mean of e: two strata, 6 + 7 labels, all samples enumerated")
    largest = []
    for limit in TWO_LIMITS:
        largest.append(enumerated(limit))
        print(f"  {limit!s:<26}{largest[-1]:.6f}")
    print(f"\nlargest mean of e: five strata, {POINTS:,} points that keep the limit, by labels")
    print(f"{'':<32}" + "".join(f"{labeled.tolist()!s:>24}" for labeled in LABELED))
    for metric in FIVE_METRICS:
        for side, shift in (("at_least", -0.02), ("at_most", 0.02)):
            limit = five_limit(metric, side, shift)
            found = [worst_of_five(limit, labeled) for labeled in LABELED]
            largest += found
            print(f"  {limit!s:<30}" + "".join(f"{each:24.6f}" for each in found))
    print(f"\nlargest of all: 1 {max(largest) - 1:+.1e}")


def enumerated(limit: Limit, points: int = 2000) -> float:
    """Largest mean over all samples of two strata, of each alternative and of their mixture."""
    n1, n0, size = 6, 7, np.array([60, 90])
    rates = null_points(half_space(limit, size, IS_FLAGGED[1:3]), points)
    e = np.empty((n1 + 1, n0 + 1, len(ERRORS) + 1))
    for y1 in range(n1 + 1):
        for y0 in range(n0 + 1):
            counts = Counts.of_matrix(
                tp=y1, fp=n1 - y1, fn=y0, tn=n0 - y0, flagged_size=60, passed_size=90
            )
            log_e = log_e_factor(limit, counts, np.array([0.7, 0.3]))
            e[y1, y0] = np.exp([*log_e, log_mixed(log_e)])
    p1, p0 = binomial(n1, rates[:, 0]), binomial(n0, rates[:, 1])
    return float(np.einsum("pi,pj,ijr->pr", p1, p0, e).max())


def binomial(n: int, rate: Values) -> Values:
    """Chances of 0 to n positives, shape ``(points, n + 1)``."""
    y = np.arange(n + 1)
    return np.asarray(special.comb(n, y) * rate[:, None] ** y * (1 - rate[:, None]) ** (n - y))


def five_limit(metric: str, side: str, shift: float) -> Limit:
    """Set a limit a little beyond the guess, where rounds are most informative."""
    low, high = 1e-6, 1 - 1e-6
    for _ in range(60):  # the metric at the guess, by bisection on the half-space
        middle = (low + high) / 2
        space = half_space(Limit(metric, middle, "at_least"), SIZE, IS_FLAGGED)
        low, high = (middle, high) if bool(space.contains(GUESS)) else (low, middle)
    value = low + shift * min(low, 1 - low)
    return Limit(metric, value, "at_least" if side == "at_least" else "at_most")


def worst_of_five(limit: Limit, labeled: Whole) -> float:
    """Largest exact mean over points that keep the limit."""
    space, about = half_space(limit, SIZE, IS_FLAGGED), (limit, SIZE, IS_FLAGGED, GUESS)
    seen = labeled > 0
    if not np.any(space.c[seen]):
        return 1.0  # such a round is no evidence
    rows = alternatives(*about, steps(*about, labeled), labeled=labeled)
    nearest = project(space, rows, labeled)
    points = np.vstack([null_points(space, POINTS // 2), around(space, nearest, POINTS // 2)])
    worst = 0.0
    for alternative, x in zip(rows[:, seen], nearest[:, seen], strict=True):
        pi = points[:, seen]
        per_label = pi * alternative / x + (1 - pi) * (1 - alternative) / (1 - x)
        worst = max(worst, float(np.exp(np.log(per_label) @ labeled[seen]).max()))
    return worst


def null_points(space: HalfSpace, count: int) -> Values:
    """Rates that keep the limit: half of them anywhere, half moved onto it."""
    rng = np.random.default_rng(17)
    rates = rng.beta(0.4, 0.4, (40 * count, space.c.size))
    rates[::2] *= rng.random((20 * count, 1)) ** 3  # rare positives too
    room = rates @ space.c - space.d
    kept, lost = rates[room >= 0][:count], rates[room < 0][: count // 2]
    some = kept[: len(lost)]
    above, below = some @ space.c - space.d, lost[: len(some)] @ space.c - space.d
    share = (above / (above - below))[:, None]
    return np.vstack([kept[: count - len(some)], some + share * (lost[: len(some)] - some)])


def around(space: HalfSpace, nearest: Values, count: int) -> Values:
    """Rates near the projections that keep the limit, in logits."""
    rng = np.random.default_rng(18)
    start = special.logit(np.clip(np.repeat(nearest, 2 * count, axis=0), 1e-9, 1 - 1e-9))
    rates = special.expit(
        start + rng.normal(0, rng.choice([0.01, 0.1, 0.5], (len(start), 1)), start.shape)
    )
    kept = rates[space.contains(rates)]
    return np.asarray(rng.permutation(kept)[:count])
