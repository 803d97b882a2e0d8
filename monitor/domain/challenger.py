"""The setting of a challenger: another classifier whose decisions are in the same predictions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from monitor.domain.setting_types import Ends, Report, Settings


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
    """Both classifiers on the windows of ``rounds`` rounds together, the reported one the last.

    ``only_champion`` and ``only_challenger`` estimate what one flags and the other passes.
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

    ``pooled`` uses all rounds of the history with this challenger up to this one; None if that is
    this round. ``undecided`` items count as not flagged; where they are too many, or decisions
    could not be read, there is no comparison and a ``reason``.
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


class Challenger(Settings):
    """Another classifier that decided on the same predictions, compared in each round.

    It flags an item where column ``score`` is at least ``threshold``, or where column
    ``predicted`` is one of ``positive``. ``name`` is what people see; without it, that rule.
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
        """How it flags, in short."""
        return self.column if self.threshold is None else f"{self.score} >= {self.threshold:g}"

    @property
    def title(self) -> str:
        """What people see."""
        return self.name or self.rule
