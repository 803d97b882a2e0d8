"""Use a judge's verdicts as a cut of the strata, and estimate the judge from people's labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import Stratum, Verdict
from monitor.domain.report import ReportedEstimate
from monitor.domain.settings import Limits
from monitor.limitable import JUDGE, LIMITABLE
from monitor.rounds.estimation.label_errors import reported_rows
from monitor.rounds.estimation.tally import Completed, Counted, Tally
from monitor.stats.core.counts import Counts
from monitor.stats.design.recalibration import Cut, recalibrated_rates
from monitor.stats.detection.alternatives import decayed_labels
from monitor.stats.estimation.judge_rates import (
    counts_of_judge,
    judged_order,
)
from monitor.stats.estimation.missing import completions
from monitor.stats.estimation.posterior import estimates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


def cut_of(strata: Sequence[Stratum]) -> Cut | None:
    """Describe how a judge cuts the strata of each class besides the score; None without one.

    A missing verdict has a separate term, so that without any label it is taken for neither.
    """
    if all(one.verdict is None for one in strata):
        return None
    seen = Counter[tuple[bool, Verdict | None]]()
    positions, terms = [], []
    for one in strata:
        positions.append(seen[one.flagged, one.verdict])
        seen[one.flagged, one.verdict] += 1
        terms.append((_SIGN.get(one.verdict, 0.0), float(one.verdict is Verdict.MISSING)))
    return Cut(np.array(positions), np.array(terms))


def smoothed_rates(strata: Sequence[Stratum], rounds: Sequence[Counts]) -> Values:
    """Smooth the rates of score cells along the score, and by verdict; shape ``(H,)``.

    rounds: Sizes and labels of these strata, in slot order; sizes count of the last one only.
    """
    now, (positive, labeled) = rounds[-1], decayed_labels(rounds)
    unscored = [one.unscored for one in strata]
    return recalibrated_rates(now.size, now.is_flagged, labeled, positive, unscored, cut_of(strata))


_UNSCORED = "unscored"
_SIGN: dict[Verdict | None, float] = {Verdict.NO: -1.0, Verdict.YES: 1.0}


def as_classifier(
    counted: Counted, strata: Sequence[Stratum], flags: Verdict = Verdict.YES
) -> Completed:
    """Count a round for its judge, as a classifier that flags the items with verdict ``flags``.

    Items without a verdict do not count. With ``flags`` a no, negative items count as positives, as
    an FPR needs.
    """
    verdicts, counts = np.array([one.verdict or "" for one in strata]), counted.counts
    flagged, has_verdict = verdicts == flags, np.isin(verdicts, (Verdict.YES, Verdict.NO))
    order = judged_order(counts.is_flagged, flagged, has_verdict)
    if flags is Verdict.NO:
        negative = counts.labeled - counts.positive
        counts = replace(counts, positive=negative)
    return Completed(counts_of_judge(counts, flagged, order), counted.missing[order])


def judge_estimates(now: Tally, limits: Limits, *, seed: int) -> list[ReportedEstimate]:
    """Estimate each rate of a round's judge that has a limit, from this round alone."""
    names = {LIMITABLE[side.metric].metric: side.metric for side in limits.on(JUDGE)}
    if not names or all(one.verdict is None for one in now.frame):
        return []
    judge = as_classifier(now, now.frame)
    rows, *corners = (
        [
            replace(row, metric=names[row.metric])
            for row in estimates(counts, metrics=tuple(names), seed=seed, cells=True)
        ]
        for counts in (judge.counts, *completions(judge.counts, judge.missing))
    )
    return reported_rows(rows, corners)
