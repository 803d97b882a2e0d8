"""The setting of a judge: its verdict on an item cuts the strata, and never counts as a label."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    Field,
    SecretStr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from monitor.domain.model import Verdict
from monitor.domain.setting_types import Duration, Ends, Report, Settings


class JudgedRow(Report):
    """A judge by the labels of so many ``rounds`` together, the reported one the last.

    ``tpr`` and ``fpr`` are the shares of positives and negatives with a yes, ``kappa`` is the
    agreement with people. ``size`` counts the items with a verdict, ``yes`` those with a yes.
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

    Items without a score are not counted, since no verdict cuts them. ``pooled`` adds the labels of
    the rounds before in its history. ``saved`` is about the share of labels that the judge saves.
    Of a judge that is asked, ``first_phase`` counts the items it was to judge, and ``why`` says why
    some have no verdict.
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


Value = StrictBool | StrictInt | StrictFloat | StrictStr
Values = Value | tuple[Value, ...]


class JudgeSettings(Settings):
    """What every judge has: which of its verdicts say yes.

    It says yes by one of ``positive``, or by a number of at least ``threshold``. ``version`` names
    what gave the verdicts, such as a model and its prompt: another one begins a new history.
    """

    positive: Values | None = None
    negative: Values | None = None
    threshold: float | None = None
    version: Annotated[str, Field(min_length=1, max_length=100)] | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> JudgeSettings:
        if (self.positive is None) is (self.threshold is None):
            message = "wanted either positive or threshold: which verdicts say yes"
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
        """Values that mean a yes, or a no; none if not named."""
        listed = getattr(self, name)
        return listed if isinstance(listed, tuple) else () if listed is None else (listed,)

    @property
    def subject(self) -> str:
        """What the rule is about."""
        return "verdict"

    @property
    def rule(self) -> str:
        """When it says yes, in short; two rules that differ read differently."""
        if self.threshold is not None:
            return f"{self.subject} >= {repr(self.threshold).removesuffix('.0')}"
        no = " or ".join(map(_text, self.values("negative")))
        yes = " or ".join(map(_text, self.values("positive")))
        return f"{self.subject} = {yes}{f', no = {no}' if no else ''}"


class Judge(JudgeSettings):
    """A second opinion on each item, such as a model's or an LLM's, in a column of the source.

    It says yes where ``column`` is one of ``positive``, or a number of at least ``threshold``.
    Every other value is a no; with ``negative``, only those listed are. Items without a verdict
    form separate strata. ``version`` names what gave the verdicts, such as a model and its prompt:
    another one begins a new history.
    """

    kind: Literal["column"] = "column"
    column: Annotated[str, Field(min_length=1)]

    @property
    def subject(self) -> str:
        """What the rule is about: the column."""
        return self.column

    @property
    def title(self) -> str:
        """What people see: its rule, and what gave the verdicts."""
        return self.rule if self.version is None else f"{self.rule} ({self.version})"


_LONGEST = timedelta(minutes=45)  # after an hour in one round a service is taken for stuck


class Budget(Settings):
    """What a judge may cost a round: ``calls`` of it, repeats too, and ``tokens`` of an LLM."""

    calls: Annotated[int, Field(ge=1)] = 20_000
    tokens: Annotated[int, Field(ge=1)] = 5_000_000


class OnDemandSettings(JudgeSettings):
    """What every judge has that is asked; a kind adds ``kind: Literal[...]`` and its own settings.

    It is asked about the first ``items`` of the draw of each score cell, a random sample of the
    cell. A round pays at most its ``budget``, waits ``within`` this time for all verdicts and
    ``timeout`` for one call, of which ``concurrency`` run at once. A call that failed for a reason
    that may pass is repeated up to ``retries`` times. Items that get no verdict are labeled as
    without a judge. A reply counts if it is exactly one of ``positive`` or ``negative``, which is
    ``no``, 0 or false unless given.
    """

    items: Annotated[int, Field(ge=1, le=100_000)] = 1000
    budget: Budget = Budget()
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(hours=1))] = timedelta(
        seconds=30
    )
    retries: Annotated[int, Field(ge=0, le=10)] = 3
    concurrency: Annotated[int, Field(ge=1, le=64)] = 8
    within: Annotated[Duration, Field(ge=timedelta(seconds=1), le=_LONGEST)] = timedelta(minutes=30)

    @model_validator(mode="after")
    def _a_value_means_one_verdict(self) -> OnDemandSettings:
        both = {*map(spelled, self.values("positive"))} & {*map(spelled, self.values("negative"))}
        if both:
            message = f"{min(both)!r} would mean both yes and no; name in negative what means no"
            raise ValueError(message)
        return self

    def values(self, name: Literal["positive", "negative"]) -> tuple[Value, ...]:
        """Values that mean a yes, or a no: unless named, what is the opposite of a yes."""
        listed = super().values(name)
        if listed or name == "positive" or self.positive is None:
            return listed
        first = self.values("positive")[0]
        return ("no" if isinstance(first, str) else False if isinstance(first, bool) else 0,)

    @property
    def name(self) -> str:
        """What people call it, such as the name of its model."""
        return str(getattr(self, "kind", "judge"))

    @property
    def placeholders(self) -> tuple[str, ...]:
        """Columns that it must be shown of each item."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Return the settings, no secrets, without which its verdicts would be another judge's."""
        secrets = {name for name, value in self if isinstance(value, SecretStr)}
        others = {*OnDemandSettings.model_fields, *secrets, "batch", "environment"}
        return self.model_dump(mode="json", exclude=others)

    def frozen(self, shown: Sequence[str] = ()) -> OnDemandJudge:
        """Return what a round freezes of it.

        shown: The columns that people are shown. The judge sees them all, unless its prompt names
            some; with others it is another judge.
        """
        sees = [] if self.placeholders else sorted(shown)
        text = json.dumps([self.identity(), self.rule, sees], sort_keys=True)
        return OnDemandJudge(
            kind=str(getattr(self, "kind", "")),
            name=self.name,
            rule=self.rule,
            digest=hashlib.sha256(text.encode()).hexdigest()[:8],
            version=self.version,
            items=self.items,
            budget=self.budget,
            within=self.within,
        )

    def verdict_of(self, value: object) -> Verdict | None:
        """Read a reply; None if it is not exactly one of the values that mean yes or no."""
        if self.threshold is not None:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            # An int may be too large for a float, and is finite all the same.
            if not number or (isinstance(value, float) and not math.isfinite(value)):
                return None
            return Verdict.YES if value >= self.threshold else Verdict.NO  # type: ignore[operator]
        text = spelled(value)
        verdicts = [
            verdict
            for verdict, name in ((Verdict.YES, "positive"), (Verdict.NO, "negative"))
            if text in map(spelled, self.values(name))  # type: ignore[arg-type]
        ]
        return verdicts[0] if len(verdicts) == 1 else None


class OnDemandJudge(Settings):
    """A judge that is asked, as a round froze it: what tells it from others, and what it may cost.

    ``digest`` stands for the settings that make its verdicts, such as the prompt, and ``resolved``
    is the version that an alias named when the round was drawn.
    """

    kind: str
    name: str
    rule: str
    digest: str
    version: str | None = None
    resolved: str | None = None
    items: int
    budget: Budget
    within: Duration

    @property
    def title(self) -> str:
        """What people see: its name and rule, what gave the verdicts, and the digest."""
        parts = [part for part in (self.version, self.digest) if part is not None]
        return f"{self.name}, {self.rule} ({', '.join(parts)})"

    @property
    def key(self) -> str:
        """What its verdicts are stored under."""
        text = json.dumps([self.kind, self.title, self.resolved])
        return hashlib.sha256(text.encode()).hexdigest()[:32]


AnyJudge: TypeAlias = Judge | OnDemandJudge


def spelled(value: object) -> str:
    """Write a value so that equal ones are written alike: ``1.0`` as 1, true as in JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _text(value: Value) -> str:
    """Write a value; a text is quoted if it may be taken for something else."""
    is_plain = isinstance(value, str) and re.fullmatch(r"[^\W\d][\w-]*", value)
    return str(value) if is_plain and str(value).lower() not in _RESERVED else json.dumps(value)


_RESERVED = {"true", "false", "or", "no", "null"}
