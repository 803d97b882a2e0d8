"""Note codes: what a plan could not do as asked, with the numbers that belong to the note.

`monitor.presentation.reasons` turns them into text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Remark(StrEnum):
    """A note on a plan that needs no number."""

    NOTHING_FLAGGED = "nothing_flagged"
    """Precision and recall cannot be planned for."""

    EVERYTHING_FLAGGED = "everything_flagged"
    """Recall is 1 and needs no labels."""

    WHOLE_WINDOW = "whole_window"
    """The budget covers every item that can be labeled."""

    NO_NARROWER = "no_narrower"
    """More labels would not make the margins narrower."""

    NO_PRIOR = "nothing_known"
    """Nothing is known of the rates, so no margin can be computed."""


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """Even with every item labeled a metric's half-width is more than its margin."""

    metric: str
    width: float
    margin: float


@dataclass(frozen=True, slots=True)
class FloorsLowered:
    """The budget is less than the floors of all strata together, so all were lowered."""

    budget: int
    floors: int


@dataclass(frozen=True, slots=True)
class BudgetShort:
    """The budget keeps a margin less often than was asked.

    Its half-width is ``expected``, and is within the margin with the probability ``assured``, where
    ``assurance`` was asked for. ``needed`` labels would keep all margins with it. ``by_scores``
    says that all that takes scores for probabilities, which no label has tested.
    """

    metric: str
    margin: float
    expected: float
    assured: float
    assurance: float
    needed: int
    by_scores: bool = False


PlanNote = Remark | OutOfReach | FloorsLowered | BudgetShort
"""What could not be done as asked."""
