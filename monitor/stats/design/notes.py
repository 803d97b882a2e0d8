"""Codes of what a plan could not do as asked, with their numbers; nobody's words.

`monitor.presentation.reasons` says them to people.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Remark(StrEnum):
    """What is to be known of a plan, where no number belongs to it."""

    NOTHING_FLAGGED = "nothing_flagged"
    """Precision and recall cannot be planned for."""

    EVERYTHING_FLAGGED = "everything_flagged"
    """Recall is 1 and needs no labels."""

    WHOLE_WINDOW = "whole_window"
    """The budget covers every item."""

    NO_NARROWER = "no_narrower"
    """More labels would not make the margins narrower."""

    NOTHING_KNOWN = "nothing_known"
    """Nothing is known of the rates, so no margin can be computed."""


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """Even with every item labeled the half-width of a metric is more than the margin asked."""

    metric: str
    width: float
    margin: float


@dataclass(frozen=True, slots=True)
class FloorsLowered:
    """The budget is less than the floors of all strata together."""

    budget: int
    floors: int


PlanNote = Remark | OutOfReach | FloorsLowered
"""What could not be done as asked."""
