"""Sentences on answers that people change before a round closes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Report
from monitor.presentation.numbers import percent_text, span_text
from monitor.presentation.parts.view import PartView


class CorrectionRow(Report):
    """First answers of a kind, and how many were changed before their round closed.

    ``labels`` names the predicted class, ``positive`` is what the answers said. In the last
    ``rounds`` with this one nearly all changes were made within so many ``hours``: an open round
    counts such an answer as evidence once it is older.
    """

    labels: str
    positive: bool
    answers: int
    changed: int
    rounds: int
    hours: float


class CorrectionsView(PartView[Sequence[CorrectionRow]]):
    """A line for each kind of answer under the counts."""

    name = "corrections"
    kind = list[CorrectionRow]
    empty = ()

    def lines(self, report: RoundReport) -> Iterator[str]:
        """Describe the kinds of answers that open rounds wait for."""
        yield from map(_correction_sentence, self.of(report))


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
