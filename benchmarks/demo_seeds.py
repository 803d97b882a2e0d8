"""Whether the demo's alert is luck: the same half year with other seeds, at the statistics.

Run ``python -m benchmarks.demo_seeds`` from the root of the repository (about 7 minutes on one
core). Every seed trains a classifier of its own and gets limits from its own reference. A round is
drawn, planned and judged by the same functions that the product calls, without SQL and MLflow. A
seed ends with its first alert, or with the fourth round of the drop.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.demo.digits import THRESHOLD, Camera, Confusion, Scenario
from monitor.demo.folder import limits_of
from monitor.demo.result import FIND_WITHIN
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.design.allocation import allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.score_bands import FLAGGED_BANDS, PASSED_BANDS, band_edges, band_of
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.e_detector import Evidence, log_e_factor, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.estimation.posterior import estimate
from monitor.stats.history.change_point import pool

if TYPE_CHECKING:
    from monitor.demo.digits import Batch

PROMISE = 52  # rounds
METRICS = ("precision", "recall")


@dataclass(frozen=True)
class Edges:
    """Score bands, frozen with the first week."""

    flagged: tuple[float, ...]
    passed: tuple[float, ...]

    @classmethod
    def of(cls, batch: Batch) -> Edges:
        """Cut the bands of the first week."""
        flagged = batch.score >= THRESHOLD
        return cls(
            band_edges(batch.score[flagged], FLAGGED_BANDS),
            band_edges(batch.score[~flagged], PASSED_BANDS),
        )

    @property
    def is_flagged(self) -> np.ndarray:
        """Class of each stratum."""
        return np.repeat([True, False], [len(self.flagged) + 1, len(self.passed) + 1])

    def strata(self, batch: Batch) -> list[np.ndarray]:
        """Truths of the items of each stratum."""
        flagged = batch.score >= THRESHOLD
        found = []
        for mine, inner in ((flagged, self.flagged), (~flagged, self.passed)):
            band = band_of(batch.score[mine], inner)
            truth = batch.is_eight[mine]
            found += [truth[band == place] for place in range(len(inner) + 1)]
        return found


def pooled_history(rounds: list[Counts], reference: Counts) -> JointPosterior:
    """Pooling the reference and the rounds forward, each class by itself."""
    classes = []
    for flagged in (True, False):
        mine = reference.is_flagged == flagged
        classes.append(
            pool(
                [(counts.positive[mine], counts.labeled[mine]) for counts in rounds],
                reference=(reference.positive[mine], reference.labeled[mine]),
                hazard=0.5,
                restart=3.0,
            )
        )
    return JointPosterior(flagged=classes[0], passed=classes[1])


@dataclass
class Outcome:
    """What one seed gave."""

    seed: int
    fired: int | None
    metric: str
    true_before: dict[str, float]
    true_after: dict[str, float]
    limits: dict[str, float]
    covered: list[tuple[int, str, bool]]

    @property
    def line(self) -> str:
        """One row of the table."""
        parts = [
            f"{self.true_before[m]:.3f} {self.limits[m]:.2f} {self.true_after[m]:.3f}"
            for m in METRICS
        ]
        return f"{self.seed:>4}  {parts[0]}   {parts[1]}   {self.fired or '-':>5}  {self.metric}"


def pooled(batches: list[Confusion]) -> dict[str, float]:
    """Precision and recall of several weeks together."""
    tp, fp, fn = (
        sum(getattr(confusion, cell) for confusion in batches) for cell in ("tp", "fp", "fn")
    )
    return {"precision": tp / (tp + fp), "recall": tp / (tp + fn)}


def play(scenario: Scenario, *, intervals: bool) -> Outcome:
    """Play one seed until the first alert or the last round that counts; all with intervals."""
    camera = Camera(scenario)
    last = scenario.rounds if intervals else scenario.drop_round + FIND_WITHIN - 1
    weeks = [camera.week(number) for number in range(1, last + 1)]
    before = camera.reference()
    edges = Edges.of(weeks[0])
    labeled = edges.strata(before)
    reference = counted(labeled, [len(each) for each in labeled], edges, scenario.seed)
    limits = limits_of(before.confusion, scenario.room)
    truths = [week.confusion for week in weeks]
    drop = scenario.drop_round
    true = [pooled(truths[: drop - 1]), pooled(truths[drop - 1 :])]
    watching = Watch(limits)
    covered = []
    for number, week in enumerate(weeks, start=1):
        strata = edges.strata(week)
        prior_rates = PriorRates.of_posterior(pooled_history(watching.rounds, reference))
        sizes = [len(stratum) for stratum in strata]
        plan = allocate(sizes, edges.is_flagged, prior_rates, max_labels=scenario.labels)
        counts = counted(strata, plan.labels, edges, 1000 * scenario.seed + number)
        watching.close(counts, reference)
        if intervals:
            posterior = pooled_history(watching.rounds, reference)
            covered += coverage(number, counts, posterior, true[number >= drop])
        elif watching.fired is not None:
            break
    when, metric = watching.fired or (None, "")
    return Outcome(scenario.seed, when, metric, true[0], true[1], limits, covered)


class Watch:
    """The detector of each limit, and the rounds so far."""

    def __init__(self, limits: dict[str, float]) -> None:
        self.limits = limits
        self.rounds: list[Counts] = []
        self.fired: tuple[int, str] | None = None
        self._evidence = dict.fromkeys(METRICS, Evidence())

    def close(self, counts: Counts, reference: Counts) -> None:
        """Judge one more round; only the first alert counts."""
        rates = guess(self.rounds, reference)
        self.rounds.append(counts)
        for metric in METRICS:
            e = log_e_factor(Limit(metric, self.limits[metric], "at_least"), counts, rates)
            self._evidence[metric] = self._evidence[metric].after(e)
            fires = self._evidence[metric].fires(log_threshold(PROMISE, len(METRICS)))
            if fires and self.fired is None:
                self.fired = len(self.rounds), metric


def coverage(
    number: int, counts: Counts, posterior: JointPosterior, true: dict[str, float]
) -> list[tuple[int, str, bool]]:
    """Whether the intervals of the rate hold what all weeks of the same camera have."""
    found = []
    alone = estimate(counts, metrics=METRICS)
    joint = estimate(counts, metrics=METRICS, posterior=posterior, basis="pooled")
    for basis, estimates in (("round", alone), ("pooled", joint)):
        for metric in METRICS:
            low, high = estimates[metric].low or 0.0, estimates[metric].high or 1.0
            found.append((number, f"{metric}/{basis}", low <= true[metric] <= high))
    return found


def counted(
    strata: list[np.ndarray], labels: np.ndarray | list[int], edges: Edges, seed: int
) -> Counts:
    """Label so many items of each stratum."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(s)[:n] for s, n in zip(strata, labels, strict=True)]
    return Counts.of_arrays(
        size=[len(stratum) for stratum in strata],
        labeled=[len(each) for each in drawn],
        positive=[int(each.sum()) for each in drawn],
        is_flagged=edges.is_flagged,
    )


def show_coverage(outcomes: list[Outcome], drop: int) -> None:
    """Print which share of intervals held the truth, by rounds since the drop."""
    spans = {"before": (1, drop), "1st": (drop, drop + 1), "2nd": (drop + 1, drop + 2)}
    spans |= {"3rd to 5th": (drop + 2, drop + 5), "later": (drop + 5, 1000)}
    for name in sorted({name for outcome in outcomes for _, name, _ in outcome.covered}):
        shares = []
        for label, (first, end) in spans.items():
            held = [h for o in outcomes for n, m, h in o.covered if m == name and first <= n < end]
            shares.append(f"{label} {np.mean(held):.3f}")
        print(f"intervals that hold the truth, {name:<18} {', '.join(shares)}")


def show(outcomes: list[Outcome], drop: int) -> None:
    """Print the seeds that were not found in time, and what all of them come to."""
    in_time = [o.fired is not None and 0 <= o.fired - drop < FIND_WITHIN for o in outcomes]
    share, count = np.mean(in_time), len(outcomes)
    print("not found in time:")
    print("seed  precision (true, limit, after)  recall (same)  fired  metric")
    for outcome, found in zip(outcomes, in_time, strict=True):
        if not found:
            print(outcome.line)
    falls = [o.true_before["recall"] - o.true_after["recall"] for o in outcomes]
    print(f"recall falls by {np.mean(falls):.3f} in the mean, {min(falls):.3f} to {max(falls):.3f}")
    print(
        f"found within {FIND_WITHIN} rounds: {sum(in_time)} of {count} = {share:.3f} "
        f"(s.e. {math.sqrt(share * (1 - share) / count):.3f})"
    )
    rounds = [o.fired - drop + 1 for o in outcomes if o.fired is not None and o.fired >= drop]
    print(
        "found in round of the drop: "
        + ", ".join(f"{number}: {rounds.count(number)}" for number in range(1, FIND_WITHIN + 1))
    )
    early = [o for o in outcomes if o.fired is not None and o.fired < drop]
    false = [o for o in early if o.true_before[o.metric] >= o.limits[o.metric]]
    promised = count * (drop - 1) / PROMISE
    print(
        f"fired before the drop: {len(early)}, with the metric within its limit: {len(false)}; "
        f"promised: at most {promised:.0f}"
    )


def main() -> None:
    """Print the misses, the share found in time and the false alarms."""
    usual = Scenario()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--labels", type=int, default=usual.labels)
    parser.add_argument("--lost-pixels", type=float, default=usual.lost_pixels)
    parser.add_argument("--intervals", action="store_true", help="also measure coverage")
    asked = parser.parse_args()
    outcomes = []
    for seed in range(asked.first, asked.first + asked.seeds):
        scenario = replace(usual, seed=seed, labels=asked.labels, lost_pixels=asked.lost_pixels)
        outcomes.append(play(scenario, intervals=asked.intervals))
    show(outcomes, usual.drop_round)
    if asked.intervals:
        show_coverage(outcomes, usual.drop_round)


if __name__ == "__main__":
    main()
