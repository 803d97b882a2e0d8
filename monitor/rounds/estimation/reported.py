"""An estimate of the statistics as reports and the store have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.report import DecidingRow, ReportedEstimate
from monitor.presentation.reasons import no_estimate_reason
from monitor.stats.estimation.missing import worst_case

if TYPE_CHECKING:
    from monitor.stats.core.counts import Interval
    from monitor.stats.estimation.posterior import MetricEstimate
    from monitor.stats.estimation.small_counts import FewLabels


def reported(
    estimate: MetricEstimate, *, basis: str | None = None, bounds: Interval | None = None
) -> ReportedEstimate:
    """Report an estimate; the worst-case ``bounds`` are its interval where answers are missing."""
    return ReportedEstimate(
        metric=estimate.metric,
        estimand=estimate.estimand,
        basis=basis or estimate.basis,
        point=estimate.point,
        low=estimate.low if bounds is None else bounds.low,
        high=estimate.high if bounds is None else bounds.high,
        level=estimate.level,
        method=estimate.method,
        reason=no_estimate_reason(estimate.reason),
        bound_low=None if bounds is None else bounds.low,
        bound_high=None if bounds is None else bounds.high,
        answered_low=None if bounds is None else estimate.low,
        answered_high=None if bounds is None else estimate.high,
        caution=_deciding(estimate.caution),
    )


def reported_rows(
    rows: Sequence[MetricEstimate],
    corners: Sequence[Sequence[MetricEstimate]],
    *,
    basis: str | None = None,
) -> list[ReportedEstimate]:
    """Report estimates: with worst-case bounds where ``corners`` holds completed samples."""
    bounds = worst_case(rows, corners) if corners else [None] * len(rows)
    return [reported(row, basis=basis, bounds=ends) for row, ends in zip(rows, bounds, strict=True)]


def _deciding(few: FewLabels | None) -> tuple[DecidingRow, ...]:
    if few is None:
        return ()
    return tuple(
        DecidingRow(predicted=one.predicted, answer=one.answer, worth=one.worth, moves=one.moves)
        for one in few.classes
    )
