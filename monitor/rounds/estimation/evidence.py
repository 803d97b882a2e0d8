"""Evidence of a round on its limits: those on the classifier, and those on its judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import Stratum, Verdict
from monitor.domain.settings import JUDGE_METRICS, Limits, LimitSide, ReferenceMatrix, RoundSettings
from monitor.rounds.estimation.judge import as_classifier
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import ERRORS, guess
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.waves import log_e_path_of_waves, log_recovery_of_waves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.rounds.estimation.tally import Completed, Counted, Tally

    Rates = NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class LimitEvidence:
    """One round about one limit: log e against it per alternative, and log e of a recovery.

    ``log_path`` is log e after each block before the round's end.
    """

    limit: LimitSide
    log_e: tuple[float, ...]
    log_recovery: float
    log_path: tuple[tuple[float, ...], ...] = ()


def classifier_evidence(
    waves: Sequence[Sequence[Tally]],
    earlier: Sequence[Counted],
    reference: Counts | None,
    settings: RoundSettings,
) -> list[LimitEvidence]:
    """Read the evidence of a round on each limit of the classifier, wave by wave, block by block.

    What a wave is expected to find comes from what was there before it, the waves before it too.
    """
    whole = [wave[-1] for wave in waves]
    rates = [
        expected_rates([*earlier, *whole[:i]], reference, wave.counts, settings)
        for i, wave in enumerate(whole)
    ]
    return [
        _read(LimitSide(limit.metric, limit.value, limit.side), limit, waves, earlier, rates)
        for limit in settings.limits.watched()
    ]


def judge_evidence(
    waves: Sequence[Tally], earlier: Sequence[Counted], limits: Limits
) -> list[LimitEvidence]:
    """Read the evidence of a round on each limit of the judge, likewise.

    A round without verdicts has none, neither for a limit nor against it.
    """
    strata = waves[0].frame
    if not limits.on_judge() or all(one.verdict is None for one in strata):
        nothing = (0.0,) * len(ERRORS)
        return [LimitEvidence(side, nothing, log_recovery=0.0) for side in limits.on_judge()]
    return [_judge_evidence(side, waves, earlier, strata) for side in limits.on_judge()]


def _judge_evidence(
    side: LimitSide, waves: Sequence[Tally], earlier: Sequence[Counted], strata: Sequence[Stratum]
) -> LimitEvidence:
    limit, flags = Limit(JUDGE_METRICS[side.metric], side.value, side.side).direct(), Verdict.YES
    if limit.metric == "specificity":  # recall of the negatives, by what the judge says no to
        limit, flags = replace(limit, metric="recall"), Verdict.NO
    is_sampled = waves[0].counts.first_phase is not None
    counted = partial(as_classifier, strata=strata, flags=flags, is_sampled=is_sampled)
    now, before = [counted(wave) for wave in waves], [counted(each) for each in earlier]
    rates = [guess([each.counts for each in [*before, *now[:i]]]) for i in range(len(now))]
    return _read(side, limit, [[wave] for wave in now], before, rates)


def _read(
    side: LimitSide,
    limit: Limit,
    waves: Sequence[Sequence[Tally | Completed]],
    earlier: Sequence[Counted],
    rates: Sequence[Rates],
) -> LimitEvidence:
    counts = [[block.counts for block in wave] for wave in waves]
    missing = [[block.missing for block in wave] for wave in waves]
    before = [each.counts for each in earlier]
    *path, log_e = log_e_path_of_waves(limit, counts, rates, missing, before).tolist()
    whole, lost = [wave[-1] for wave in counts], [wave[-1] for wave in missing]
    return LimitEvidence(
        limit=side,
        log_e=tuple(log_e),
        log_recovery=log_recovery_of_waves(limit, whole, rates, lost, before),
        log_path=tuple(tuple(row) for row in path),
    )


def expected_rates(
    earlier: Sequence[Counted], reference: Counts | None, counts: Counts, settings: RoundSettings
) -> Rates:
    """Rates to expect in a round with strata like those counted, by what came before it."""
    rates = guess([tally.counts for tally in earlier], reference)
    if rates is None and settings.reference is not None:
        return _guess_of_matrix(settings.reference, counts)
    return rates


def _guess_of_matrix(matrix: ReferenceMatrix, counts: Counts) -> Rates:
    """First guess from four counts: every band of a class at the class's rate.

    Bands differ, but a guess only steers the power of the detector, never its promise.
    """
    classes = Counts.of_matrix(
        **matrix.model_dump(), flagged_size=matrix.tp + matrix.fp, passed_size=matrix.fn + matrix.tn
    )
    rates = guess([], classes)
    return None if rates is None else np.where(counts.is_flagged, rates[0], rates[1])
