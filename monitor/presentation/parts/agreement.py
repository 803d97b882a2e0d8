"""How far the people who label a round agree."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Report
from monitor.presentation.numbers import range_text
from monitor.presentation.parts.view import PartView


class AgreementRow(Report):
    """How far people agreed on the items that two or more of them answered with 1 or 0.

    ``disagreement`` is the share of the window's items on which two people would differ. Kappa
    (Cohen's, or Fleiss' of more than two people) and Krippendorff's alpha speak of the sample; None
    if all answers are the same.
    """

    items: int
    disagreed: int
    annotators: int
    disagreement: float | None
    disagreement_low: float | None
    disagreement_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None


class AgreementView(PartView[AgreementRow | None]):
    """A line under the counts."""

    name = "agreement"
    kind = AgreementRow

    def lines(self, report: RoundReport) -> Iterator[str]:
        """Describe the agreement, if several people answered an item."""
        row = self.of(report)
        if row is not None:
            yield f"agreement: {agreement_sentence(row)}"


AGREEMENT = AgreementView()


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


def disagreement_sentence(row: AgreementRow, alpha: float) -> str:
    """Return the sentence that people agree too little to conclude from their labels."""
    return (
        f"people label {row.disagreed} of {row.items} items differently (alpha "
        f"{alpha:.2f}; 0.80 or more is reliable, under 0.67 is not): check their instructions, and "
        "the items from labels export --disputed"
    )
