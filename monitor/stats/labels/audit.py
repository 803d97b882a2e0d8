"""Label errors: items whose truth is known, and how they were labeled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.stats.core.reasons import AuditAtChance

CHANCE_LIMIT = 0.025
"""Largest probability that labels are no better than chance at which anything is corrected:
one tail of a 95 % interval."""


class NoBetterThanChance(ValueError):
    """By the audit, labels may well be no better than chance; ``why`` has its numbers."""

    def __init__(self, why: AuditAtChance) -> None:
        super().__init__(
            f"labels are no better than chance with probability {why.probability:.2f} by this "
            f"audit ({why.positive_right} of {why.positive} positive and {why.negative_right} of "
            f"{why.negative} negative items labeled right); audit more items"
        )
        self.why = why


@dataclass(frozen=True, slots=True)
class LabelAudit:
    """Items whose truth is known, and how they were labeled.

    Parameters
    ----------
    tp, fn
        Truly positive items labeled 1 and 0; not whole where they are what checks are worth.
    tn, fp
        Truly negative items labeled 0 and 1.

    Raises
    ------
    NoBetterThanChance
        If labels are no better than chance (sensitivity plus specificity at most 1) with
        probability over ``CHANCE_LIMIT``.
    ValueError
        If a count is negative.

    Examples
    --------
    >>> audit = LabelAudit(tp=96, fn=4, tn=190, fp=10)
    >>> audit.sensitivity, audit.specificity
    ((96.5, 4.5), (190.5, 10.5))
    """

    tp: float
    fn: float
    tn: float
    fp: float

    def __post_init__(self) -> None:
        if min(self.tp, self.fn, self.tn, self.fp) < 0:
            message = f"counts of an audit are 0 or more, got {self}"
            raise ValueError(message)
        chance = self.chance
        if chance > CHANCE_LIMIT:
            raise NoBetterThanChance(
                AuditAtChance(
                    probability=chance,
                    positive=round(self.tp + self.fn),
                    positive_right=round(self.tp),
                    negative=round(self.tn + self.fp),
                    negative_right=round(self.tn),
                )
            )

    @property
    def sensitivity(self) -> tuple[float, float]:
        """Beta posterior of the share of positive items labeled 1, from Jeffreys' prior."""
        return self.tp + 0.5, self.fn + 0.5

    @property
    def specificity(self) -> tuple[float, float]:
        """Beta posterior of the share of negative items labeled 0, from Jeffreys' prior."""
        return self.tn + 0.5, self.fp + 0.5

    @property
    def chance(self) -> float:
        """Probability that sensitivity plus specificity is at most 1."""
        middles = (np.arange(2**12) + 0.5) / 2**12  # the midpoint rule over one Beta's quantiles
        sensitivity = special.betaincinv(*self.sensitivity, middles)
        return float(special.betainc(*self.specificity, 1 - sensitivity).mean())


@dataclass(frozen=True, slots=True)
class ArrivedShare:
    """Share of the positive labels to come that are in already, counted in ``worth`` labels.

    Where an item without one counts as negative.
    """

    share: float
    worth: float

    @property
    def sensitivity(self) -> tuple[float, float]:
        """Beta posterior of the share, from Jeffreys' prior."""
        return self.share * self.worth + 0.5, (1 - self.share) * self.worth + 0.5

    @property
    def specificity(self) -> None:
        """It is 1: no positive label comes for a negative item."""


@dataclass(frozen=True, slots=True)
class ScoreAudits:
    """Audits of the parts of a predicted class: strata, in order, and audit of each."""

    parts: tuple[tuple[int, ArrivedShare], ...]

    @property
    def share(self) -> float:
        """The smallest share that has come."""
        return min(each.share for _, each in self.parts)


ClassAudit = LabelAudit | ArrivedShare | ScoreAudits


@dataclass(frozen=True, slots=True)
class ClassAudits:
    """An audit of the labels of each predicted class by itself; None where labels count as right.

    Examples
    --------
    >>> audits = ClassAudits(
    ...     flagged=LabelAudit(tp=48, fn=2, tn=95, fp=5),
    ...     passed=LabelAudit(tp=48, fn=2, tn=999, fp=1),
    ... )
    >>> audits.passed.specificity
    (999.5, 1.5)
    """

    flagged: ClassAudit | None
    passed: ClassAudit | None

    @property
    def least_share(self) -> float:
        """The smaller share of positive labels that has come; 1 where none is to come."""
        audits = (self.flagged, self.passed)
        shares = (a.share for a in audits if isinstance(a, ArrivedShare | ScoreAudits))
        return min(shares, default=1.0)
