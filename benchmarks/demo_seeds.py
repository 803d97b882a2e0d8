"""The demo's half year with other seeds, by score cells and by bands, at the statistics.

A round is drawn, planned, estimated and judged by the functions that the product calls, without
SQL and MLflow. Intervals are those that the demo shows; the first round of the drop is drawn many
times. Standard errors take the rounds of a seed together.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.demo.digits import THRESHOLD, Batch, Camera, Confusion, DigitScenario
from monitor.demo.folder import limits_of
from monitor.demo.result import FIND_WITHIN
from monitor.domain.model import BandEdges
from monitor.domain.sample_settings import Sample
from monitor.rounds.sampling.cells import edges_of
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.design.allocation import allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.design.score_bands import band_of
from monitor.stats.detection.alternatives import decayed_labels, guess
from monitor.stats.detection.e_detector import Evidence, log_e_factor, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.estimation.posterior import MetricEstimate, estimates
from monitor.stats.history.change_point import pool
from monitor.stats.history.run_length import RunLength

PROMISE = 52  # rounds
METRICS = ("precision", "recall")
DESIGNS = ("cells", "bands")
POINTS = 2**10
REDRAWS = 20  # of the first round of the drop, which each seed has once


@dataclass(frozen=True)
class Strata:
    """Score cells or bands, frozen with the first week, and what a round by them is."""

    sample: Sample
    edges: BandEdges

    @classmethod
    def of(cls, batch: Batch, by: str, labels: int) -> "Strata":
        """Cut the first week as the product does."""
        asked: dict[str, object] = {"max_labels": labels} | ({"bands": {}} if by == "bands" else {})
        sample, flagged = Sample.model_validate(asked), batch.score >= THRESHOLD
        edges = edges_of(batch.score[flagged], batch.score[~flagged], sample, unscored=False)
        return cls(sample, edges)

    @property
    def are_cells(self) -> bool:
        """Whether they are cells."""
        return self.sample.cells is not None

    @property
    def is_flagged(self) -> np.ndarray:
        """Class of each stratum."""
        return np.array([stratum.flagged for stratum in self.edges.strata()])

    def truths(self, batch: Batch) -> list[np.ndarray]:
        """Truths of the items of each stratum."""
        flagged = batch.score >= THRESHOLD
        found = []
        for mine, inner in ((flagged, self.edges.flagged), (~flagged, self.edges.passed)):
            band = band_of(batch.score[mine], inner)
            truth = batch.is_eight[mine]
            found += [truth[band == place] for place in range(len(inner) + 1)]
        return found

    def plan(self, size: list[int], known: list[Counts], rng: np.random.Generator) -> np.ndarray:
        """Labels of a round after those that are known, the reference first."""
        if self.are_cells:
            positive, labeled = decayed_labels(known)
            rates = recalibrated_prior(size, self.is_flagged, labeled, positive)
        else:
            rates = PriorRates.of_posterior(pooled_history(known[1:], known[0]))
        return allocate(
            Prospect.of(
                size,
                self.is_flagged,
                rates,
                share_by_size=self.sample.share_by_size,
                uniform=rng.random() if self.are_cells else None,
            ),
            max_labels=self.sample.max_labels,
            assurance=self.sample.assurance,
        ).labels

    def drawn(
        self, truths: list[np.ndarray], known: list[Counts], rng: np.random.Generator
    ) -> Counts:
        """Plan and label a round."""
        labels = self.plan([len(each) for each in truths], known, rng)
        return self.counted(truths, labels, rng)

    def counted(
        self, truths: list[np.ndarray], labels: np.ndarray | list[int], rng: np.random.Generator
    ) -> Counts:
        """Label so many items of each stratum."""
        drawn = [rng.permutation(s)[:n] for s, n in zip(truths, labels, strict=True)]
        return Counts.of_arrays(
            size=[len(stratum) for stratum in truths],
            labeled=[len(each) for each in drawn],
            positive=[int(each.sum()) for each in drawn],
            is_flagged=self.is_flagged,
        )


def pooled_history(rounds: list[Counts], reference: Counts) -> JointPosterior:
    """Pooling the reference and the rounds forward, each class by itself."""
    classes = []
    for flagged in (True, False):
        mine = reference.is_flagged == flagged
        classes.append(
            pool(
                [(counts.positive[mine], counts.labeled[mine]) for counts in rounds],
                reference=(reference.positive[mine], reference.labeled[mine]),
                settings=RunLength(hazard=0.5),
            )
        )
    return JointPosterior(flagged=classes[0], passed=classes[1])


@dataclass(frozen=True)
class Interval:
    """One interval beside what all images of its week show."""

    number: int
    metric: str
    low: float
    high: float
    point: float
    true: float


@dataclass
class Outcome:
    """What one seed gave."""

    seed: int
    limits: dict[str, float]
    true_before: dict[str, float]
    true_after: dict[str, float]
    fired: int | None = None
    metric: str = ""
    intervals: list[Interval] = field(default_factory=list)

    @property
    def line(self) -> str:
        """One row of the table."""
        parts = [
            f"{self.true_before[m]:.3f} {self.limits[m]:.2f} {self.true_after[m]:.3f}"
            for m in METRICS
        ]
        when = f"{self.fired or '-':>5}  {self.metric}".rstrip()
        return f"{self.seed:>4}  {parts[0]}   {parts[1]}   {when}"


def pooled(batches: list[Confusion]) -> dict[str, float]:
    """Precision and recall of several weeks together."""
    tp, fp, fn = (
        sum(getattr(confusion, cell) for confusion in batches) for cell in ("tp", "fp", "fn")
    )
    return {"precision": tp / (tp + fp), "recall": tp / (tp + fn)}


@dataclass(frozen=True)
class HalfYear:
    """The traffic of one seed: its reference, and its weeks up to the last that counts."""

    scenario: DigitScenario
    reference: Batch
    weeks: list[Batch]

    @classmethod
    def of(cls, scenario: DigitScenario, *, intervals: bool) -> "HalfYear":
        """Train the classifier and score the weeks; all of them for intervals."""
        camera = Camera(scenario)
        last = scenario.rounds if intervals else scenario.drop_round + FIND_WITHIN - 1
        weeks = [camera.week(number) for number in range(1, last + 1)]
        return cls(scenario, camera.reference(), weeks)

    def play(self, by: str, *, intervals: bool) -> Outcome:
        """Play it until the first alert; with intervals, all of it."""
        scenario, drop = self.scenario, self.scenario.drop_round
        strata = Strata.of(self.weeks[0], by, scenario.labels)
        labeled = strata.truths(self.reference)
        sizes = [len(each) for each in labeled]
        known = [strata.counted(labeled, sizes, np.random.default_rng(0))]
        truths = [week.confusion for week in self.weeks]
        limits = limits_of(self.reference.confusion, scenario.room)
        outcome = Outcome(
            scenario.seed, limits, pooled(truths[: drop - 1]), pooled(truths[drop - 1 :])
        )
        evidence = dict.fromkeys(METRICS, Evidence())
        for number, week in enumerate(self.weeks, start=1):
            rng = np.random.default_rng([scenario.seed, number])
            items = strata.truths(week)
            counts = strata.drawn(items, known, rng)
            evidence = judged(evidence, counts, known, limits)
            fired = [m for m in METRICS if evidence[m].fires(log_threshold(PROMISE, len(METRICS)))]
            if fired and outcome.fired is None:
                outcome.fired, outcome.metric = number, fired[0]
            if intervals:
                drawn = [counts]
                if number == drop:
                    rng = np.random.default_rng([scenario.seed, number, 1])
                    drawn += [strata.drawn(items, known, rng) for _ in range(REDRAWS - 1)]
                for each in drawn:
                    outcome.intervals += intervals_of(number, each, week.confusion, strata)
            elif outcome.fired is not None:
                break
            known.append(counts)
        return outcome


def judged(
    evidence: dict[str, Evidence], counts: Counts, known: list[Counts], limits: dict[str, float]
) -> dict[str, Evidence]:
    """Take one more round into the detector of each limit."""
    rates = guess(known[1:], known[0])
    return {
        name: so_far.after(log_e_factor(Limit(name, limits[name], "at_least"), counts, rates))
        for name, so_far in evidence.items()
    }


def intervals_of(number: int, counts: Counts, truth: Confusion, strata: Strata) -> list[Interval]:
    """Estimate a round as the demo shows it."""
    rows = estimates(
        counts, metrics=METRICS, estimands=("window",), points=POINTS, cells=strata.are_cells
    )
    return [
        Interval(number, row.metric, row.low, row.high, row.point, getattr(truth, row.metric))
        for row in rows
        if isinstance(row, MetricEstimate)
        and row.low is not None
        and row.high is not None
        and row.point is not None
    ]


def show_intervals(by: str, outcomes: list[Outcome], drop: int) -> None:
    """Print how often intervals hold the truth, and how far points are from it."""
    spans = {"before": (1, drop), "1st": (drop, drop + 1), "2nd to 4th": (drop + 1, drop + 4)}
    spans |= {"later": (drop + 4, 1000)}
    for metric in METRICS:
        for label, (first, end) in spans.items():
            of_seed = defaultdict(list)
            for outcome in outcomes:
                for each in outcome.intervals:
                    if each.metric == metric and first <= each.number < end:
                        of_seed[outcome.seed].append(_figures(each))
            means = np.array([np.mean(rows, axis=0) for rows in of_seed.values()])
            mean = means.mean(axis=0)
            error = means.std(axis=0, ddof=1) / math.sqrt(len(means))
            print(
                f"{by} {metric:<9} {label:<10}  {mean[0]:.3f} ({error[0]:.3f})  "
                f"{mean[1]:.3f} {mean[2]:.3f}  {100 * mean[3]:+5.2f} ({100 * error[3]:.2f})  "
                f"{100 * mean[4]:5.2f}  {mean[5]:.3f}"
            )


def _figures(each: Interval) -> tuple[float, ...]:
    below, above = each.true < each.low, each.true > each.high
    half = (each.high - each.low) / 2
    return (not (below or above), below, above, each.point - each.true, half, each.true)


def show(by: str, outcomes: list[Outcome], drop: int) -> None:
    """Print the seeds that were not found in time, and what all of them come to."""
    in_time = [o.fired is not None and 0 <= o.fired - drop < FIND_WITHIN for o in outcomes]
    share, count = np.mean(in_time), len(outcomes)
    print(f"{by}, not found in time:")
    print("seed  precision (true, limit, after)  recall (same)  fired  metric")
    for outcome, found in zip(outcomes, in_time, strict=True):
        if not found:
            print(outcome.line)
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


USUAL = DigitScenario()


def main(
    by: tuple[str, ...] = ("cells",),
    seeds: int = 200,
    first: int = 100,
    labels: int = USUAL.labels,
    lost_pixels: float = USUAL.lost_pixels,
    intervals: bool = False,
) -> None:
    """Print the misses, the share found in time, the false alarms, and what intervals hold."""
    outcomes: dict[str, list[Outcome]] = {each: [] for each in by}
    for seed in range(first, first + seeds):
        scenario = replace(USUAL, seed=seed, labels=labels, lost_pixels=lost_pixels)
        half_year = HalfYear.of(scenario, intervals=intervals)
        for each, found in outcomes.items():
            found.append(half_year.play(each, intervals=intervals))
    falls = [o.true_before["recall"] - o.true_after["recall"] for o in outcomes[by[0]]]
    print(f"recall falls by {np.mean(falls):.3f} in the mean, {min(falls):.3f} to {max(falls):.3f}")
    for each, found in outcomes.items():
        show(each, found, USUAL.drop_round)
    if intervals:
        print("by rounds of the drop          covered (se)   below above   bias (se)    half  true")
        for each, found in outcomes.items():
            show_intervals(each, found, USUAL.drop_round)
