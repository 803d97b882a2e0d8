"""What reading a round block by block finds sooner, and what it costs in false alarms.

Limits 5 points under the levels of precision and recall, one false alarm a year promised over both.
`blocks 1` is evidence of whole rounds. Found within 4 rounds, the drop from 5 points above the
limit. False alarms: a year with both metrics exactly at their limits; `missing` answers, of each
class at random, count in favor of the limits, as labels that come too late do at a closing.
"""

from dataclasses import replace

import numpy as np

from benchmarks.cell_delay import LABELS, Watched, designs_of
from benchmarks.drift import DESIGNS, METRICS, drawn_from_population, level, rates_at
from benchmarks.harness import Values, Whole
from monitor.stats.detection.blocks import BLOCKS
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.simulated_paths import Paths

ROOM, YEAR, QUIET, WITHIN = 0.05, 52, 8, 4
LEVELS: dict[str, tuple[float, float] | None] = {"Phi1": None, ".85 / .75": (0.85, 0.75)}
DROPS = [(metric, by) for metric in METRICS for by in (0.10, 0.15)]
COUNTS = (1, BLOCKS)


def main(paths: int = 2000, years: int = 10_000) -> None:
    """Print how soon drops are found, then false alarms."""
    head = "".join(f"{metric:>11} -{by:.2f}" for metric, by in DROPS)
    print(f"found within {WITHIN} rounds, {paths} paths\n{'':<47}blocks{head}")
    for labels in LABELS:
        for name, design in designs(labels).items():
            for levels, values in LEVELS.items():
                at = design if values is None else with_levels(design, *values)
                for blocks in COUNTS:
                    row = "".join(f"{found(at, *drop, blocks, paths):16.3f}" for drop in DROPS)
                    print(f"{sum(labels):>5,}  {name:<24}{levels:<16}{blocks:>6}{row}", flush=True)
    print(f"\nfalse alarms a year, both metrics exactly at their limits, {years} years")
    print(f"{'':<47}blocks{'all answers':>14}{'.1 missing':>14}{'.3 missing':>14}")
    for labels in LABELS:
        design = designs(labels)["3+5 bands"]
        for blocks in COUNTS:
            row = "".join(f"{alarms(design, lost, blocks, years):14.3f}" for lost in (0, 0.1, 0.3))
            print(f"{sum(labels):>5,}  {'3+5 bands':<24}{'Phi1':<16}{blocks:>6}{row}", flush=True)


def designs(labels: tuple[int, int]) -> dict[str, Watched]:
    """Make bands of two kinds, and cells."""
    bands = drawn_from_population(*DESIGNS[f"3+5, {labels[0]}+{labels[1]}"])
    return {"3+5 bands": Watched(bands, np.zeros(0, dtype=np.int64))} | {
        name: design for name, design in designs_of(labels).items() if "0.25" not in name
    }


def with_levels(design: Watched, precision: float, recall: float) -> Watched:
    """Move the rates of a design until its metrics have these values."""
    s = design.scenario
    [rates] = rates_at(s, np.array([[precision]]), np.array([[recall]]))
    return replace(design, scenario=replace(s, rates=rates))


def found(design: Watched, metric: str, drop: float, blocks: int, paths: int) -> float:
    """Share of paths on which the limit of a metric that drops fires in time."""
    rng, limits = np.random.default_rng(1), limits_of(design)
    watchers = Paths(limits, YEAR, paths, blocks=blocks)
    after = design.scenario.dropped(metric, drop).rates
    detected = np.zeros(paths, dtype=np.bool_)
    for t in range(-QUIET - 1, WITHIN):
        window = design.window(rng)
        rates = after if t >= 0 else design.scenario.rates
        positive = rng.binomial(window.labeled, rates, (paths, len(rates)))
        fired = watchers.close(window, positive)[METRICS.index(metric)]
        detected |= fired & (t >= 0)
    return float(detected.mean())


def alarms(design: Watched, missing: float, blocks: int, years: int) -> float:
    """Mean number of alarms a year at the limits, with a share of answers missing."""
    scenario, limits = design.scenario, limits_of(design)
    for limit in limits:
        scenario = scenario.moved(limit)
    rng, fired, size = np.random.default_rng(2), 0, 1000
    for seed in range(max(years // size, 1)):
        watchers = Paths(limits, YEAR, size, blocks=blocks, seed=seed)
        watchers.learn(scenario.window, answers(scenario.rates, scenario.labeled, rng, size))
        for _ in range(YEAR):
            positive = answers(scenario.rates, scenario.labeled, rng, size)
            up = rng.binomial(scenario.labeled - positive, missing)  # 0 that counts as 1
            down = rng.binomial(positive, missing)
            positive = positive + np.where(scenario.is_flagged, up, -down)
            fired += int(watchers.close(scenario.window, positive).sum())
    return fired / (max(years // size, 1) * size)


def answers(rates: Values, labeled: Whole, rng: np.random.Generator, paths: int) -> Whole:
    """Draw the answers of a round."""
    return rng.binomial(labeled, rates, (paths, rates.size))


def limits_of(design: Watched) -> list[Limit]:
    """Limits `ROOM` under the levels."""
    return [Limit(m, level(design.scenario, m) - ROOM, "at_least") for m in METRICS]
