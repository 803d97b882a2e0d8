"""Who changed: the classifier, its judge, or the people who label? By alerts and gold items.

Streams of 40 rounds with 600 labels, 240 of flagged items, and 20 gold items that people answer; a
change comes in round 11. The classifier has precision .79, recall .67 and the limits .74 and .60,
the judge rates .80 and .02 and the limits .70 and .04. `found` counts streams with an alert, or a
notice about gold items, within 20 rounds of the change, and `delay` is the median in rounds.
Alerts before the change are `early`, others than those meant `wrong`. After arXiv 2606.15474, where
a judge that scores the product itself has to be told from it: here people's labels decide.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.harness import Values, Whole
from monitor.presentation.notices import FALLEN
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.waves import log_e_of_waves
from monitor.stats.estimation.judge_rates import counts_of_judge, judged_order

ROUNDS, CHANGE, WITHIN, EVERY, GOLD = 40, 10, 20, 52, 20
SIZE, FLAGGED = 100_000, np.array([True, True, False, False])
SAYS_YES = np.array([False, True, False, True])
LABELED = np.array([120, 120, 180, 180])
LIMITS = {
    "precision": Limit("precision", 0.74, "at_least"),
    "recall": Limit("recall", 0.60, "at_least"),
    "judge_tpr": Limit("recall", 0.70, "at_least"),
    "judge_fpr": Limit("fpr", 0.04, "at_most"),
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


def main(streams: int = 60, quiet: int = 600, seed: int = 1) -> None:
    """Print a line for each change."""
    print(f"{'what changes':<40}{'found':>12}{'delay':>7}{'early':>7}{'wrong':>7}  people noticed")
    for i, (name, (after, meant)) in enumerate(CHANGES.items()):
        runs = streams if meant else quiet
        found = [alarms(after, np.random.default_rng((seed, i, k))) for k in range(runs)]
        say(name, meant, found)


def alarms(after: World, rng: np.random.Generator) -> dict[str, int]:
    """Play a stream; returns the round of the first alarm of each kind, from 0."""
    order = judged_order(FLAGGED, SAYS_YES, np.ones(4, dtype=np.bool_))
    evidence, first = {name: Evidence() for name in LIMITS}, dict[str, int]()
    of_classifier, of_judge = list[Counts](), list[Counts]()
    answered_before = right_before = 0
    for t in range(ROUNDS):
        world = PERFECT if t < CHANGE else after
        size, rate = world.strata()
        counts = Counts.of_arrays(
            size=size,
            labeled=LABELED,
            positive=rng.binomial(LABELED, rate),
            is_flagged=FLAGGED,
        )
        judge = counts_of_judge(counts, SAYS_YES, order)
        for name, limit in LIMITS.items():
            now, before = (judge, of_judge) if name in OF_JUDGE else (counts, of_classifier)
            evidence[name] = evidence[name].after(log_e_of_waves(limit, [now], [guess(before)]))
            if evidence[name].fires(log_threshold(EVERY, len(LIMITS))):
                first.setdefault(name, t)
        right = rng.binomial(GOLD, 0.97 * world.says_positive[1])
        total, all_right = answered_before + GOLD, right_before + right
        if t and stats.hypergeom.cdf(right, total, all_right, GOLD) < FALLEN:
            first.setdefault("people", t)
        answered_before, right_before = total, all_right
        of_classifier.append(counts)
        of_judge.append(judge)
    return first


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
