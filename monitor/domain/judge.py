"""Judges: settings and report rows. A verdict defines strata; it never counts as a label."""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal

from pydantic import (
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from monitor.domain.errors import SettingRefused
from monitor.domain.setting_types import Ends, Report, Settings


class JudgedRow(Report):
    """A judge measured by the labels of the last ``rounds`` rounds, up to the reported one.

    ``tpr`` and ``fpr`` are the shares of positives and of negatives with the verdict yes,
    ``youden_j`` is their difference, ``kappa`` the agreement with people. ``size`` counts the items
    with a verdict, ``yes`` those with a yes.
    """

    rounds: int
    size: int
    yes: int
    labeled: int
    tpr: Ends | None
    fpr: Ends | None
    kappa: Ends | None
    youden_j: Ends | None = None  # not in reports of older rounds


class JudgeRow(Report):
    """A round's judge: ``title`` names its rule, ``missing`` counts items without a verdict.

    Items without a score are not counted, since verdicts do not stratify them. ``pooled`` adds the
    labels of earlier rounds of the history. ``saved`` is roughly the share of labels that the judge
    saves.
    """

    title: str
    level: float
    size: int
    missing: int
    alone: JudgedRow | None = None
    pooled: JudgedRow | None = None
    saved: float | None = None


Value = StrictBool | StrictInt | StrictFloat | StrictStr
Values = Value | tuple[Value, ...]


class Judge(Settings):
    """A second opinion on each item, such as a model's or an LLM's, in a column of the source.

    The verdict is yes if ``column`` has one of the ``positive`` values, or a number of at least
    ``threshold``. Any other value is a no; with ``negative``, only the listed values are. For
    MLflow's traces, ``assessment`` may name the judge in place of ``column``. Items without a
    verdict form separate strata. ``version`` identifies the judge, such as a model and its prompt;
    a new version starts a new history.
    """

    column: Annotated[str, Field(min_length=1)]
    assessment: Annotated[str, Field(min_length=1)] | None = Field(default=None, exclude=True)
    positive: Values | None = None
    negative: Values | None = None
    threshold: float | None = None
    version: Annotated[str, Field(min_length=1, max_length=100)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _assessment_is_a_column(cls, values: object) -> object:
        name = values.get("assessment") if isinstance(values, dict) else None
        if not isinstance(values, dict) or not isinstance(name, str) or not name:
            return values
        if "column" in values:
            why = "it names what column names, by assessments.NAME; remove one of the two"
            raise SettingRefused(setting="assessment", why=why)
        others = {key: value for key, value in values.items() if key != "assessment"}
        return {**others, "column": f"assessments.{name}"}

    @model_validator(mode="after")
    def _one_rule(self) -> Judge:
        if (self.positive is None) is (self.threshold is None):
            message = "expected either positive or threshold: which verdicts say yes"
            raise ValueError(message)
        if self.negative is not None and self.threshold is not None:
            message = "negative goes with positive; below the threshold is a no"
            raise ValueError(message)
        for name in ("positive", "negative"):
            if any(str(value) != str(value).strip() or value == "" for value in self.values(name)):
                message = f"{name} has an empty value, or one with blanks around it"
                raise ValueError(message)
        if self.positive == () or self.negative == ():
            message = "an empty list matches nothing; name a value or more"
            raise ValueError(message)
        return self

    def values(self, name: Literal["positive", "negative"]) -> tuple[Value, ...]:
        """Return the values listed under ``positive`` or ``negative``; empty if not set."""
        listed = getattr(self, name)
        return listed if isinstance(listed, tuple) else () if listed is None else (listed,)

    @property
    def rule(self) -> str:
        """The rule for a yes, in short; different rules have different texts."""
        if self.threshold is not None:
            return f"{self.column} >= {repr(self.threshold).removesuffix('.0')}"
        no = " or ".join(map(_text, self.values("negative")))
        yes = " or ".join(map(_text, self.values("positive")))
        return f"{self.column} = {yes}{f', no = {no}' if no else ''}"

    @property
    def title(self) -> str:
        """Name for people: the rule and the version."""
        return self.rule if self.version is None else f"{self.rule} ({self.version})"


def spelled(value: object) -> str:
    """Write a value so that equal values have equal texts: ``1.0`` as 1, True as in JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _text(value: Value) -> str:
    """Write a value; quote a text that could be misread as a number or a keyword."""
    is_plain = isinstance(value, str) and re.fullmatch(r"[^\W\d][\w-]*", value)
    return str(value) if is_plain and str(value).lower() not in _RESERVED else json.dumps(value)


_RESERVED = {"true", "false", "or", "no", "null"}
