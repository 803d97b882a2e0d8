"""What MLflow is told of a challenger: a dozen metrics, a sentence and a table of the note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.presentation.challenger import challenger_sentence, challenger_tables

if TYPE_CHECKING:
    from monitor.domain.challenger_rows import ComparisonRow
    from monitor.domain.report import RoundReport
    from monitor.presentation.challenger import ComparisonTable

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


def sentence_of(report: RoundReport) -> str | None:
    """Describe how the challenger does; None without one."""
    return None if report.challenger is None else challenger_sentence(report.challenger)


def table_of(report: RoundReport) -> ComparisonTable | None:
    """Lay out the comparison with the most rounds; None without one."""
    tables = [] if report.challenger is None else list(challenger_tables(report.challenger))
    return tables[-1] if tables else None
