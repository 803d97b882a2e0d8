"""Sentences about a round whose labels still come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.presentation.numbers import interval_text, minute_text, percent_text, plural

if TYPE_CHECKING:
    from monitor.domain.report import ProvisionalRow

LATER_NEGATIVE = "an item without a row is not negative (labeling.missing_means)"
"""Why a column's early labels give no number: both answers may come late, and not alike."""

OTHER_PACE = "labels do not come as in earlier rounds"
FASTER = "more labels have come than earlier rounds had at this age"


def too_few_followed_reason(followed: int, needed: int) -> str:
    """State how many labels were followed until they matured, of how many that are needed."""
    return (
        f"{followed} of {plural(needed, 'positive label')} of earlier rounds were followed until "
        "they matured"
    )


def too_young_reason(matured: float) -> str:
    """State that hardly any label has come."""
    return f"{percent_text(matured, 2)} matured"


def taken_back_reason(fall: int, before: int) -> str:
    """State that labels went, as they do where a file was cut off."""
    return (
        f"{fall:,} of {plural(before, 'positive label')} were taken back (are all rows of the "
        "labels still there?)"
    )


def provisional_line(row: ProvisionalRow) -> str:
    """Write what a round shows before its labels have matured, with what that assumes.

    >>> from datetime import UTC, datetime
    >>> from monitor.domain.report import ProvisionalMetric, ProvisionalRow
    >>> recall = ProvisionalMetric(metric="recall", point=0.6, low=0.5, high=0.7)
    >>> at = datetime(2025, 3, 3, tzinfo=UTC)
    >>> provisional_line(ProvisionalRow(at=at, matured=0.6, metrics=[recall])).split(", if")[0]
    'provisional, 60 % matured on 2025-03-03 00:00 UTC: recall 0.600 [0.500, 0.700]'
    >>> print(provisional_line(ProvisionalRow(at=at, reason=too_young_reason(0.02))))
    provisional: not estimable, 2 % matured
    """
    if row.matured is None or not row.metrics:
        return f"provisional: not estimable, {row.reason}"
    numbers = ", ".join(f"{each.metric} {interval_text(each)}" for each in row.metrics)
    when = f"{percent_text(row.matured, 2)} matured on {minute_text(row.at)} UTC"
    return f"provisional, {when}: {numbers}, if labels come as in earlier rounds"


def was_provisional_line(row: ProvisionalRow) -> str:
    """State what a closed round showed first."""
    return f"this round was {provisional_line(row)}"
