"""Sentences on how good the labels of a column are."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.domain.report import CheckRow, RoundReport
from monitor.domain.setting_types import Ends
from monitor.presentation.numbers import range_text


def check_lines(report: RoundReport) -> Iterator[str]:
    """Describe the labels of each class that people check."""
    yield from map(_checks_sentence, report.checks)


def _checks_sentence(row: CheckRow) -> str:
    r"""Return how good the labels of a column are, by the people who check them.

    >>> from monitor.domain.report import CheckRow
    >>> row = CheckRow(
    ...     labels="flagged", items=40, rounds=3, tp=84, fn=6, tn=30, fp=0,
    ...     sensitivity=(0.933, 0.869, 0.971), specificity=None
    ... )
    >>> print(_checks_sentence(row).replace("; ", "\n"))
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
