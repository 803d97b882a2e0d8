"""Whether the demo's alert is luck: the same half year with other seeds, at the statistics.

Run ``python -m benchmarks.demo_seeds`` from the root of the repository (about 5 minutes). Every
seed trains a classifier of its own and gets limits from its own reference. A round is drawn,
planned and judged by the same functions that the product calls, without SQL and MLflow.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.demo.digits import THRESHOLD, Camera, Confusion, Scenario
from monitor.demo.folder import limits_of
from monitor.demo.result import FIND_WITHIN
from monitor.stats.allocation import allocate
from monitor.stats.bands import FLAGGED_BANDS, PASSED_BANDS, band_edges, band_of
from monitor.stats.carryover import carry
from monitor.stats.counts import Counts
from monitor.stats.detector import Evidence, guess, log_e_factor, log_threshold
from monitor.stats.draws import JointPosterior
from monitor.stats.half_space import Limit
from monitor.stats.knowledge import Knowledge
from monitor.stats.posterior import estimate

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


def carried(rounds: list[Counts], reference: Counts) -> JointPosterior:
    """Carry the reference and the rounds forward, each class by itself."""
    classes = []
    for flagged in (True, False):
        mine = reference.is_flagged == flagged
        classes.append(
            carry(
                [(each.positive[mine], each.labeled[mine]) for each in rounds],
                reference=(reference.positive[mine], reference.labeled[mine]),
                hazard=0.35,
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
    tp, fp, fn = (sum(getattr(each, cell) for each in batches) for cell in ("tp", "fp", "fn"))
    return {"precision": tp / (tp + fp), "recall": tp / (tp + fn)}


def play(seed: int) -> Outcome:
    """Play one seed."""
    scenario = Scenario(seed=seed)
    camera = Camera(scenario)
    weeks = [camera.week(number) for number in range(1, scenario.rounds + 1)]
    before = camera.reference()
    edges = Edges.of(weeks[0])
    reference = counted(edges.strata(before), [len(s) for s in edges.strata(before)], edges, seed)
    limits = limits_of(before.confusion, scenario.room)
    truths = [week.confusion for week in weeks]
    drop = scenario.drop_round - 1
    true = [pooled(truths[:drop]), pooled(truths[drop:])]
    evidence = {metric: Evidence() for metric in METRICS}
    rounds: list[Counts] = []
    fired: tuple[int, str] | None = None
    covered = []
    for number, week in enumerate(weeks, start=1):
        strata = edges.strata(week)
        known = carried(rounds, reference)
        sizes = [len(each) for each in strata]
        knowledge = Knowledge.of_posterior(known)
        plan = allocate(sizes, edges.is_flagged, knowledge, max_labels=scenario.labels)
        counts = counted(strata, plan.labels, edges, 1000 * seed + number)
        rates = guess(rounds, reference)
        for metric in METRICS:
            e = log_e_factor(Limit(metric, limits[metric], "at_least"), counts, rates)
            evidence[metric] = evidence[metric].after(tuple(float(v) for v in e))
            if fired is None and evidence[metric].fires(log_threshold(PROMISE, len(METRICS))):
                fired = number, metric
        rounds.append(counts)
        covered += coverage(number, counts, carried(rounds, reference), true[number > drop])
    when, metric = fired or (None, "")
    return Outcome(seed, when, metric, true[0], true[1], limits, covered)


def coverage(
    number: int, counts: Counts, posterior: JointPosterior, true: dict[str, float]
) -> list[tuple[int, str, bool]]:
    """Whether the intervals of the rate hold what all weeks of the same camera have."""
    found = []
    for metric in METRICS:
        alone = estimate(counts, metric=metric, estimand="rate")
        joint = estimate(counts, metric=metric, estimand="rate", posterior=posterior, basis="carried")
        for basis, each in (("round", alone), ("carried", joint)):
            low, high = each.low or 0.0, each.high or 1.0
            found.append((number, f"{metric}/{basis}", low <= true[metric] <= high))
    return found


def counted(
    strata: list[np.ndarray], labels: np.ndarray | list[int], edges: Edges, seed: int
) -> Counts:
    """Label so many items of each stratum."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(s)[:n] for s, n in zip(strata, labels, strict=True)]
    return Counts.of_arrays(
        size=[len(each) for each in strata],
        labeled=[len(each) for each in drawn],
        positive=[int(each.sum()) for each in drawn],
        is_flagged=edges.is_flagged,
    )


def main() -> None:
    """Print each seed, the share found in time and the false alarms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=100)
    asked = parser.parse_args()
    drop = Scenario().drop_round
    print("seed  precision (true, limit, after)  recall (same)  fired  metric")
    outcomes = []
    for seed in range(asked.first, asked.first + asked.seeds):
        outcomes.append(play(seed))
        print(outcomes[-1].line, flush=True)
    fired = [each.fired or math.inf for each in outcomes]
    print(f"found within {FIND_WITHIN} rounds: {sum(0 <= f - drop < FIND_WITHIN for f in fired)}")
    early = [each for each in outcomes if each.fired is not None and each.fired < drop]
    false = [each for each in early if each.true_before[each.metric] >= each.limits[each.metric]]
    print(f"fired before the drop: {len(early)}, of these with the metric within its limit: ", end="")
    print(len(false))
    names = sorted({name for each in outcomes for _, name, _ in each.covered})
    for name in names:
        for label, chosen in (("before", range(1, drop)), ("after", range(drop, 100))):
            held = [h for o in outcomes for n, m, h in o.covered if m == name and n in chosen]
            print(f"{name:<18} {label:<7} intervals that hold the truth: {np.mean(held):.3f}")


if __name__ == "__main__":
    main()
