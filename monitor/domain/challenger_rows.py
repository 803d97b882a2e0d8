"""A classifier and its challenger on the same labels, as a report carries it."""

from __future__ import annotations

from typing import TypeAlias

from monitor.domain.payload import Report

Ends: TypeAlias = tuple[float, float, float]  # Point, low and high


class ComparedMetric(Report):
    """One metric of the classifier, of its challenger, and what the challenger has more.

    ``higher`` is the probability that the challenger's is the higher one. All are None if one of
    both has no value, with the ``reason``.
    """

    metric: str
    champion: Ends | None
    challenger: Ends | None
    difference: Ends | None
    higher: float | None
    reason: str | None = None


class ComparisonRow(Report):
    """Both classifiers on the windows of so many ``rounds`` together, the reported one the last.

    ``flagged`` is what the challenger flags of ``size`` items, counted; ``only_champion`` and
    ``only_challenger`` are estimates of what one flags and the other passes. ``unlabeled`` are the
    missing answers of these rounds.
    """

    rounds: int
    size: int
    labeled: int
    positive: int
    flagged: int
    only_champion: Ends
    only_challenger: Ends
    metrics: tuple[ComparedMetric, ...]
    unlabeled: int = 0

    def metric(self, name: str) -> ComparedMetric | None:
        """Find a metric that has a value."""
        return next((m for m in self.metrics if m.metric == name and m.difference), None)


class ChallengerRow(Report):
    """What a round says of its challenger; ``rule`` is how it flags.

    ``alone`` uses the labels of this round. ``pooled`` uses those from all rounds of the history
    with this challenger up to this one; None if that is this round. On ``undecided`` items of
    the window it made no decision, and they count as not flagged; where they are too many, or its
    decisions could not be read, there is no comparison and a ``reason``.
    """

    name: str
    rule: str
    undecided: int
    level: float
    alone: ComparisonRow | None = None
    pooled: ComparisonRow | None = None
    reason: str | None = None

    @property
    def comparisons(self) -> tuple[ComparisonRow, ...]:
        """Those there are, this round alone first."""
        return tuple(row for row in (self.alone, self.pooled) if row is not None)
