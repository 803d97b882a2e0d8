"""What a judge's verdicts are worth: as a cut of the strata, and by the labels of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.judge import JudgedRow, JudgeRow
from monitor.domain.model import Stratum, Verdict
from monitor.domain.report import NoticeRow, ReportedEstimate
from monitor.domain.sample_settings import Sample
from monitor.domain.setting_types import ends_of
from monitor.domain.settings import CREDIBLE_LEVEL, JUDGE_METRICS, Limits
from monitor.presentation.judge import judge_moved_sentence
from monitor.rounds.estimation.label_errors import reported_rows
from monitor.rounds.estimation.tally import Completed, Counted, Tally
from monitor.rounds.estimation.types import Member
from monitor.stats.core.counts import Counts, side_by_side
from monitor.stats.design.cell_sizes import expected_sizes
from monitor.stats.design.recalibration import Cut, recalibrated_rates
from monitor.stats.detection.alternatives import decayed_labels
from monitor.stats.estimation.judge_rates import (
    counts_of_judge,
    judge_rates,
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
    """Count a round for its judge, as for a classifier that flags what the judge says yes to.

    Items without a verdict do not count. With ``flags`` a no, negatives are the positives of the
    classifier: what an FPR is about.
    """
    verdicts, counts = np.array([one.verdict or "" for one in strata]), counted.counts
    flagged, has_verdict = verdicts == flags, np.isin(verdicts, (Verdict.YES, Verdict.NO))
    order = judged_order(counts.is_flagged, flagged, has_verdict)
    if flags is Verdict.NO:
        negative = counts.labeled - counts.positive
        counts = Counts(counts.size, counts.labeled, negative, counts.is_flagged)
    return Completed(counts_of_judge(counts, flagged, order), counted.missing[order])


def judge_estimates(now: Tally, limits: Limits, *, seed: int) -> list[ReportedEstimate]:
    """Estimate each rate of a round's judge that has a limit, from this round alone."""
    names = {JUDGE_METRICS[side.metric]: side.metric for side in limits.on_judge()}
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


def judge_row(member: Member, earlier: Sequence[Counted]) -> JudgeRow | None:
    """Report how good a round's judge is; None without one."""
    judge, strata, own = member.round.settings.judge, member.tally.frame, member.tally.counts
    if judge is None or all(one.verdict is None for one in strata):
        return None
    verdicts = np.array([one.verdict or _UNSCORED for one in strata])
    counted = [each.counts for each in earlier]
    seed = member.round.sobol_seed
    return JudgeRow(
        title=judge.title,
        level=CREDIBLE_LEVEL,
        size=int(own.size[verdicts != _UNSCORED].sum()),
        missing=int(own.size[verdicts == Verdict.MISSING].sum()),
        alone=_judged([own], verdicts, seed),
        pooled=_judged([*counted, own], verdicts, seed) if counted else None,
        saved=_saved([*counted, own], strata, member.round.settings.sample),
    )


def _saved(rounds: Sequence[Counts], strata: Sequence[Stratum], sample: Sample) -> float | None:
    """Estimate the share of the labels for equal intervals that the last round's verdicts save.

    None if a predicted class holds no items.
    """
    now, cut = rounds[-1], cut_of(strata)
    if cut is None or not all(now.size[of].any() for of in (now.is_flagged, ~now.is_flagged)):
        return None
    rates, unscored = smoothed_rates(strata, rounds), np.array([one.unscored for one in strata])
    _, cell = np.unique(
        np.stack([now.is_flagged, unscored, cut.position]), axis=1, return_inverse=True
    )
    size = np.bincount(cell.ravel(), weights=now.size)
    merged = np.bincount(cell.ravel(), weights=now.size * rates) / np.maximum(size, 1)
    is_flagged = np.bincount(cell.ravel(), weights=now.is_flagged) > 0
    cut_labels, labels = (
        expected_sizes(
            sizes[sizes > 0],
            up[sizes > 0],
            each[sizes > 0],
            share=sample.share_by_size,
            margins=_MARGINS,
        ).sum()
        for sizes, up, each in ((now.size, now.is_flagged, rates), (size, is_flagged, merged))
    )
    return float(f"{1 - cut_labels / labels:.3g}")


_MARGINS = {"precision": 0.05, "recall": 0.05}


def _judged(rounds: Sequence[Counts], verdicts: NDArray[np.str_], seed: int) -> JudgedRow | None:
    """Estimate the judge on the windows of some rounds; None where no item has a verdict."""
    verdict = np.tile(verdicts, len(rounds))
    counts = side_by_side(rounds)
    judged = np.isin(verdict, (Verdict.YES, Verdict.NO))
    if not counts.size[judged].any():
        return None
    rates = judge_rates(
        counts, verdict == Verdict.YES, judged, seed=seed, level=CREDIBLE_LEVEL
    )._asdict()
    return JudgedRow(
        rounds=len(rounds),
        size=int(counts.size[judged].sum()),
        yes=int(counts.size[verdict == Verdict.YES].sum()),
        labeled=int(counts.labeled[judged].sum()),
        **{name: None if rate is None else ends_of(rate) for name, rate in rates.items()},
    )


JUDGED_BEFORE = 8
"""Rounds whose verdicts are compared with: two months of weeks."""

JUDGE_MOVED = 0.2
"""Noted from this relative change on, if it is ``BEYOND_CHANCE`` standard deviations."""

BEYOND_CHANCE = 4.0


def judge_notices(now: Tally, earlier: Sequence[Counted]) -> list[NoticeRow]:
    """Note that the judge says yes far more often, or more seldom, than earlier at equal scores."""
    strata, counts, cut = now.frame, now.counts, cut_of(now.frame)
    if cut is None or not earlier:
        return []
    verdicts = np.array([one.verdict or "" for one in strata])
    _, cell = np.unique(np.stack([counts.is_flagged, cut.position]), axis=1, return_inverse=True)
    before = [each.counts.size for each in earlier[-JUDGED_BEFORE:]]
    rounds = np.stack([counts.size, np.sum(before, axis=0)])
    (yes, yes_before), (no, no_before) = (
        [np.bincount(cell.ravel(), weights=of * (verdicts == verdict)) for of in rounds]
        for verdict in (Verdict.YES, Verdict.NO)
    )
    share = (yes_before + 0.5) / (yes_before + no_before + 1)
    has_history = yes_before + no_before > 0
    size = (yes + no) * has_history
    expected, answered = float(size @ share), float((yes * has_history).sum())
    spread = np.sqrt(size * share * (1 - share) * (1 + size / (yes_before + no_before + 1)))
    is_far = abs(answered - expected) > BEYOND_CHANCE * float(np.linalg.norm(spread))
    if not is_far or abs(answered - expected) < JUDGE_MOVED * expected:
        return []
    sentence = judge_moved_sentence(round(answered), round(expected))
    return [
        NoticeRow(kind="judge", subject="verdicts", value=answered / expected, sentence=sentence)
    ]
