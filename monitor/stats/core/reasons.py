"""Reason codes: why an estimate has no value, with the numbers that belong to the reason.

`monitor.presentation.reasons` turns them into text.
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
    """Evidence against the assumptions of an estimate."""

    AUDIT = "audit"
    """The labels of the round would hardly ever come out so with the errors of the audit."""


@dataclass(frozen=True, slots=True)
class UndefinedDraws:
    """The metric is undefined in too many draws.

    ``share`` of the draws have no value, in (0, 1], since ``why`` is 0 there; ``most`` is the
    largest share at which an estimate is still given.
    """

    why: Undefined
    share: float
    most: float


@dataclass(frozen=True, slots=True)
class Unlabeled:
    """A predicted class that the metric depends on has items and no label."""

    predicted: str
    size: int


@dataclass(frozen=True, slots=True)
class EmptyClass:
    """A predicted class has no item, so the window shows nothing about the classifier."""

    predicted: str


@dataclass(frozen=True, slots=True)
class AuditAtChance:
    """An audit by which labels may well be no better than chance, with this probability.

    ``positive_right`` and ``negative_right`` count the items that were labeled right.
    """

    probability: float
    positive: int
    positive_right: int
    negative: int
    negative_right: int


@dataclass(frozen=True, slots=True)
class LabelsToCome:
    """Only this share of the positive labels is known, and the rest counts as negative."""

    share: float


NoEstimate = UndefinedDraws | Unlabeled | EmptyClass | Contradiction | AuditAtChance | LabelsToCome
"""Why there is no estimate."""
