"""Compare the classifier with its challenger, on the labels of one round and of all rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from monitor.domain.challenger import Challenger, ChallengerRow, ComparedMetric, ComparisonRow
from monitor.domain.model import Frame
from monitor.domain.round import Round
from monitor.domain.setting_types import ends_of
from monitor.domain.settings import CREDIBLE_LEVEL, RoundSettings
from monitor.presentation.parts.challenger import FEW_LABELS, NOT_READ, undecided_reason
from monitor.presentation.reasons import undefined_reason
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart
from monitor.stats.estimation.grouped_cells import RoundItems
from monitor.stats.estimation.paired import Comparison, PairedMetric
from monitor.stats.estimation.summed_windows import compare_windows
from monitor.storage.labels.round_labels import RoundLabels, count_labels
from monitor.storage.results.part_store import PastCounts

MOST_ROUNDS = 10_000  # in practice all of a history
_DRAWS = 2**12
"""Half as many as in `pr-monitor compare`: late labels repeat the comparison of later rounds."""


@dataclass(frozen=True, slots=True)
class ChallengedStratum:
    """A stratum of a round by what the challenger decided: items, and labels as (passed, flagged).

    ``undecided`` are items on which it made no decision, and so does not flag.
    """

    stratum: str
    flagged: bool
    size: int
    challenged: int
    undecided: int
    planned: int
    labeled: tuple[int, int] = (0, 0)
    positive: tuple[int, int] = (0, 0)


Strata: TypeAlias = Sequence[ChallengedStratum]


class ChallengerPart(ReportPart):
    """The challenger on the labels of a round, and of all rounds that had the same one."""

    name = "challenger"
    reach = MOST_ROUNDS
    repeats = True

    def applies(self, round_: Round, labels: RoundLabels) -> bool:  # noqa: ARG002
        """Whether the round has a challenger."""
        return round_.settings.challenger is not None

    def drawn(self, frame: Frame) -> Any:
        """Count what the challenger decided in each stratum; None if that was not read."""
        return [
            [part.stratum.name, part.challenged.flagged, part.challenged.undecided]
            for part in frame.strata
            if part.challenged is not None
        ] or None

    def counts(self, counted: LabeledRound) -> Any:
        """Count labels by stratum and decision; None if the challenger was not read."""
        if not counted.drawn:
            return None
        labels = count_labels(
            ((item.stratum, bool(item.challenged)), positive)
            for item, positive in counted.labels.usable()
        )
        decided = {name: counts for name, *counts in counted.drawn}
        result = []
        for part in counted.labels.strata:
            name, flagged = part.stratum.name, part.stratum.flagged
            if name in decided:
                both = [labels.get((name, flags), (0, 0)) for flags in (False, True)]
                labeled, positive = map(list, zip(*both, strict=True))
                row = [name, flagged, part.size, *decided[name], part.planned, labeled, positive]
                result.append(row)
        return result

    def row(self, version: ReportedVersion) -> ChallengerRow:
        """Compare on this round and pooled; late labels repeat this for all later rounds."""
        round_, strata = version.round, _strata(version.counts)
        challenger = round_.settings.challenger
        assert challenger is not None  # noqa: S101  applies
        stored = version.repeated
        alone = None if stored is None else ChallengerRow.model_validate(stored).alone
        why, pooled = _why_not(strata, round_.settings), None
        if why is None:
            alone = alone or _compared(round_, [strata])
            why = None if alone is not None else FEW_LABELS
            earlier = [past for past in version.earlier if past is not None]
            comparable = _comparable(earlier, round_.settings)
            pooled = _compared(round_, [*comparable, strata]) if comparable else None
        return ChallengerRow(
            name=challenger.title,
            rule=challenger.rule,
            undecided=sum(part.undecided for part in strata),
            level=CREDIBLE_LEVEL,
            alone=None if why else alone,
            pooled=pooled,
            reason=why,
        )


def _strata(counts: Any) -> list[ChallengedStratum]:
    return [
        ChallengedStratum(*[*sizes, tuple(labeled), tuple(positive)])
        for *sizes, labeled, positive in counts or ()
    ]


def _comparable(earlier: Sequence[PastCounts], settings: RoundSettings) -> list[Strata]:
    """Choose the earlier rounds with this challenger; by another threshold it is another one."""
    result: list[Strata] = []
    for past in earlier:
        strata = _strata(past.counts)
        theirs = settings.model_copy(update={"bad_rows_max": past.settings["bad_rows_max"]})
        is_same = Challenger.model_validate(past.settings["challenger"]) == settings.challenger
        if is_same and _why_not(strata, theirs) is None:
            result.append(strata)
    return result


def _why_not(strata: Strata, settings: RoundSettings) -> str | None:
    if not strata:
        return NOT_READ
    undecided, size = (
        sum(getattr(part, field) for part in strata) for field in ("undecided", "size")
    )
    if undecided > settings.bad_rows_max * size:
        return undecided_reason(undecided, size, settings.bad_rows_max)
    cells = settings.sample.cells is not None
    return None if _is_labeled(strata, cells=cells) else FEW_LABELS


def _is_labeled(strata: Strata, *, cells: bool) -> bool:
    """Whether each stratum that holds items has a label; of score cells, each class of them."""
    held = {part.flagged if cells else part.stratum for part in strata if part.size}
    seen = {part.flagged if cells else part.stratum for part in strata if sum(part.labeled)}
    return held <= seen


def _compared(round_: Round, rounds: Sequence[Strata]) -> ComparisonRow | None:
    """Compare on the windows of some rounds, this one the last; None if labels are too few."""
    try:
        result = compare_windows(
            [_items(strata) for strata in rounds],
            flagged=sum(part.flagged for part in rounds[0]),
            cells=round_.settings.sample.cells is not None,
            level=CREDIBLE_LEVEL,
            rng=np.random.default_rng(round_.sobol_seed),
            draws=_DRAWS,
        )
    except ValueError:
        return None
    return _row(result, rounds)


def _items(strata: Strata) -> RoundItems:
    repeats = [n for part in strata for n in _four(part)]
    cell = np.repeat(np.arange(4 * len(strata)), repeats)
    return RoundItems(
        stratum=cell // 4,
        positive=cell % 2 == 1,
        other=cell % 4 > 1,
        size=np.array([part.size for part in strata]),
        other_flagged=np.array([part.challenged for part in strata]),
    )


def _four(part: ChallengedStratum) -> list[int]:
    """Count negatives and positives that the challenger passes, then those that it flags."""
    return [
        n
        for labeled, positive in zip(part.labeled, part.positive, strict=True)
        for n in (labeled - positive, positive)
    ]


def _row(comparison: Comparison, rounds: Sequence[Strata]) -> ComparisonRow:
    parts = [part for strata in rounds for part in strata]
    labeled = sum(sum(part.labeled) for part in parts)
    return ComparisonRow(
        rounds=len(rounds),
        size=sum(part.size for part in parts),
        labeled=labeled,
        positive=sum(sum(part.positive) for part in parts),
        flagged=sum(part.challenged for part in parts),
        only_champion=ends_of(comparison.only_first),
        only_challenger=ends_of(comparison.only_second),
        metrics=tuple(map(_metric, comparison.metrics)),
        unlabeled=sum(part.planned for part in parts) - labeled,
    )


def _metric(paired: PairedMetric) -> ComparedMetric:
    intervals = {
        "champion": paired.first,
        "challenger": paired.second,
        "difference": paired.difference,
    }
    ends: dict[str, Any] = {name: of and ends_of(of) for name, of in intervals.items()}
    if None not in ends.values():
        return ComparedMetric(metric=paired.metric, higher=paired.higher, **ends)
    why = None if paired.reason is None else undefined_reason(paired.reason)
    return ComparedMetric(metric=paired.metric, higher=None, reason=why, **dict.fromkeys(ends))
