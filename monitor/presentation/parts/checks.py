"""Sentences on how good the labels of a column are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Ends, Report
from monitor.presentation.numbers import range_text
from monitor.presentation.parts.view import PartView, with_ends


class CheckRow(Report):
    """How a column labels items whose truth people say, in the last ``rounds`` with this one.

    ``labels`` names the predicted class and ``items`` counts the checked ones of this round. Of the
    positive items ``tp`` are labeled 1, of the negative ones ``tn`` 0. The shares weigh each check
    by the items that it stands for.
    """

    labels: str
    items: int
    rounds: int
    tp: int
    fn: int
    tn: int
    fp: int
    sensitivity: Ends | None
    specificity: Ends | None


class ChecksView(PartView[Sequence[CheckRow]]):
    """A line for each checked class under the counts, and its rates in MLflow."""

    name = "checks"
    kind = list[CheckRow]
    empty = ()

    def lines(self, report: RoundReport) -> Iterator[str]:
        """Describe the labels of each class that people check."""
        yield from map(_checks_sentence, self.of(report))

    def figures(self, report: RoundReport) -> dict[str, float]:
        """Name how often a column is right, such as ``labels/flagged_sensitivity``."""
        values: dict[str, float] = {}
        for row in self.of(report):
            labels = f"labels/{row.labels.replace(' ', '_')}"
            for name in ("sensitivity", "specificity"):
                values |= with_ends(f"{labels}_{name}", getattr(row, name))
        return values


LABEL_CHECKS = ChecksView()


def _checks_sentence(row: CheckRow) -> str:
    r"""Return how good the labels of a column are, by the people who check them.

    >>> row = CheckRow(
    ...     labels="flagged", items=40, rounds=3, tp=84, fn=6, tn=30, fp=0,
    ...     sensitivity=(0.933, 0.869, 0.971), specificity=None
    ... )
    >>> print(_checks_sentence(row).replace("; ", "\n"))
    the column's labels of flagged items: 84 of 90 positive ones right (93.3 % [86.9, 97.1])
    30 of 30 negative ones right
    people checked 40 items in this round, and in 2 before it. An error that they repeat is not seen
    """
    of_class = (
        ("positive", row.tp, row.fn, row.sensitivity),
        ("negative", row.tn, row.fp, row.specificity),
    )
    rates = "; ".join(
        f"{right} of {right + wrong} {name} ones right{_percent(ends, right, right + wrong)}"
        for name, right, wrong, ends in of_class
    )
    before = f", and in {row.rounds - 1} before it" if row.rounds > 1 else ""
    checked = f"people checked {row.items} items in this round{before}"
    return f"the column's labels of {row.labels} items: {rates}; {checked}{_UNSEEN}"


_UNSEEN = ". An error that they repeat is not seen"
"""A checker who sees the label, or uses the same evidence, finds too few errors."""


def _percent(ends: Ends | None, right: int, items: int) -> str:
    """Return the share, which differs from the counts where checks stand for unequal numbers."""
    if ends is None:
        return ""
    point, low, high = (100 * end for end in ends)
    weighted = "" if f"{point:.1f}" == f"{100 * right / items:.1f}" else ", weighted by items"
    return f" ({point:.1f} % {range_text(low, high, 1)}{weighted})"


def changed_checks_sentence(labels: str, newest: int, probability: float, *, alone: bool) -> str:
    r"""Return the sentence that a column errs otherwise than before.

    ``alone`` is whether corrected values rest on the ``newest`` rounds alone.

    >>> sentence = changed_checks_sentence("flagged", 1, 0.0031, alone=True)
    >>> print(sentence.replace(", ", "\n"))
    checks of this round find other errors in the column's labels of flagged items than those before
    by more than chance (p = 0.003)
    so corrected values rest on these checks alone
    """
    rounds = "this round" if newest == 1 else f"the last {newest} rounds"
    use = "rest on these checks alone" if alone else "allow for either"
    return (
        f"checks of {rounds} find other errors in the column's labels of {labels} items than those "
        f"before, by more than chance (p = {max(probability, 0.001):.3f}), so corrected values "
        f"{use}"
    )
