"""Settings of rounds; each round stores them frozen when it opens.

The config file consists of these models and of the adapters' settings. Each default has its unit
and its reason beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from monitor.domain.block import Block
from monitor.domain.challenger import Challenger
from monitor.domain.judge import Judge
from monitor.domain.label_delays import LabelDelays
from monitor.domain.label_parts import column_classes, maturity_of, parts_of
from monitor.domain.ports import utc_now
from monitor.domain.registered import AliasRead
from monitor.domain.sample_settings import Sample
from monitor.domain.sampled_log import keeps_all, sampling_text
from monitor.domain.setting_types import Duration, Settings, Share, TimeZone
from monitor.limitable import CLASSIFIER, LIMITABLE, no_limit_text, subject_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.stats.detection.half_space import Limit, Side

CREDIBLE_LEVEL = 0.95
"""Probability of every interval of a round; the proofs about intervals assume this level."""

POOLED_COVERAGE = (0.88, 0.98)
"""Least measured coverage of pooled intervals with default settings: in the first rounds after
changes of 3 to 15 points in one metric, and in quiet times (benchmarks/pooling_coverage.py)."""


class Schedule(Settings):
    """When rounds are due.

    ``lag`` shifts the window back, so that late predictions arrive before it is counted.
    """

    cron: str
    time_zone: TimeZone = "UTC"
    lag: Duration = timedelta(0)

    @field_validator("cron")
    @classmethod
    def _cron_runs(cls, value: str) -> str:
        why = _why_no_cron(value)
        if why:
            message = f"{value!r} is not a cron line ({why}); write five, such as '0 6 * * MON'"
            raise ValueError(message)
        return value


@lru_cache(maxsize=4096)  # a thousand monitors have few schedules
def _why_no_cron(line: str) -> str:
    from cronsim import CronSim, CronSimError  # noqa: PLC0415  a report has no schedule to check

    fields = len(line.split())
    why = "" if fields == 5 else f"it has {fields} fields"  # noqa: PLR2004
    try:
        next(CronSim(line, utc_now()))
    except CronSimError as error:
        why = why or str(error).lower()
    except StopIteration:
        why = "there is no such day"
    return why


class Pooling(Settings):
    """How earlier rounds inform this one (beta run-length mixture, docs/method.md).

    ``hazard`` is the probability per round that a class changed. ``restart`` is the weight of a
    stratum's history after a change, in labels of its rarer answer. ``robust_weight`` is the fixed
    weight of the round alone, regardless of the history: a larger one covers better after a change
    and narrows less. With the defaults, intervals covered the truth in at least 88 % of simulated
    rounds after changes of 3 to 15 points in either direction, and in 98 % in quiet times, at 0.74
    to 0.81 of the width of the round alone (benchmarks/pooling_coverage.py).
    """

    hazard: Annotated[float, Field(gt=0, lt=1)] = 0.04
    restart: Annotated[float, Field(gt=0)] = 3.0
    robust_weight: Annotated[float, Field(ge=0, le=1)] = 0.3

    def measured_coverage(self) -> tuple[float, float] | None:
        """Return coverage after changes and in quiet times; None if it was not measured."""
        return POOLED_COVERAGE if self == Pooling() else None


class Bound(Settings):
    """The limits of one metric, on one side or both."""

    at_least: Share | None = None
    at_most: Share | None = None

    @model_validator(mode="after")
    def _one_side_or_both(self) -> Bound:
        if self.at_least is None and self.at_most is None:
            message = "a limit needs at_least or at_most"
            raise ValueError(message)
        if self.at_least is not None and self.at_most is not None and self.at_least >= self.at_most:
            message = f"nothing is at least {self.at_least:g} and at most {self.at_most:g}"
            raise ValueError(message)
        return self

    def sides(self) -> dict[Side, float]:
        """Return the limit of each watched side."""
        sides: dict[Side, float | None] = {"at_least": self.at_least, "at_most": self.at_most}
        return {side: value for side, value in sides.items() if value is not None}


class LimitSide(NamedTuple):
    """One limit: a metric, a side and its value."""

    metric: str
    value: float
    side: Side


_OWN_KEYS = frozenset({"bounds", "false_alarm_every", "notify_provisional"})


def _can_have_a_limit(name: str) -> str:
    if name not in LIMITABLE:
        message = no_limit_text(name, LIMITABLE)
        raise ValueError(message)
    return name


class Limits(Settings):
    """Limits on metrics, and the promise: at most one false alarm per ``false_alarm_every`` rounds.

    A block of monitors shares one promise, which counts a round of all its monitors as one.

    In the config, metrics and promise are side by side: ``{precision: 0.8, recall: 0.5,
    prevalence: {at_most: 0.1}, false_alarm_every: 52}``. A bare number means "at least", or "at
    most" for a rate that is better when lower. ``notify_provisional`` sends hooks one notice if
    provisional numbers of open rounds are beyond a limit; the promise does not cover this notice.
    """

    bounds: dict[Annotated[str, AfterValidator(_can_have_a_limit)], Bound] = Field(
        default_factory=dict
    )
    false_alarm_every: Annotated[float, Field(ge=2)] = 52  # rounds: a year of weeks
    notify_provisional: bool = True

    @model_validator(mode="before")
    @classmethod
    def _metrics_outside_the_promise(cls, value: object) -> object:
        if not isinstance(value, dict) or not isinstance(value.get("bounds", {}), dict):
            return value
        adjacent = {metric: bound for metric, bound in value.items() if metric not in _OWN_KEYS}
        bounds = {metric: _bound(metric, bound) for metric, bound in adjacent.items()}
        own = {key: setting for key, setting in value.items() if key in _OWN_KEYS}
        return {**own, "bounds": {**value.get("bounds", {}), **bounds}}

    def sides(self) -> list[LimitSide]:
        """Return all limits, in the order of the config."""
        return [
            LimitSide(metric, value, side)
            for metric, bound in self.bounds.items()
            for side, value in bound.sides().items()
        ]

    def watched(self) -> list[Limit]:
        """Return the limits on the classifier as types of `monitor.stats`."""
        from monitor.stats.detection.half_space import Limit  # noqa: PLC0415  numpy takes 0.2 s

        return [Limit(*side) for side in self.on(CLASSIFIER)]

    def every_of_classifier(self) -> float:
        """Return the promise for the limits on the classifier: their part of the whole promise."""
        of_classifier = len(self.on(CLASSIFIER))
        shares = len(self.sides()) / of_classifier if of_classifier else 1.0
        return self.false_alarm_every * shares

    def on(self, subject: str) -> list[LimitSide]:
        """Return the limits on one subject of `monitor.limitable`."""
        return [side for side in self.sides() if subject_of(side.metric) == subject]


LEAST_CONFIDENCE = 0.5
"""Least confidence of a guarantee; below it, the guarantee is more likely broken than kept."""


class FalseAlarms(Settings):
    """One promise over all monitors together: ``at_most`` this number of false alarms ``per`` time.

    It replaces ``false_alarm_every`` of every monitor, and is divided in proportion to their
    rounds: each monitor may raise one false alarm in N / ``at_most`` rounds, if all monitors have N
    rounds in this time. A change to the promise, a schedule or the number of monitors restarts all
    evidence.
    """

    at_most: Annotated[float, Field(gt=0)] = 1
    per: Duration = timedelta(weeks=52)


def _bound(metric: str, value: object) -> object:
    if isinstance(value, dict):
        return value
    quantity = LIMITABLE.get(metric)
    lower_is_better = quantity is not None and quantity.complement is not None
    return {"at_most" if lower_is_better else "at_least": value}


class ReferenceMatrix(Settings):
    """A labeled confusion matrix from a plain random sample, such as before launch."""

    tp: Annotated[int, Field(ge=0)]
    fp: Annotated[int, Field(ge=0)]
    fn: Annotated[int, Field(ge=0)]
    tn: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _holds_labels(self) -> ReferenceMatrix:
        if self.tp + self.fp + self.fn + self.tn == 0:
            message = "all four counts are 0; leave the reference out if there is none"
            raise ValueError(message)
        return self


class Labeling(Settings):
    """Settings common to all labelers.

    ``deadline`` counts from the draw of the round, or from its slot if no person labels. Labels
    that arrive within ``late_labels`` after the closing still correct the round. ``overlap`` is the
    share of items that a second person also labels. ``adjudicator`` is the annotator whose answer
    decides if others disagree (by default, a tie counts as "cannot tell").
    A monitor may have a labeler for each predicted class, under ``flagged`` and ``passed``, and one
    under ``checks`` for items that a column also labels.
    """

    deadline: Duration = timedelta(days=5)
    late_labels: Duration = timedelta(days=90)
    overlap: Annotated[float, Field(ge=0, le=1)] = 0.0
    adjudicator: Annotated[str, Field(min_length=1)] | None = None

    def own(self) -> dict[str, Any]:
        """Return the settings specific to this kind, which a round stores, without secrets."""
        secrets = {name for name, value in self if isinstance(value, SecretStr)}
        return self.model_dump(mode="json", exclude={*Labeling.model_fields, *secrets})

    def as_opened(self, opened_with: Mapping[str, Any]) -> Labeling:  # noqa: ARG002  some kinds do
        """Return these settings as they apply to a round opened with other settings (`own`)."""
        return self


_REMOVED = frozenset(
    {
        *("audit", "matures", "threshold_target", "first_wave", "second_wave", "planned"),
        *("snapshot", "released"),
    }
)
"""Settings, some of them in ``sample``, of rounds of earlier versions; no code reads them."""


def _remaining(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in _REMOVED}


class RoundSettings(Settings):
    """All settings of a round, frozen when it opens; contains no secrets.

    ``origin`` is the reason it was opened: its slot was due (``schedule``, also for recorded
    skips), somebody requested the slot (``by_hand``), or a ``backfill``. ``shown_version`` is the
    latest version in MLflow when a store without it was restored. ``labeling`` has the settings
    specific to the labeler's kind (`Labeling.own`), so that labels are read from the place that got
    the tasks. ``source`` has the source's settings (`SourceSettings.own`), so that the round is
    drawn as it was opened. ``delays`` predict labels that arrive after its closing. ``block`` is
    the block of the config that the monitor belonged to.
    """

    model: str | None = None
    alias: AliasRead | None = None
    threshold: float | None = None
    challenger: Challenger | None = None
    judge: Judge | None = None
    schedule: Schedule
    sample: Sample = Sample()
    pooling: Pooling = Pooling()
    limits: Limits = Limits()
    reference: ReferenceMatrix | None = None
    deadline: Duration
    late_labels: Duration
    overlap: Annotated[float, Field(ge=0, le=1)] = 0.0
    adjudicator: str | None = None
    labeling: dict[str, Any] | None = None
    source: dict[str, Any] | None = None
    bad_rows_max: Annotated[float, Field(ge=0, le=1)] = 0.01
    grace: Duration | None = None
    hooks: tuple[str, ...] = ()
    origin: Literal["schedule", "by_hand", "backfill"] = "schedule"
    shown_version: int = 0
    delays: LabelDelays | None = None
    block: Block | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_removed(cls, values: Any) -> Any:
        """Drop settings that no longer exist, so that rounds of earlier versions can be read."""
        if not isinstance(values, dict):
            return values
        sample = values.get("sample")
        changed = {"sample": _remaining(sample)} if isinstance(sample, dict) else {}
        return _remaining(values) | changed

    @property
    def matures(self) -> timedelta:
        """Age of an item at which its first label is expected."""
        return min(map(maturity_of, parts_of(self.labeling)))

    def column(self, role: str) -> str | None:
        """Return the source's column for a role, such as ``group``; None if it has none."""
        name: str | None = (self.source or {}).get("columns", {}).get(role)
        return name

    @property
    def weight(self) -> str | None:
        """The column of amounts that weight items; None if all items count the same."""
        return self.column("weight")

    @property
    def log_sampling(self) -> str | None:
        """The log's probabilities of keeping predictions, as text; None if it keeps all."""
        return sampling_text(self.source)

    @property
    def by_amount(self) -> bool:
        """Whether items are counted and drawn by amount."""
        return self.weight is not None

    @property
    def released(self) -> bool:
        """Whether a column marks the flagged items that were let through."""
        return self.column("released") is not None

    @property
    def counted_whole(self) -> dict[bool, int]:
        """The predicted classes counted by a census, each with the index of its labeler."""
        if self.challenger is not None:
            return {}
        if len(parts_of(self.labeling)) == 1 and self.sample.max_labels != "all":
            return {}
        # The outcomes of flagged items that were not released are not observable.
        return {
            flagged: part
            for flagged, part in column_classes(self.labeling).items()
            if not (flagged and self.released)
            and keeps_all(self.source, flagged=flagged)
            and not self.by_amount
        }


class MonitorSettings(Settings):
    """A monitor's name and the settings that its next round will freeze."""

    name: str
    round: RoundSettings


# Effects of changed settings on rounds, as codes and values


class Begins(StrEnum):
    """What a round may begin, or resume."""

    HISTORY = "history"
    EARLIER_HISTORY = "earlier history"
    SCHEDULE = "schedule"


class HistoryStart(StrEnum):
    """Start of the next round's history, if it differs from the newest round's history."""

    KNOWN = "known"  # Resume an earlier history with these settings
    REBINNED = "rebinned"  # Labels so far, counted by the new strata
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting, or a model version, that differs between two rounds; None: not set."""

    name: str
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Change:
    """What a round begins, and its differences from the round before."""

    begins: Begins
    differences: tuple[Difference, ...]
