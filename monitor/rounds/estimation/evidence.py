"""Evidence of a round on the limits of its classifier and of its judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.alerting import AlertState, StoredAlert, keeps, recovery_after
from monitor.domain.model import Stratum, Verdict
from monitor.domain.report import RecoveryRow, find_row
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import Limits, LimitSide, ReferenceMatrix, RoundSettings
from monitor.limitable import CLASSIFIER, JUDGE, LIMITABLE, subject_of
from monitor.rounds.estimation.history import before_launch, cells_to_pool
from monitor.rounds.estimation.judge import as_classifier, smoothed_rates
from monitor.rounds.estimation.tally import Completed, Counted, Tally
from monitor.rounds.estimation.types import (
    Estimates,
    HistoryBatch,
    LimitEvidence,
    RoundEstimate,
)
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import ERRORS, guess
from monitor.stats.detection.half_space import Limit, Side
from monitor.stats.detection.random_shares import log_e_path_of_shares, log_recovery_of_shares
from monitor.stats.detection.recovery import WRONGLY_ENDED, Recovery, ending
from monitor.stats.detection.scenario import Scenario
from monitor.storage.results import evidence_store

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    Rates = NDArray[np.float64] | None


def classifier_evidence(
    blocks: Sequence[Tally],
    earlier: Sequence[Counted],
    reference: Counts | None,
    settings: RoundSettings,
) -> list[LimitEvidence]:
    """Read the evidence of a round on each limit of the classifier, block by block."""
    rates = expected_rates(earlier, reference, blocks[-1].counts, settings)
    return [
        _read(LimitSide(limit.metric, limit.value, limit.side), limit, blocks, earlier, rates)
        for limit in settings.limits.watched()
    ]


def judge_evidence(now: Tally, earlier: Sequence[Counted], limits: Limits) -> list[LimitEvidence]:
    """Read the evidence of a round on each limit of the judge, likewise.

    A round without verdicts has none, neither for a limit nor against it.
    """
    strata = now.frame
    if not limits.on(JUDGE) or all(one.verdict is None for one in strata):
        nothing = (0.0,) * len(ERRORS)
        return [LimitEvidence(side, nothing, log_recovery=0.0) for side in limits.on(JUDGE)]
    return [_judge_evidence(side, now, earlier, strata) for side in limits.on(JUDGE)]


def _judge_evidence(
    side: LimitSide, now: Tally, earlier: Sequence[Counted], strata: Sequence[Stratum]
) -> LimitEvidence:
    metric, flags = LIMITABLE[side.metric].metric, Verdict.YES
    limit = Limit(metric, side.value, side.side).direct()
    if limit.metric == "specificity":  # recall of the negatives, by what the judge says no to
        limit, flags = replace(limit, metric="recall"), Verdict.NO
    counted = partial(as_classifier, strata=strata, flags=flags)
    before = [counted(each) for each in earlier]
    return _read(side, limit, [counted(now)], before, guess([each.counts for each in before]))


def _read(
    side: LimitSide,
    limit: Limit,
    blocks: Sequence[Tally | Completed],
    earlier: Sequence[Counted],
    rates: Rates,
) -> LimitEvidence:
    counts, missing = [each.counts for each in blocks], [each.missing for each in blocks]
    before = [each.counts for each in earlier]
    last = blocks[-1]
    groups = last.groups if isinstance(last, Tally) else None
    *path, log_e = log_e_path_of_shares(
        limit, counts, rates, missing, before, groups=groups
    ).tolist()
    return LimitEvidence(
        limit=side,
        log_e=tuple(log_e),
        log_recovery=log_recovery_of_shares(limit, counts[-1], rates, missing[-1], before, groups),
        log_path=tuple(tuple(row) for row in path),
    )


def expected_rates(
    earlier: Sequence[Counted], reference: Counts | None, counts: Counts, settings: RoundSettings
) -> Rates:
    """Return the expected rates of a round's strata, from earlier rounds or a reference."""
    rates = guess([tally.counts for tally in earlier], reference)
    if rates is None and settings.reference is not None:
        return _guess_of_matrix(settings.reference, counts)
    return rates


def _guess_of_matrix(matrix: ReferenceMatrix, counts: Counts) -> Rates:
    """Guess rates from four counts; they affect the detector's power, but not its promise."""
    classes = Counts.of_matrix(
        **matrix.model_dump(), flagged_size=matrix.tp + matrix.fp, passed_size=matrix.fn + matrix.tn
    )
    rates = guess([], classes)
    return None if rates is None else np.where(counts.is_flagged, rates[0], rates[1])


SHARE = 0.8  # Probability that an alert ends within the stated rounds
ROUNDS = 52  # Most rounds that are simulated
PATHS = 400  # Simulated alerts: a share of 0.8 of them has a standard error of 0.02
LARGEST = 700  # Log evidence above which e**x is no finite number


def recovery_rows(
    connection: Connection, batch: HistoryBatch, estimates: Estimates, alerts: Sequence[StoredAlert]
) -> dict[str, RecoveryRow]:
    """Report how far the evidence of each open alert is from its end, by the alert's id.

    Future rounds are assumed to be like the newest round of the history.
    """
    firing = [alert for alert in alerts if alert.state is AlertState.FIRING]
    if not firing:
        return {}
    newest = batch.affected[-1].round
    last = evidence_store.last_readings(connection, newest.monitor_id)
    return {
        alert.id: _row(
            alert, recovery_after(last.get((alert.metric, alert.side))), batch, estimates[newest.id]
        )
        for alert in firing
    }


def _row(
    alert: StoredAlert, recovery: Recovery, batch: HistoryBatch, estimate: RoundEstimate
) -> RecoveryRow:
    level = _level(estimate, alert.metric)
    return RecoveryRow(
        rounds=recovery.rounds,
        evidence=math.exp(min(recovery.log_r, LARGEST)),
        ends_at=1 / WRONGLY_ENDED,
        level=level,
        within=None if level is None else _within(alert, recovery, batch, estimate, level),
        share=SHARE,
        at_most=ROUNDS,
    )


def _level(estimate: RoundEstimate, metric: str) -> float | None:
    """Return the reported value of a metric: pooled, or of this round for a judge's rate."""
    row = find_row(estimate.rows, metric, "pooled" if subject_of(metric) == CLASSIFIER else "round")
    return None if row is None else row.point


def _within(
    alert: StoredAlert,
    recovery: Recovery,
    batch: HistoryBatch,
    estimate: RoundEstimate,
    level: float,
) -> int | None:
    """Simulate how many rounds it takes until the alert ends if the metric stays at its level.

    None if the level misses the limit, if too few simulated alerts end within `ROUNDS`, or for a
    rate of the judge, which is not simulated.
    """
    if subject_of(alert.metric) != CLASSIFIER or not keeps(alert.side, alert.limit, level):
        return None
    counted = batch.counted
    newest, reference = batch.affected[-1], batch.history.reference
    counts = newest.tally.counts
    before = before_launch(newest.tally.frame, reference)
    rates = expected_rates(counted, before, counts, newest.round.settings)
    if rates is None:
        return None
    existing = [*([] if before is None else [before]), *(each.counts for each in counted)]
    supposed = _true_rates(newest.tally, existing, estimate, newest.round.settings.sample)
    now = Scenario(counts.size, counts.labeled, counts.is_flagged, supposed)
    side: Side = "at_least" if alert.side == "at_least" else "at_most"
    delay = ending(
        _at_level(now, alert.metric, level),
        Limit(alert.metric, alert.limit, side),
        rates,
        recovery=recovery,
        rounds=ROUNDS,
        paths=PATHS,
        seed=newest.round.sobol_seed,
    )
    return delay.rounds_for(SHARE)


def _true_rates(
    newest: Tally, rounds: Sequence[Counts], estimate: RoundEstimate, sample: Sample
) -> NDArray[np.float64]:
    """Return the assumed rate of each stratum: pooled, or for cells smoothed along the score."""
    if cells_to_pool(newest.frame, sample) is None:
        return estimate.pooled.mean()
    return smoothed_rates(newest.frame, rounds)


def _at_level(now: Scenario, metric: str, level: float) -> Scenario:
    """Scale the errors until a metric is at its reported level, if possible."""
    value = now.value(metric)
    try:
        return now if value is None else now.dropped(metric, value - level)
    except ValueError:
        return now
