"""Sentences on how far the people who label a round agree."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.domain.report import AgreementRow, RoundReport
from monitor.presentation.numbers import range_text


def agreement_lines(report: RoundReport) -> Iterator[str]:
    """Describe the agreement, if several people answered an item."""
    if report.agreement is not None:
        yield f"agreement: {agreement_sentence(report.agreement)}"


def agreement_sentence(row: AgreementRow) -> str:
    """Return how far the people who label a round agree."""
    parts = [
        f"{row.annotators} people, {row.items} items with two answers, {row.disagreed} of "
        "them contradicting"
    ]
    ends = (row.disagreement, row.disagreement_low, row.disagreement_high)
    if None not in ends:
        share, low, high = (100 * (end or 0.0) for end in ends)
        parts.append(
            f"two people would differ on {share:.1f} % {range_text(low, high, 1)} of the window"
        )
    return "; ".join([*parts, *_coefficients(row)])


def _coefficients(row: AgreementRow) -> list[str]:
    if row.alpha is None:
        return ["no kappa or alpha, since all answers are the same"]
    coefficients = (
        ("kappa", row.kappa, row.kappa_low, row.kappa_high),
        ("alpha", row.alpha, row.alpha_low, row.alpha_high),
    )
    return [
        f"{name} {value:.2f} {range_text(low, high, 2)}"
        for name, value, low, high in coefficients
        if value is not None and low is not None and high is not None
    ]
