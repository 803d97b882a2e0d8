"""What missing answers do to estimates, to false alarms and to how soon a drop is found.

Answers are missing at random, or 13 times as often for the classifier's mistakes, or for actual
positives. `plain` leaves them out; `bounds` is what is shown, and evidence counts them in favor of
the limits.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.drift import level
from benchmarks.harness import Flags, Values, Whole
from monitor.stats.detection.alternatives import DECAY
from monitor.stats.detection.e_detector import log_e_factor, log_mixed, log_threshold, update
from monitor.stats.detection.half_space import Limit, half_space
from monitor.stats.detection.scenario import Scenario
from monitor.stats.estimation.missing import completions, worst_case
from monitor.stats.estimation.posterior import MetricEstimate, estimates

SIZE = np.array([160, 160, 160, 3520, 1100, 500, 250, 150])
FLAGGED = np.arange(8) < 3
LABELED = np.array([70, 45, 25, 60, 60, 50, 45, 45])
RATES = np.array([0.87, 0.95, 0.97, 0.004, 0.025, 0.07, 0.15, 0.27])
METRICS = ("precision", "recall")
SHARES = (0.02, 0.05, 0.11, 0.30)
KINDS = ("mistakes", "positives")
WORSE, WEEKS, YEAR, QUIET, AFTER = 13, 8, 52, 6, 4
POINTS = 2**11
QUIET_TIME = Scenario(SIZE, LABELED, FLAGGED, RATES)


class Missing(NamedTuple):
    """Chance that an answer is missing, for positives and negatives of each stratum."""

    positive: Values
    negative: Values


def missing_at(share: float, kind: str) -> Missing:
    """Chances that give a share of missing answers in all."""
    weight = {
        "random": (np.ones(8), np.ones(8)),
        "mistakes": (np.where(FLAGGED, 1, WORSE), np.where(FLAGGED, WORSE, 1)),
        "positives": (np.full(8, WORSE), np.ones(8)),
    }[kind]
    low, high = 0.0, 1.0
    for _ in range(50):
        base = (low + high) / 2
        up, down = (np.minimum(0.95, base * of) for of in weight)
        total = LABELED @ (RATES * up + (1 - RATES) * down) / LABELED.sum()
        low, high = (base, high) if total < share else (low, base)
    return Missing(up, down)


def drawn(
    rates: Values, missing: Missing, shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[Whole, Whole, Whole]:
    """Positives, positives that are answered, and answers, of shape ``(*shape, H)``."""
    positive = rng.binomial(LABELED, rates, (*shape, 8))
    lost_up = rng.binomial(positive, missing.positive)
    lost_down = rng.binomial(LABELED - positive, missing.negative)
    return positive, positive - lost_up, LABELED - lost_up - lost_down


def main(paths: int = 150, rounds: int = 30) -> None:
    """Print both tables."""
    truth = [level(QUIET_TIME, metric) for metric in METRICS]
    print(f"precision {truth[0]:.3f}, recall {truth[1]:.3f}; covered P / R, mean width of R")
    for kind, share in [("random", 0.0), *product(KINDS, SHARES), ("random", 0.05)]:
        print(f"{kind:<10}{share:4.0%}  {_coverage(kind, share, rounds)}")
    print("\nfalse alarms in 52 rounds; found within 4 rounds")
    for kind, share in [("random", 0.0), *product(("random", *KINDS), SHARES)]:
        print(f"{kind:<10}{share:4.0%}  {_alarms(kind, share, paths)}")


def _coverage(kind: str, share: float, number: int) -> str:
    missing, rng = missing_at(share, kind), np.random.default_rng(28)
    truth = np.array([level(QUIET_TIME, metric) for metric in METRICS])
    held, width = np.zeros((2, 2, 2))  # way, metric
    for _ in range(number):
        _, up, labeled = drawn(RATES, missing, (WEEKS,), rng)
        for positive, answered in zip(up, labeled, strict=True):
            counts = QUIET_TIME.counted(positive)
            counts = replace(counts, labeled=answered)
            own, *corners = (
                estimates(each, metrics=METRICS, estimands=("rate",), points=POINTS)
                for each in (counts, *completions(counts, LABELED - answered))
            )
            for i, cases in enumerate(([own], [own, *corners])):
                low, high = _ends(cases).T
                held[i] += (low <= truth) & (truth <= high)
                width[i] += high - low
    texts = (
        f"{name} {p:.2f} / {r:.2f} ({of_recall:.2f})"
        for name, (p, r), (_, of_recall) in zip(
            ("plain", "bounds"), held / number / WEEKS, width / number / WEEKS, strict=True
        )
    )
    return "; ".join(texts)


def _ends(cases: Sequence[Sequence[MetricEstimate]]) -> Values:
    plain, *corners = cases
    found = worst_case(plain, corners)
    return np.array([(0.0, 1.0) if each is None else (each.low, each.high) for each in found])


def _alarms(kind: str, share: float, paths: int) -> str:
    missing = missing_at(share, kind)
    at, below = (
        [Limit(metric, level(QUIET_TIME, metric) - room, "at_least") for metric in METRICS]
        for room in (0, 0.05)
    )
    alarms = _fired([RATES] * YEAR, missing, at, paths).any(axis=-1).mean()
    found = [
        _fired(
            [RATES] * QUIET + [QUIET_TIME.dropped(metric, 0.15).rates] * AFTER,
            missing,
            below,
            paths,
        )[:, METRICS.index(metric)].mean()
        for metric in METRICS
    ]
    return f"{alarms:.2f}; P {found[0]:.2f}, R {found[1]:.2f}"


def _fired(weeks: Sequence[Values], missing: Missing, limits: Sequence[Limit], paths: int) -> Flags:
    """Whether each path fires on each limit: ``(paths, limits)``."""
    rng = np.random.default_rng(52)
    prior = np.where(FLAGGED, 1 / 6, 1 / 10)
    log_m = np.full((len(limits), paths, 3), -np.inf)
    fired = np.zeros((paths, len(limits)), dtype=bool)
    seen_up, seen = np.zeros((paths, 8)), np.zeros((paths, 8))
    for week, rates in enumerate(weeks):
        _, up, labeled = drawn(rates, missing, (paths,), rng)
        if week:
            guess = (prior + seen_up) / (2 * prior + seen)
            for i, limit in enumerate(limits):
                space = half_space(limit, SIZE, FLAGGED)
                counts = QUIET_TIME.counted(up + np.where(space.c > 0, LABELED - labeled, 0))
                log_m[i] = update(log_m[i], log_e_factor(limit, counts, guess))
                fired[:, i] |= log_mixed(log_m[i]) >= log_threshold(YEAR, len(limits))
        seen_up, seen = DECAY * seen_up + up, DECAY * seen + labeled
    return fired
