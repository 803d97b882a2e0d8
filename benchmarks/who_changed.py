"""Who changed: the classifier, its judge, or the people who label? By alerts and gold items.

Streams of 40 rounds with 600 labels, 240 of flagged items, and 20 gold items that people answer; a
change comes in round 11. The classifier has precision .79, recall .67 and the limits .74 and .60,
the judge rates .80 and .02 and the limits .70 and .04. `found` counts streams with an alert, or a
notice about gold items, within 20 rounds of the change, and `delay` is the median in rounds.
Alerts before the change are `early`, others than those meant `wrong`. After arXiv 2606.15474, where
a judge that scores the product itself has to be told from it: here people's labels decide. With
``asked`` the judge is asked about so many of the flagged items, and of the passed ones.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.harness import Values, Whole
from monitor.domain.model import Stratum, Verdict
from monitor.presentation.notices import FALLEN
from monitor.rounds.estimation.judge import as_classifier
from monitor.rounds.estimation.tally import Completed
from monitor.stats.core.counts import Counts, FirstPhase
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.waves import log_e_of_waves

ROUNDS, CHANGE, WITHIN, EVERY, GOLD = 40, 10, 20, 52, 20
SIZE, FLAGGED = 100_000, np.array([True, True, False, False])
SAYS_YES = np.array([False, True, False, True])
STRATA = [
    Stratum("", bool(up), verdict=Verdict.YES if yes else Verdict.NO)
    for up, yes in zip(FLAGGED, SAYS_YES, strict=True)
]
LABELED = np.array([120, 120, 180, 180])
LIMITS = {
    "precision": (None, Limit("precision", 0.74, "at_least")),
    "recall": (None, Limit("recall", 0.60, "at_least")),
    "judge_tpr": (Verdict.YES, Limit("recall", 0.70, "at_least")),
    "judge_fpr": (Verdict.NO, Limit("recall", 0.96, "at_least")),  # of the negatives
}
OF_JUDGE = ("judge_tpr", "judge_fpr")


class World(NamedTuple):
    """Rates of a classifier, of its judge, and of the answers of people to either class."""

    prevalence: float = 0.05
    precision: float = 0.79
    recall: float = 0.67
    judge_tpr: float = 0.80
    judge_fpr: float = 0.02
    says_positive: tuple[float, float] = (0.03, 0.97)

    def strata(self) -> tuple[Whole, Values]:
        """Sizes and rates of positive answers: flagged no and yes, then passed no and yes."""
        tp = SIZE * self.prevalence * self.recall
        fp, fn = tp / self.precision - tp, SIZE * self.prevalence - tp
        positive = np.array([tp, tp, fn, fn])
        negative = np.array([fp, fp, SIZE - tp - fp - fn, SIZE - tp - fp - fn])
        positive *= np.where(SAYS_YES, self.judge_tpr, 1 - self.judge_tpr)
        negative *= np.where(SAYS_YES, self.judge_fpr, 1 - self.judge_fpr)
        size = np.rint(positive + negative).astype(np.int64)
        wrong, right = self.says_positive
        return size, (positive * right + negative * wrong) / (positive + negative)


PERFECT = World(says_positive=(0.0, 1.0))
CHANGES: dict[str, tuple[World, set[str]]] = {
    "nothing": (PERFECT, set()),
    "judge: TPR .80 to .50": (PERFECT._replace(judge_tpr=0.5), {"judge_tpr"}),
    "judge: TPR to .60, FPR to .005": (
        PERFECT._replace(judge_tpr=0.6, judge_fpr=0.005),
        {"judge_tpr"},
    ),
    "judge: FPR .02 to .08": (PERFECT._replace(judge_fpr=0.08), {"judge_fpr"}),
    "judge: turned round": (PERFECT._replace(judge_tpr=0.2, judge_fpr=0.98), {*OF_JUDGE}),
    "classifier: precision .79 to .65": (PERFECT._replace(precision=0.65), {"precision"}),
    "classifier: recall .67 to .45": (PERFECT._replace(recall=0.45), {"recall"}),
    "people: one in three positives missed": (
        PERFECT._replace(says_positive=(0.0, 0.67)),
        {"people", *LIMITS},
    ),
}


def main(streams: int = 60, quiet: int = 600, seed: int = 1, asked: int = 0) -> None:
    """Print a line for each change."""
    print(f"{'what changes':<40}{'found':>12}{'delay':>7}{'early':>7}{'wrong':>7}  people noticed")
    for i, (name, (after, meant)) in enumerate(CHANGES.items()):
        runs = streams if meant else quiet
        found = [alarms(after, np.random.default_rng((seed, i, k)), asked) for k in range(runs)]
        say(name, meant, found)


def alarms(after: World, rng: np.random.Generator, asked: int = 0) -> dict[str, int]:
    """Play a stream; returns the round of the first alarm of each kind, from 0."""
    evidence, first = {name: Evidence() for name in LIMITS}, dict[str, int]()
    rounds: dict[Verdict | None, list[Counts]] = {flags: [] for flags, _ in LIMITS.values()}
    answered_before = right_before = 0
    for t in range(ROUNDS):
        world = PERFECT if t < CHANGE else after
        counts = labeled(world, rng, asked)
        now = {flags: counts if flags is None else of_judge(counts, flags) for flags in rounds}
        for name, (flags, limit) in LIMITS.items():
            before = rounds[flags]
            log_e = log_e_of_waves(limit, [now[flags]], [guess(before)], earlier=before)
            evidence[name] = evidence[name].after(log_e)
            if evidence[name].fires(log_threshold(EVERY, len(LIMITS))):
                first.setdefault(name, t)
        right = rng.binomial(GOLD, 0.97 * world.says_positive[1])
        total, all_right = answered_before + GOLD, right_before + right
        if t and stats.hypergeom.cdf(right, total, all_right, GOLD) < FALLEN:
            first.setdefault("people", t)
        answered_before, right_before = total, all_right
        for flags, of in rounds.items():
            of.append(now[flags])
    return first


def labeled(world: World, rng: np.random.Generator, asked: int) -> Counts:
    """Label a round, of the items that the judge was asked about."""
    (size, rate), n, sample = world.strata(), LABELED, None
    if asked:
        no, yes, judged = size[~SAYS_YES], size[SAYS_YES], np.zeros(4, dtype=np.int64)
        judged[SAYS_YES] = rng.hypergeometric(yes, no, asked)
        judged[~SAYS_YES] = asked - judged[SAYS_YES]
        items = np.repeat(no + yes, 2)
        sample, n = FirstPhase(judged, np.array([0, 0, 1, 1])), np.minimum(n, judged)
        size = np.rint(items * judged / asked).astype(np.int64)
    return Counts.of_arrays(
        size=size,
        labeled=n,
        positive=rng.binomial(n, rate),
        is_flagged=FLAGGED,
        first_phase=sample,
    )


def of_judge(counts: Counts, flags: Verdict) -> Counts:
    """Count a round for the judge, as evidence on a limit takes it."""
    nothing, is_sampled = np.zeros(4, dtype=np.int64), counts.first_phase is not None
    return as_classifier(Completed(counts, nothing), STRATA, flags, is_sampled=is_sampled).counts


def say(name: str, meant: set[str], found: list[dict[str, int]]) -> None:
    """Print what the alarms of many streams of one change say."""
    delays = [
        min(t for kind, t in first.items() if kind in meant and t >= CHANGE) - CHANGE + 1
        for first in found
        if any(kind in meant and t >= CHANGE for kind, t in first.items())
    ]
    hits = sum(delay <= WITHIN for delay in delays)
    early = sum(any(t < CHANGE for t in first.values()) for first in found)
    wrong = sum(
        any(kind not in meant and t >= CHANGE for kind, t in first.items()) for first in found
    )
    people = sum("people" in first for first in found)
    delay = f"{np.median(delays):.0f}" if delays else "-"
    shown = f"{hits} of {len(found)}" if meant else f"- of {len(found)}"
    print(f"{name:<40}{shown:>12}{delay:>7}{early:>7}{wrong:>7}{people:>8}")
