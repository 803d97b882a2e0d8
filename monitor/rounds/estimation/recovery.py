"""How far each open alert is from its end, and how long that may take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState, keeps, recovery_after
from monitor.domain.report import RecoveryRow
from monitor.domain.settings import JUDGE_METRICS
from monitor.rounds.estimation.evidence import expected_rates
from monitor.rounds.estimation.history import before_launch
from monitor.rounds.estimation.judge import smoothed_rates
from monitor.rounds.estimation.pooled_labels import cells_to_pool
from monitor.stats.detection.half_space import Limit, Side
from monitor.stats.detection.recovery import WRONGLY_ENDED, Recovery, ending
from monitor.stats.detection.scenario import Scenario
from monitor.storage.results import evidence_store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from monitor.domain.alerting import StoredAlert
    from monitor.domain.sample_settings import Sample
    from monitor.rounds.estimation.batch import Estimates, HistoryBatch
    from monitor.rounds.estimation.estimate import RoundEstimate
    from monitor.rounds.estimation.tally import Tally
    from monitor.stats.core.counts import Counts

SHARE = 0.8  # How sure it is said that an alert ends within so many rounds
ROUNDS = 52  # How far ahead is looked
PATHS = 400  # Simulated alerts: a share of .8 of them has a standard error of .02
LARGEST = 700  # Log evidence above which e**x is no finite number


def recovery_rows(
    connection: Connection, batch: HistoryBatch, estimates: Estimates, alerts: Sequence[StoredAlert]
) -> dict[str, RecoveryRow]:
    """Report how far the evidence of each open alert is from its end, by the alert's id.

    Rounds to come are supposed to be like the newest round of the history: in its sizes, its
    labels, and the rates and the level that were last estimated with it.
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
    """Find what reports show of a metric with earlier rounds; of a judge's rate, in this round."""
    shown = (metric, *(("round", "window") if metric in JUDGE_METRICS else ("pooled", "rate")))
    points = [row.point for row in estimate.rows if (row.metric, row.basis, row.estimand) == shown]
    return points[0] if points else None


def _within(
    alert: StoredAlert,
    recovery: Recovery,
    batch: HistoryBatch,
    estimate: RoundEstimate,
    level: float,
) -> int | None:
    """Count the rounds until the alert has ended, the metric staying where it is.

    None also for a rate of the judge, which these simulations do not know.
    """
    if alert.metric in JUDGE_METRICS or not keeps(alert.side, alert.limit, level):
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
    """Suppose a rate for each stratum: as pooled, and of cells as smoothed along the score."""
    if cells_to_pool(newest.frame, sample) is None:
        return estimate.pooled.mean()
    return smoothed_rates(newest.frame, rounds)


def _at_level(now: Scenario, metric: str, level: float) -> Scenario:
    """Scale the wrong answers until a metric is at the level that is shown of it.

    It is there already but for the shape of its posterior; where wrong answers of its class do
    not lead there, it stays.
    """
    value = now.value(metric)
    try:
        return now if value is None else now.dropped(metric, value - level)
    except ValueError:
        return now
