"""What the promise on false alarms covers: a metric that varies, and items that come back.

Mean number of alarms in 52 rounds. First both metrics vary from week to week around a mean above
their limits, independently or as an autoregression (AR). Then they are at their limits and a share
of each round's items were in the one before: `all` answers count, or each item `once`.
``--block 30``: false alarms a year of so many monitors, all at their limits, that promise each by
itself or as one, and the share of drops of precision found, the limit 3 points under it.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.drift import DESIGNS, METRICS, at_limits, drawn_from_population, level, rates_at
from benchmarks.harness import Values
from monitor.stats.detection.delay import Paths, alarms, detection
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.scenario import Scenario

NAMES = ("3+5, 200+1050", "3+5, 60+300")
PLAIN = "1+1, 100+1150"
REFERENCE, YEAR = 8, 52
ABOVE = (0.0, 0.02, 0.05)
VARIES = ((0.0, 0.0), (0.01, 0.0), (0.02, 0.0), (0.03, 0.0), (0.05, 0.0), (0.02, 0.8), (0.04, 0.8))
RECURRING = (0.0, 0.25, 0.5, 0.9)
SIZE, LABELED, FLAGGED, RATES = [160, 4840], [100, 400], [True, False], [0.86, 0.02]
DROPS = (0.1, 0.2)


def main(paths: int = 1000, designs: tuple[str, ...] = (*NAMES, PLAIN), block: int = 0) -> None:
    """Print both tables for each design, or the promises of a block of monitors."""
    if block:
        show_block(block, paths)
        return
    for name in designs:
        scenario = scenario_of(name)
        head = "".join(f"{('AR ' if memory else 'sd ') + f'{sd:.2f}':>11}" for sd, memory in VARIES)
        print(f"\n{name} labels: the metrics vary")
        print(f"{'above limit':<12}{head}")
        for above in ABOVE:
            rates = [varying_alarms(scenario, above, *each, paths) for each in VARIES]
            print(f"{above:<12.2f}" + "".join(f"{rate:>11.2f}" for rate in rates))
        print(f"\n{name} labels, both metrics at their limits: items come back")
        print(f"{'share':<12}{'all':>11}{'once':>11}")
        for share in RECURRING:
            found = [recurring_alarms(scenario, share, paths, once=once) for once in (False, True)]
            print(f"{share:<12.2f}" + "".join(f"{rate:>11.2f}" for rate in found))


def show_block(monitors: int, paths: int) -> None:
    """Print a line for each way to promise."""
    scenario = Scenario.of(SIZE, LABELED, FLAGGED, RATES)
    precision = scenario.value("precision") or 0.0
    recall = scenario.value("recall") or 0.0
    at = [Limit("precision", precision, "at_least"), Limit("recall", recall, "at_least")]
    below = [Limit("precision", precision - 0.03, "at_least")]
    for name, every in (("each", YEAR), ("the block", YEAR * monitors)):
        false = monitors * sum(alarms(scenario, at, every=every, paths=paths))
        found = [
            detection(
                scenario, scenario.dropped("precision", drop), below, every=every, paths=paths
            ).detected_within[3]
            for drop in DROPS
        ]
        shown = ", ".join(
            f"-{drop:.0%} {share:.2f}" for drop, share in zip(DROPS, found, strict=True)
        )
        print(f"{name:10} promises: {false:6.2f} false alarms a year; in 4 rounds {shown}")


def scenario_of(name: str) -> Scenario:
    """Make one of the designs of benchmarks/drift.py, or a plain one of P .85 and R .75."""
    if name != PLAIN:
        return drawn_from_population(*DESIGNS[name])
    missed = 0.85 * 1200 * (1 / 0.75 - 1) / 18_800
    return Scenario.of([1200, 18_800], [100, 1150], [True, False], [0.85, missed])


def limits_under(scenario: Scenario, above: float) -> list[Limit]:
    """Limits so far under the true levels."""
    return [Limit(metric, level(scenario, metric) - above, "at_least") for metric in METRICS]


def varying_alarms(
    scenario: Scenario, above: float, deviation: float, memory: float, paths: int
) -> float:
    """Alarms of monitors whose true metrics vary around their level."""
    rng = np.random.default_rng(11)
    watchers = Paths(limits_under(scenario, above), YEAR, paths)
    fired = 0
    for t, rates in enumerate(weeks(scenario, deviation, memory, paths, rng)):
        counts = scenario.counted(rng.binomial(scenario.labeled, rates))
        if t < REFERENCE:
            watchers.history.append(counts)
        else:
            fired += int(watchers.close(counts).sum())
    return fired / paths


def weeks(
    scenario: Scenario, deviation: float, memory: float, paths: int, rng: np.random.Generator
) -> Iterator[Values]:
    """Rates of each week, shape ``(paths, H)``: wrong answers of a class grow by one factor."""
    p, r = (level(scenario, metric) for metric in METRICS)
    moved = deviation * rng.standard_normal((2, paths, 1))
    for _ in range(REFERENCE + YEAR):
        precision, recall = np.clip(p + moved[0], 0.05, 0.99), np.clip(r + moved[1], 0.05, 0.99)
        yield rates_at(scenario, precision, recall)
        news = deviation * math.sqrt(1 - memory**2) * rng.standard_normal((2, paths, 1))
        moved = memory * moved + news


def recurring_alarms(scenario: Scenario, share: float, paths: int, *, once: bool) -> float:
    """Alarms of monitors where a share of each round's items were in the one before."""
    rng, at = np.random.default_rng(12), at_limits(scenario)
    again = np.rint(share * at.labeled).astype(np.int64)
    fresh = replace(at, labeled=at.labeled - again)
    watchers = Paths(limits_under(at, 0.0), YEAR, paths)
    positive, fired = rng.binomial(at.labeled, at.rates, (paths, at.rates.size)), 0
    for t in range(REFERENCE + YEAR):
        new = rng.binomial(fresh.labeled, at.rates, positive.shape)
        positive = new + rng.hypergeometric(positive, at.labeled - positive, again)
        counts = at.counted(positive)
        if t < REFERENCE:
            watchers.history.append(counts)
            continue
        fired += int(watchers.close(fresh.counted(new) if once else counts).sum())
        watchers.history[-1] = counts  # all of a round's items are learned from
    return fired / paths
