"""Challengers: settings and report rows of a second classifier with the same predictions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from monitor.domain.setting_types import Ends, Report, Settings


class ComparedMetric(Report):
    """One metric of the classifier and of its challenger, and the challenger's minus the former.

    ``higher`` is the probability that the challenger's value is higher. If either has no value, all
    are None and ``reason`` says why.
    """

    metric: str
    champion: Ends | None
    challenger: Ends | None
    difference: Ends | None
    higher: float | None
    reason: str | None = None


class ComparisonRow(Report):
    """Both classifiers on the windows of the last ``rounds`` rounds, up to the reported one.

    ``only_champion`` and ``only_challenger`` estimate the items that one flags and the other
    passes.
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
        """Return the row of a metric; None if it has no value."""
        return next((m for m in self.metrics if m.metric == name and m.difference), None)


class ChallengerRow(Report):
    """Results of a round's challenger; ``rule`` describes which items it flags.

    ``pooled`` uses all rounds of the history with this challenger up to this one; None if there is
    only this round. ``undecided`` items count as not flagged. If they are too many, or the
    decisions could not be read, there is no comparison and ``reason`` says why.
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
        """The comparisons that exist, this round alone first."""
        return tuple(row for row in (self.alone, self.pooled) if row is not None)


class Challenger(Settings):
    """Another classifier that decided on the same predictions, compared in each round.

    It flags an item if column ``score`` is at least ``threshold``, or if column ``predicted`` has
    one of the ``positive`` values. ``name`` is its name for people, by default that rule.
    """

    name: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    score: str | None = None
    threshold: float | None = None
    predicted: str | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Challenger:
        by_score = (self.score, self.threshold) != (None, None)
        if by_score is (self.predicted is not None):
            message = "expected either score with threshold, or predicted: which items it flags"
            raise ValueError(message)
        if by_score and None in (self.score, self.threshold):
            message = "score and threshold go together: it flags scores from the threshold on"
            raise ValueError(message)
        return self

    @property
    def column(self) -> str:
        """The column that its decisions come from."""
        return self.predicted or self.score or ""

    @property
    def rule(self) -> str:
        """The rule by which it flags items, in short."""
        return self.column if self.threshold is None else f"{self.score} >= {self.threshold:g}"

    @property
    def title(self) -> str:
        """Name for people: ``name``, or the rule."""
        return self.name or self.rule
