"""The metrics of a challenger in MLflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.domain.challenger_rows import ComparisonRow
    from monitor.domain.report import RoundReport

METRICS = ("precision", "recall")


def challenger_metrics(report: RoundReport) -> dict[str, float]:
    """Name the figures of the challenger: of this round, and what it has more after several.

    Such as ``challenger/recall``, ``challenger/recall_difference`` with ``_low`` and ``_high``, and
    ``challenger/recall_difference_pooled`` from the second round with this challenger on.
    """
    row = report.challenger
    if row is None:
        return {}
    alone, pooled = row.alone, row.pooled
    own = {
        f"challenger/{name}": metric.challenger[0]
        for name in METRICS
        if alone is not None
        if (metric := alone.metric(name)) is not None and metric.challenger is not None
    }
    both = _differences(alone, "difference") | _differences(pooled, "difference_pooled")
    return own | both


def _differences(row: ComparisonRow | None, called: str) -> dict[str, float]:
    if row is None:
        return {}
    return {
        f"challenger/{name}_{called}{end}": value
        for name in METRICS
        if (metric := row.metric(name)) is not None and metric.difference is not None
        for end, value in zip(("", "_low", "_high"), metric.difference, strict=True)
    }
