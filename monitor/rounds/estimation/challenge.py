"""The classifier beside its challenger: on the labels of a round, and of all rounds with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.domain.challenger import ChallengerRow, ComparedMetric, ComparisonRow
from monitor.domain.setting_types import ends_of
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.presentation.challenger import FEW_LABELS, NOT_READ, undecided_reason
from monitor.presentation.reasons import undefined_reason
from monitor.rounds.estimation.types import HistoryBatch
from monitor.stats.estimation.grouped_cells import RoundItems
from monitor.stats.estimation.paired import Comparison, PairedMetric
from monitor.stats.estimation.summed_windows import compare_windows
from monitor.storage.results import challenger_store, report_store
from monitor.storage.results.challenger_store import ChallengedStratum
from monitor.storage.rounds import round_store
from monitor.storage.rounds.round_store import Round

if TYPE_CHECKING:
    from sqlalchemy import Connection

    Strata = Sequence[ChallengedStratum]

_DRAWS = 2**12
"""Half of those of `pr-monitor compare`: late labels compare in all rounds after theirs again."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a version of a round says of its challenger, and the counts that it is on."""

    row: ChallengerRow
    counted: tuple[ChallengedStratum, ...] = ()


def challenges(connection: Connection, batch: HistoryBatch) -> dict[int, Challenge]:
    """Compare in each affected round that has a challenger; late labels compare again."""
    rounds = [member.round for member in batch.affected]
    if all(round_.settings.challenger is None for round_ in rounds):
        return {}
    # The rounds of the history before the affected ones, as they were last counted.
    before = challenger_store.read_counts(connection, [each.id for each in batch.earlier])
    counted: list[tuple[Round, Strata]] = [
        (round_, before[round_.id]) for round_ in round_store.read_rounds(connection, before)
    ]
    result: dict[int, Challenge] = {}
    for round_ in rounds:
        if round_.settings.challenger is None:
            continue
        labels = batch.labels[round_.id]
        strata = challenger_store.current_strata(connection, round_.id, labels)
        stored = _stored(connection, round_)
        result[round_.id] = _challenge(round_, strata, counted, stored)
        counted.append((round_, strata))
    return result


def _stored(connection: Connection, round_: Round) -> ComparisonRow | None:
    """Read the comparison by this round's labels, where no label changed since."""
    if round_.is_changed:
        return None
    row = report_store.read_report(connection, round_.id, round_.version).get("challenger")
    return None if row is None else ChallengerRow.model_validate(row).alone


def _challenge(
    round_: Round,
    strata: Strata,
    earlier: Sequence[tuple[Round, Strata]],
    stored: ComparisonRow | None,
) -> Challenge:
    challenger = round_.settings.challenger
    assert challenger is not None  # noqa: S101  asked by the caller
    why = _why_not(round_, strata)
    alone = pooled = None
    if why is None:
        alone = stored or _compared(round_, [strata])
        why = None if alone is not None else FEW_LABELS
        # Another challenger, also one by another threshold, is never mixed with this one.
        comparable = [
            counted
            for other, counted in earlier
            if other.settings.challenger == challenger and _why_not(other, counted) is None
        ]
        pooled = _compared(round_, [*comparable, strata]) if comparable else None
    row = ChallengerRow(
        name=challenger.title,
        rule=challenger.rule,
        undecided=sum(part.undecided for part in strata),
        level=CREDIBLE_LEVEL,
        alone=alone,
        pooled=pooled,
        reason=why,
    )
    return Challenge(row, tuple(strata))


def _why_not(round_: Round, strata: Strata) -> str | None:
    if not strata:
        return NOT_READ
    undecided, size = (
        sum(getattr(part, field) for part in strata) for field in ("undecided", "size")
    )
    if undecided > round_.settings.bad_rows_max * size:
        return undecided_reason(undecided, size, round_.settings.bad_rows_max)
    cells = round_.settings.sample.cells is not None
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
