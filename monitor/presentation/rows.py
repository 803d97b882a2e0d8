"""What the rows of a report say in a sentence: answers, agreement, segments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.presentation.estimates import missing_text
from monitor.presentation.numbers import minute_text, range_text, span_text

if TYPE_CHECKING:
    from monitor.domain.judge import Ends
    from monitor.domain.report import AgreementRow, AnswersRow, CheckRow, NextRoundRow, SegmentRow

OWN_LABELS = "its labels alone"
"""Names the line under a segment's that does not borrow from the other segments."""

BANDS_OF_CELLS = (
    "labels are drawn from score cells, finer than these bands and at rates of their own: "
    "positive / labeled is not a band's rate"
)
"""Goes under counts by band, which would otherwise be read as those of plain samples."""


def score_range_text(low: float | None, high: float | None) -> str:
    """Describe which scores a stratum holds.

    >>> score_range_text(0.5, 0.7), score_range_text(None, 0.1), score_range_text(None, None)
    ('0.5 to 0.7', '… to 0.1', 'all')
    """
    if low is None and high is None:
        return "all"
    ends = ("…" if end is None else f"{end:.3g}" for end in (low, high))
    return " to ".join(ends)


def needs_text(row: SegmentRow) -> str | None:
    """Return how many labels a segment's margin still needs; None if that means nothing."""
    if row.margin is None or row.more_segment is None:
        return None
    margin = f"{row.metric} ±{row.margin:g}"
    if row.more_segment == 0:
        return f"{margin}: reached"
    more = "out of reach" if row.more_round is None else f"{row.more_round} more"
    return f"{margin}: {more}, or {row.more_segment} of its own"


def next_round_sentences(row: NextRoundRow | None, reached: Mapping[str, float]) -> list[str]:
    """Describe the next round; ``reached`` are the half-widths of this one, by metric."""
    if row is None:
        return []
    due = f"It is due {minute_text(row.slot)} UTC"
    waits = f"waits {span_text(timedelta(hours=row.hours))} for them"
    if not row.max_labels:
        return [f"{due}, counts the labels of all items, and {waits}"]
    if not row.margins:
        return [f"{due}, asks for {row.max_labels:,} labels, and {waits}"]
    margins = " and ".join(f"{metric} ±{half:g}" for metric, half in row.margins.items())
    text = " and ".join(
        f"{metric} ±{reached[metric]:.3f}" for metric in row.margins if metric in reached
    )
    return [
        f"{due}, asks for as many labels as {margins} need, {row.max_labels:,} at most, and "
        f"{waits}",
        *([f"This round reached {text}"] if text else []),
    ]


def answers_sentence(row: AnswersRow) -> str | None:
    """Return how many answers are missing and when the others came; None if all are there."""
    if not row.missing:
        return None
    unanswered = row.missing - row.declined
    missing = f"{missing_text(row)}: {unanswered} not given, {row.declined} “cannot tell”"
    ends = (row.half_hours, row.most_hours, row.last_hours)
    if None in ends or row.open_hours is None:
        return missing
    half, most, last = (span_text(timedelta(hours=end or 0.0)) for end in ends)
    return (
        f"{missing}; half of the others came within {half}, nine in ten within {most}, the last "
        f"after {last}; the round closed after {span_text(timedelta(hours=row.open_hours))}"
    )


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


def checks_sentence(row: CheckRow) -> str:
    r"""Return how good the labels of a column are, by the people who check them.

    >>> from monitor.domain.report import CheckRow
    >>> row = CheckRow(
    ...     labels="flagged", items=40, rounds=3, tp=84, fn=6, tn=30, fp=0,
    ...     sensitivity=(0.933, 0.869, 0.971), specificity=None
    ... )
    >>> print(checks_sentence(row).replace("; ", "\n"))
    the column's labels of flagged items: 84 of 90 positive ones right (93.3 % [86.9, 97.1])
    30 of 30 negative ones right
    people checked 40 items in this round, and in 2 before it
    """
    of_class = (
        ("positive", row.tp, row.fn, row.sensitivity),
        ("negative", row.tn, row.fp, row.specificity),
    )
    rates = "; ".join(
        f"{right} of {right + wrong} {name} ones right{_percent(ends)}"
        for name, right, wrong, ends in of_class
    )
    before = f", and in {row.rounds - 1} before it" if row.rounds > 1 else ""
    checked = f"people checked {row.items} items in this round{before}"
    return f"the column's labels of {row.labels} items: {rates}; {checked}"


def _percent(ends: Ends | None) -> str:
    if ends is None:
        return ""
    point, low, high = (100 * end for end in ends)
    return f" ({point:.1f} % {range_text(low, high, 1)})"


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
