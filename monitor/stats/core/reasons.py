"""Codes of why an estimate has no value, with their numbers; nobody's words.

`monitor.presentation.reasons` says them to people.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Undefined(StrEnum):
    """Which cells of the matrix are 0 together, so that a metric divides by 0."""

    NOTHING_FLAGGED = "nothing_flagged"
    NOTHING_PASSED = "nothing_passed"
    NO_POSITIVE = "no_positive"
    NO_NEGATIVE = "no_negative"
    NO_ITEM = "no_item"
    ONE_ACTUAL_CLASS = "one_actual_class"
    NOTHING_FLAGGED_OR_POSITIVE = "nothing_flagged_or_positive"
    NO_GAIN = "no_gain"
    EMPTY_MARGIN = "empty_margin"


class Contradiction(StrEnum):
    """What speaks against estimating at all."""

    AUDIT = "audit"
    """The labels of the round would hardly ever come out so with the errors of the audit."""


@dataclass(frozen=True, slots=True)
class UndefinedDraws:
    """The metric is undefined in a ``share`` of the draws, more than ``most``; why."""

    why: Undefined
    share: float
    most: float


@dataclass(frozen=True, slots=True)
class Unlabeled:
    """A class that the metric depends on has ``size`` items and no label."""

    predicted: str
    size: int


@dataclass(frozen=True, slots=True)
class EmptyClass:
    """A predicted class has no item, so its rate is unknown whatever the classifier is worth."""

    predicted: str


NoEstimate = UndefinedDraws | Unlabeled | EmptyClass | Contradiction
"""Why there is no estimate."""
