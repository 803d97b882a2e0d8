"""The setting of a challenger: another classifier whose decisions are in the same predictions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from monitor.domain.setting_types import Settings


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
            message = "wanted either score with threshold, or predicted: which items it flags"
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
