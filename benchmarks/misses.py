"""Misses that appear in the lowest band: how soon they are found, and what a round says of them.

Recall falls by ten points, in proportion or in the lowest passed band alone. `found` within 4
rounds; `smallest` drop found so in 8 of 10; `one label` is how far one positive label in the lowest
band moves recall.
"""

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.drift import limits_of
from benchmarks.fast_rounds import Design, FastRounds
from benchmarks.harness import Whole
from benchmarks.label_cost import DEFAULT, population
from monitor.stats.core.counts import Counts
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import SHARE_BY_SIZE
from monitor.stats.detection.delay import detection
from monitor.stats.detection.power import smallest_drops
from monitor.stats.detection.scenario import Misses, Scenario
from monitor.stats.estimation.small_counts import FewLabels, small_count_caution

CLASSIFIERS = ("Phi1", "Phi2")
LABELS = (1250, 360)
SHARES = (0.0, SHARE_BY_SIZE)
WHERE: tuple[Misses, ...] = ("in_proportion", "in_lowest_band")
DROP, WITHIN = 0.10, 4
SOME = 100
"""Rounds in which cautions are looked at."""


def main(paths: int = 4000) -> None:
    """Print a row for each design and place of the misses."""
    print(f"{'labels, share by size':<28}misses           found (s.e.)  smallest", end="")
    print("   covered (s.e.)  width  one label  cautioned")
    for name in CLASSIFIERS:
        for labels in LABELS:
            for share in SHARES:
                show_detection(name, labels, share, paths)


def planned(name: str, labels: int, share: float) -> Scenario:
    """Plan a budget by the true rates."""
    design, _ = population(name, "good").strata(DEFAULT)
    rates = PriorRates.of_rates(design.rate)
    plan = design.allocated(rates, max_labels=labels, share_by_size=share)
    return Scenario.of(design.size, plan, design.is_flagged, design.rate)


def show_detection(name: str, labels: int, share: float, paths: int) -> None:
    """Print one row for each place of the misses."""
    before = planned(name, labels, share)
    limits = limits_of(before)
    drops = smallest_drops(before, limits, metric="recall", paths=min(paths, 1000))
    low, text = before.lowest_band or 0, f"{name} {labels:,}, {share:g}"
    for misses in WHERE:
        after = before.dropped("recall", DROP, misses)
        found = detection(before, after, limits, paths=paths, rounds=WITHIN).share_within(WITHIN)
        covered, width, cautioned = one_round(after, paths)
        tp, all_positive = (
            float((after.size * after.rates)[part].sum())
            for part in (after.is_flagged, slice(None))
        )
        one = tp / all_positive**2 * after.size[low] / after.labeled[low]
        drop = drops[misses]
        print(
            f"{text:<28}{misses:<15}  {found:.3f} ({error(found, paths):.3f})"
            f"  {'none' if drop is None else f'{drop:.3f}':>8}"
            f"     {covered:.3f} ({error(covered, paths):.3f})  {width:.4f}  {one:9.3f}"
            f"  {cautioned:9.2f}"
        )
        text = ""


def one_round(scenario: Scenario, replicates: int) -> tuple[float, float, float]:
    """Coverage and mean half-width of recall's interval, and the share of cautions."""
    design = Design(
        scenario.size, scenario.labeled, int(scenario.is_flagged.sum()), rate=scenario.rates
    )
    positive = design.simulate(replicates, np.random.default_rng(5))
    rounds = FastRounds(design, positive)
    covered = 1 - float(rounds.misses()[1].any(axis=0).mean())
    low, high = rounds.ends(SOME)[1]
    cautioned = np.mean([few is not None for few in cautions(design, positive[:SOME])])
    return covered, float((high - low).mean() / 2), float(cautioned)


def cautions(design: Design, positive: Whole) -> Iterator[FewLabels | None]:
    """Yield the caution for recall of each round."""
    is_flagged = np.arange(len(design.size)) < design.flagged
    for found in positive:
        counts = Counts.of_arrays(
            size=design.size, labeled=design.labeled, positive=found, is_flagged=is_flagged
        )
        yield small_count_caution(counts, "recall")


def error(share: float, of: int) -> float:
    """Give the standard error of a share."""
    return math.sqrt(share * (1 - share) / of)
