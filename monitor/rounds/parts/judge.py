"""Rates of a round's judge, measured by the labels of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.judge import JudgedRow, JudgeRow
from monitor.domain.model import Stratum, Verdict
from monitor.domain.report import NoticeRow
from monitor.domain.round import Round
from monitor.domain.sample_settings import Sample
from monitor.domain.setting_types import ends_of
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.presentation.parts.judge import judge_moved_sentence
from monitor.rounds.estimation.judge import cut_of, smoothed_rates
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.rounds.parts.part import ReportedVersion, ReportPart
from monitor.stats.core.counts import Counts, side_by_side
from monitor.stats.design.cell_sizes import expected_sizes
from monitor.stats.estimation.judge_rates import judge_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray


class JudgePart(ReportPart):
    """The judge's rates, and a notice if it moved."""

    name = "judge"

    def row(self, version: ReportedVersion) -> JudgeRow | None:
        """Estimate the judge by the labels of this round, and of all rounds."""
        return judge_row(version.round, version.tally, version.before)

    def notices(self, version: ReportedVersion, row: JudgeRow | None) -> list[NoticeRow]:  # noqa: ARG002
        """Note that the judge moved."""
        return judge_notices(version.tally, version.before)


_UNSCORED = "unscored"


def judge_row(round_: Round, tally: Tally, earlier: Sequence[Counted]) -> JudgeRow | None:
    """Report how good a round's judge is; None without one."""
    judge, strata, own = round_.settings.judge, tally.frame, tally.counts
    if judge is None or all(one.verdict is None for one in strata):
        return None
    verdicts = np.array([one.verdict or _UNSCORED for one in strata])
    counted = [each.counts for each in earlier]
    seed = round_.sobol_seed
    return JudgeRow(
        title=judge.title,
        level=CREDIBLE_LEVEL,
        size=int(own.size[verdicts != _UNSCORED].sum()),
        missing=int(own.size[verdicts == Verdict.MISSING].sum()),
        alone=_judged([own], verdicts, seed),
        pooled=_judged([*counted, own], verdicts, seed) if counted else None,
        saved=_saved([*counted, own], strata, round_.settings.sample),
    )


def _saved(rounds: Sequence[Counts], strata: Sequence[Stratum], sample: Sample) -> float | None:
    """Estimate the share of labels that the last round's verdicts save, at equal margins.

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
    """Estimate the judge on the windows of some rounds; None if no item has a verdict."""
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
"""Earlier rounds to compare verdicts with: two months of weeks."""

JUDGE_MOVED = 0.2
"""Least relative change that is noted, if it is above ``BEYOND_CHANCE`` standard deviations."""

BEYOND_CHANCE = 4.0


def judge_notices(now: Tally, earlier: Sequence[Counted]) -> list[NoticeRow]:
    """Note that the judge says yes far more or less often than before at equal scores."""
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
