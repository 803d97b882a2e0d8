"""The demo's half year with other seeds, by score cells and by bands, at the statistics.

A round is drawn, planned and judged by the functions that the product calls, without SQL and
MLflow.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from monitor.demo.digits import THRESHOLD, Batch, Camera, Confusion, DigitScenario
from monitor.demo.folder import limits_of
from monitor.demo.table import FIND_WITHIN
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
from monitor.stats.history.change_point import pool
from monitor.stats.history.run_length import RunLength

PROMISE = 52  # rounds
METRICS = ("precision", "recall")
DESIGNS = ("cells", "bands")


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
            max_labels=self.sample.budget,
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


@dataclass
class Outcome:
    """What one seed gave."""

    seed: int
    limits: dict[str, float]
    true_before: dict[str, float]
    true_after: dict[str, float]
    fired: int | None = None
    metric: str = ""

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
    def of(cls, scenario: DigitScenario) -> "HalfYear":
        """Train the classifier and score the weeks."""
        camera = Camera(scenario)
        last = scenario.drop_round + FIND_WITHIN - 1
        weeks = [camera.week(number) for number in range(1, last + 1)]
        return cls(scenario, camera.reference(), weeks)

    def play(self, by: str) -> Outcome:
        """Play it until the first alert."""
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
            counts = strata.drawn(strata.truths(week), known, rng)
            evidence = judged(evidence, counts, known, limits)
            fired = [m for m in METRICS if evidence[m].fires(log_threshold(PROMISE, len(METRICS)))]
            if fired:
                outcome.fired, outcome.metric = number, fired[0]
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
) -> None:
    """Print the misses, the share found in time and the false alarms."""
    outcomes: dict[str, list[Outcome]] = {each: [] for each in by}
    for seed in range(first, first + seeds):
        scenario = replace(USUAL, seed=seed, labels=labels, lost_pixels=lost_pixels)
        half_year = HalfYear.of(scenario)
        for each, found in outcomes.items():
            found.append(half_year.play(each))
    falls = [o.true_before["recall"] - o.true_after["recall"] for o in outcomes[by[0]]]
    print(f"recall falls by {np.mean(falls):.3f} in the mean, {min(falls):.3f} to {max(falls):.3f}")
    for each, found in outcomes.items():
        show(each, found, USUAL.drop_round)
