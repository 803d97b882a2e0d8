"""An estimate of the statistics as reports and the store have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.report import DecidingRow, ReportedEstimate
from monitor.presentation.reasons import no_estimate_reason

if TYPE_CHECKING:
    from monitor.stats.core.counts import Interval
    from monitor.stats.estimation.posterior import MetricEstimate
    from monitor.stats.estimation.small_counts import FewLabels


def reported(
    estimate: MetricEstimate, *, basis: str | None = None, bounds: Interval | None = None
) -> ReportedEstimate:
    """Report an estimate; ``bounds`` are those of the missing answers, where some are missing."""
    return ReportedEstimate(
        metric=estimate.metric,
        estimand=estimate.estimand,
        basis=basis or estimate.basis,
        point=estimate.point,
        low=estimate.low,
        high=estimate.high,
        level=estimate.level,
        method=estimate.method,
        reason=no_estimate_reason(estimate.reason),
        bound_low=None if bounds is None else bounds.low,
        bound_high=None if bounds is None else bounds.high,
        caution=_deciding(estimate.caution),
    )


def _deciding(few: FewLabels | None) -> tuple[DecidingRow, ...]:
    if few is None:
        return ()
    return tuple(
        DecidingRow(predicted=one.predicted, answer=one.answer, worth=one.worth, moves=one.moves)
        for one in few.classes
    )
