"""Estimates of the round alone, corrected for label errors by an audit or by checks of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.report import DecidingRow, ReportedEstimate
from monitor.domain.settings import CREDIBLE_LEVEL, Audit, AuditCounts, RoundSettings
from monitor.presentation.reasons import no_estimate_reason
from monitor.rounds.estimation.checks import CheckedLabels
from monitor.stats.core.beta_mixture import HEAVY
from monitor.stats.core.draws import ESTIMANDS
from monitor.stats.estimation.cell_matrix import plain_counts
from monitor.stats.estimation.missing import worst_case
from monitor.stats.labels.audit import ClassAudits, LabelAudit, NoBetterThanChance
from monitor.stats.labels.label_error import METHOD, corrected_estimates

if TYPE_CHECKING:
    from monitor.stats.core.counts import Counts, Interval
    from monitor.stats.estimation.posterior import MetricEstimate
    from monitor.stats.estimation.small_counts import FewLabels

BASIS = "corrected"  # Basis of these estimates in tables and reports; alerts do not use them


def corrected_rows(
    counts: Counts,
    complete: Sequence[Counts],
    metrics: Sequence[str],
    settings: RoundSettings,
    *,
    seed: int,
    checked: CheckedLabels | None = None,
) -> list[ReportedEstimate]:
    """Estimate every metric once more; none if nothing tells how often labels err.

    ``complete`` are the counts with answers to what is missing (`missing.completions`), and
    ``checked`` what people say of a column's labels. Where labels are no better than chance by
    these or by the audit of the config, each has that as its reason.
    """
    audited = checked if settings.audit is None else settings.audit
    if audited is None:
        return []
    try:
        audit = _audit_of(audited)
    except NoBetterThanChance as error:
        reason = no_estimate_reason(error.why)
        return [_nothing(metric, estimand, reason) for estimand in ESTIMANDS for metric in metrics]
    samples = [counts, *complete]
    if settings.sample.cells is not None:
        # Wrong labels leave no cell pure, and one of most items may show none of those it has.
        samples = [plain_counts(each, prior=HEAVY) for each in samples]
    observed, *corners = (
        corrected_estimates(each, audit, metrics=metrics, seed=seed) for each in samples
    )
    return reported_rows(observed, corners, basis=BASIS)


def _audit_of(counts: Audit | CheckedLabels) -> LabelAudit | ClassAudits:
    if isinstance(counts, CheckedLabels):
        return counts.audit()
    if isinstance(counts, AuditCounts):
        return LabelAudit(**counts.model_dump())
    return ClassAudits(
        *(
            LabelAudit(**class_counts.model_dump())
            for class_counts in (counts.flagged, counts.passed)
        )
    )


def _nothing(metric: str, estimand: str, reason: str | None) -> ReportedEstimate:
    return ReportedEstimate(
        metric=metric,
        estimand=estimand,
        basis=BASIS,
        point=None,
        low=None,
        high=None,
        level=CREDIBLE_LEVEL,
        method=METHOD,
        reason=reason,
    )


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
