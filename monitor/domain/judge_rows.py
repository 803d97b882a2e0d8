"""What a round says of its judge, as a report carries it."""

from __future__ import annotations

from typing import TypeAlias

from monitor.domain.payload import Report

Ends: TypeAlias = tuple[float, float, float]  # Point, low and high


class JudgedRow(Report):
    """A judge by the labels of so many ``rounds`` together, the reported one the last.

    ``tpr`` and ``fpr`` are the shares of the positives and of the negatives to which it says yes,
    ``kappa`` is its agreement with people; None if undefined.
    ``size`` counts the items with a verdict, ``yes`` those with a yes.
    """

    rounds: int
    size: int
    yes: int
    labeled: int
    tpr: Ends | None
    fpr: Ends | None
    kappa: Ends | None


class JudgeRow(Report):
    """A round's judge: ``title`` names its rule, ``missing`` counts items without a verdict.

    Items without a score are not counted, since no verdict cuts them.

    ``alone`` uses the labels of this round, ``pooled`` also labels of the rounds before it in its
    history; None if it is the first. Both are None where no item has a verdict. ``saved`` is the
    share of labels that the judge saves, about; None if unknown.

    Of a judge that is asked, ``first_phase`` counts the items it was to judge, from which sizes
    by verdict are estimated, and ``calls``, ``tokens`` and ``seconds`` what they cost; ``why`` is
    why some have no verdict. All are None for a column.
    """

    title: str
    level: float
    size: int
    missing: int
    alone: JudgedRow | None = None
    pooled: JudgedRow | None = None
    saved: float | None = None
    first_phase: int | None = None
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    why: str | None = None
