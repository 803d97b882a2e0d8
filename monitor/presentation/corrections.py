"""Sentences on answers that people change before a round closes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from monitor.domain.report import CorrectionRow, RoundReport
from monitor.presentation.numbers import percent_text, span_text


def correction_lines(report: RoundReport) -> Iterator[str]:
    """Describe the kinds of answers that open rounds wait for."""
    yield from map(_correction_sentence, report.corrections)


def _correction_sentence(row: CorrectionRow) -> str:
    r"""Return how often answers of a kind are changed, and until when they do not count.

    >>> row = CorrectionRow(
    ...     labels="flagged", positive=False, answers=120, changed=6, rounds=5, hours=50
    ... )
    >>> print(_correction_sentence(row).replace(", ", "\n").replace("; ", "\n"))
    6 of 120 negative answers to flagged items (5 %) were changed before the end of 5 rounds
    nearly all within 2.1 days
    an open round counts such an answer as evidence once it is older
    """
    answer, rounds = "positive" if row.positive else "negative", row.rounds
    return (
        f"{row.changed} of {row.answers} {answer} answers to {row.labels} items "
        f"({percent_text(row.changed / row.answers, 2)}) were changed before the end of {rounds} "
        f"round{'s' * (rounds > 1)}, nearly all within {span_text(timedelta(hours=row.hours))}; an "
        "open round counts such an answer as evidence once it is older"
    )
