"""Reports of rounds: the payloads of effects, ready for JSON and complete for their handlers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from pydantic import ConfigDict, Field

from monitor.domain.alerting import AlertNote, AlertState
from monitor.domain.class_report import ClassReport
from monitor.domain.round import Round
from monitor.domain.setting_types import Ends, Report


class Status(StrEnum):
    """The status of a monitor: the most severe that applies.

    ``stale``: there is no recent estimate, or something outside is down.
    """

    ALERT = "alert"
    STALE = "stale"
    ATTENTION = "attention"
    LEARNING = "learning"
    OK = "ok"

    @property
    def grade(self) -> int:
        """Rank by severity; 1 is the most severe."""
        return list(Status).index(self) + 1


class AttentionCause(StrEnum):
    """Why a round needs attention, so that its monitor is not ok."""

    CONCERN = "concern"
    ABANDONED = "abandoned"
    NOT_ESTIMABLE = "not_estimable"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Attention:
    """A round that needs attention; ``reason`` is its concern, or why it has no estimate."""

    monitor: str
    round: int
    matter: AttentionCause
    reason: str | None = None
    metric: str | None = None
    kind: str | None = None


class EstimateRow(Report):
    """One estimate; if it is undefined, ``point`` and ends are None and ``reason`` says why.

    If answers are missing, the ends are worst-case bounds, repeated in ``bound_low`` and
    ``bound_high``: the low end if the missing answers were the worst for the metric, the high end
    if they were the best.
    """

    metric: str
    estimand: str
    basis: str
    point: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    reason: str | None = None
    bound_low: float | None = None
    bound_high: float | None = None

    @property
    def is_worst_case(self) -> bool:
        """Whether the ends are worst-case bounds."""
        return self.bound_low is not None and self.bound_low == self.low

    @property
    def ends(self) -> Ends | None:
        """Point, low and high; None if any is undefined."""
        if self.point is None or self.low is None or self.high is None:
            return None
        return self.point, self.low, self.high


ESTIMAND_OF = {"round": "window", "pooled": "rate", "corrected": "window"}
"""Estimand shown by reports: the window's own value for a round alone, the rate if pooled."""

Row = TypeVar("Row", bound=EstimateRow)


def find_row(
    rows: Iterable[Row], metric: str, basis: str, estimand: str | None = None
) -> Row | None:
    """Return the estimate for a metric, a basis and an estimand, by default `ESTIMAND_OF`."""
    key = metric, basis, estimand or ESTIMAND_OF[basis]
    return next((row for row in rows if (row.metric, row.basis, row.estimand) == key), None)


class DecidingRow(Report):
    """A predicted class on which a metric depends, with few labels of the rarer ``answer``.

    ``worth`` is the effective number of these labels. ``moves`` is how far one such label moves the
    metric, if the labels of one stratum decide it.
    """

    predicted: str
    answer: str
    worth: float
    moves: float | None = None


class ReportedEstimate(EstimateRow):
    """An estimate, with a ``caution`` for each class whose few labels decide it.

    ``answered_low`` and ``answered_high`` are the interval if the missing answers were like the
    others; None if no answers are missing.
    """

    caution: tuple[DecidingRow, ...] = ()
    answered_low: float | None = None
    answered_high: float | None = None


class StratumRow(Report):
    """Counts of one stratum in one version of a round."""

    stratum: str
    flagged: bool
    low: float | None
    high: float | None
    size: int
    planned: int
    labeled: int
    positive: int
    declined: int

    @property
    def unanswered(self) -> int:
        """Number of items that were assigned but not answered."""
        return self.planned - self.labeled - self.declined


MISSING_MAX = 0.05
"""Share of missing answers above which a round is partial: its worst-case bounds are then usually
too wide to decide whether a limit is kept (benchmarks/missing_answers.py)."""


class AnswersRow(Report):
    """Number of answers that a round requested and received, and their delays after its opening.

    50 %, 90 % and 100 % of the received ones arrived within ``half_hours``, ``most_hours`` and
    ``last_hours``.
    """

    wanted: int
    labeled: int
    declined: int
    half_hours: float | None = None
    most_hours: float | None = None
    last_hours: float | None = None
    open_hours: float | None = None

    @property
    def missing(self) -> int:
        """Number of items without a label of 1 or 0."""
        return self.wanted - self.labeled

    @property
    def too_few(self) -> bool:
        """Whether more than `MISSING_MAX` of the answers are missing."""
        return self.missing > MISSING_MAX * self.wanted


class EvidenceRow(Report):
    """Evidence against one limit at the round's end; an alert fires at ``log_threshold``.

    The evidence may have been higher within the round. ``state`` is an
    `monitor.domain.alerting.EvidenceState`.
    """

    metric: str
    side: str
    limit: float
    log_evidence: float | None
    log_threshold: float
    state: str | None = None


class RecoveryRow(Report):
    """Progress of an open alert toward its end, as of the last closing.

    ``evidence`` is the evidence of recovery from the ``rounds`` since the firing; the alert ends
    when it reaches ``ends_at``. ``level`` is the pooled value of the metric. If the metric stays at
    it, the alert ends ``within`` this number of further rounds with probability ``share``; None if
    ``level`` is beyond the limit, or this takes over ``at_most`` rounds.
    """

    rounds: int
    evidence: float
    ends_at: float
    level: float | None
    within: int | None
    share: float
    at_most: int


class AlertRow(Report):
    """An alert fired by this round, or an open one of an earlier round.

    The window is of the round that fired it. ``recovery`` is None once the alert has ended.
    ``notes`` are current even in an old report.
    """

    id: str
    metric: str
    side: str
    limit: float
    state: str
    fired_in_round: int
    window_start: datetime | None = None
    window_end: datetime | None = None
    fired_at: datetime | None = None
    recovery: RecoveryRow | None = None
    notes: tuple[AlertNote, ...] = ()


class ProvisionalMetric(Report):
    """Predicted value of a metric once all labels have arrived."""

    metric: str
    point: float | None
    low: float | None
    high: float | None


class ProvisionalRow(Report):
    """Provisional numbers of a round whose labels are still arriving.

    ``matured`` is the share of the positive labels that had arrived, judged by earlier rounds.
    ``by_score``: labels arrive at different speeds for different scores of a class.
    """

    at: datetime
    matured: float | None = None
    by_score: bool = False
    metrics: list[ProvisionalMetric] = Field(default_factory=list)
    reason: str | None = None


class NoticeRow(Report):
    """Something unusual about a round that does not justify an alarm.

    The meaning of ``value`` depends on ``kind``: for ``judge`` the ratio of its rates of yes, for
    ``disagreement`` Krippendorff's alpha, for ``segment`` the odds ratio, for ``provisional`` the
    share of known positive labels, for ``groups`` the larger design effect, for ``runs`` the effect
    of runs, for ``checks`` the probability that a column's errors differ as much by chance.
    """

    kind: str
    subject: str
    value: float
    sentence: str


class MetricChange(NamedTuple):
    """Difference of a metric in this round alone from earlier rounds, as (point, low, high)."""

    metric: str
    before: Ends
    after: Ends
    change: Ends
    sentence: str

    @property
    def is_noise(self) -> bool:
        """Whether the interval of the change contains 0."""
        return self.change[1] <= 0 <= self.change[2]

    @property
    def is_fall(self) -> bool:
        """Whether the interval of the change is entirely below 0."""
        return self.change[2] < 0


class CauseRow(Report):
    """Causes of the change in precision between this round alone and its pooled earlier rounds.

    Values are (point, low, high). The points of ``by_prevalence`` (positives became rarer or more
    frequent) and ``by_classifier`` (TPR or FPR moved) add up to the point of ``change``. Reports of
    earlier versions lack the fields on recall.
    """

    rounds: int
    before: Ends
    after: Ends
    prevalence_before: Ends
    prevalence_after: Ends
    change: Ends
    by_prevalence: Ends
    by_classifier: Ends
    recall_before: Ends | None = None
    recall_after: Ends | None = None
    recall_change: Ends | None = None
    recall_sentence: str = ""
    level: float
    sentence: str

    @property
    def changes(self) -> dict[str, MetricChange]:
        """The changes in precision and recall, by metric."""
        rows = [MetricChange("precision", self.before, self.after, self.change, self.sentence)]
        before, after, change = self.recall_before, self.recall_after, self.recall_change
        if before is not None and after is not None and change is not None:
            rows.append(MetricChange("recall", before, after, change, self.recall_sentence))
        return {row.metric: row for row in rows}


class RestatedRow(Report):
    """A version that a person requested after the time for late labels was over.

    ``own``: whether this round is one of the restated ``rounds``; if not, it only pools one of
    them. ``before`` has precision and recall of version ``replaces``.
    """

    version: int
    replaces: int
    at: datetime
    by: str
    reason: str
    rounds: list[int]
    own: bool
    before: list[EstimateRow]


class TimelinePoint(Report):
    """A point of the timeline figure: (point, low, high) of one round, per metric and basis."""

    round: int
    slot: datetime
    history: int | None = None
    precision_round: Ends | None = None
    precision_pooled: Ends | None = None
    recall_round: Ends | None = None
    recall_pooled: Ends | None = None
    alert: bool = False
    restated: bool = False


class RoundReport(Report):
    """The report of one version of a closed or abandoned round.

    Each part of the report is an extra field under the part's name (`parts`); so fields that only
    an earlier version wrote are kept.
    ``bad_rows`` counts excluded rows by reason, ``notes`` counts other noteworthy rows.
    ``pooled_coverage`` is the simulated coverage of pooled intervals after changes, and in quiet
    times. ``strata`` are score bands; ``cells`` are the strata that labels were drawn from, empty
    if these are the bands. ``registered`` is the version that the alias in ``model`` named for the
    window, if it named only one. ``recurring`` counts drawn items that the evidence excludes, since
    an earlier round asked about them. ``proposed_unlabeled`` counts the missing answers of the
    rounds behind ``proposed_limits``.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    store_id: str
    round_key: str
    monitor: str
    history: int
    round: int
    version: int
    slot: datetime
    window_start: datetime
    window_end: datetime
    state: str
    reason: str | None
    status: Status
    model: str | None
    model_version: str | None
    threshold: float | None
    false_alarm_every: float
    bad_rows: dict[str, int]
    notes: dict[str, int] = Field(default_factory=dict)
    strata: list[StratumRow]
    cells: list[StratumRow] = Field(default_factory=list)
    estimates: list[ReportedEstimate]
    evidence: list[EvidenceRow]
    alerts: list[AlertRow]
    proposed_limits: dict[str, float]
    timeline: list[TimelinePoint]
    concerns: list[str] = Field(default_factory=list)
    notices: list[NoticeRow] = Field(default_factory=list)
    sentence: str
    answers: AnswersRow | None = None
    cause: CauseRow | None = None
    pooled_coverage: tuple[float, float] | None = None
    snapshot: str | None = None
    restated: list[RestatedRow] = Field(default_factory=list)
    program: str | None = None
    registered: str | None = None
    next_round: NextRoundRow | None = None
    recurring: int = 0
    proposed_unlabeled: int = 0
    provisional: ProvisionalRow | None = None

    @property
    def parts(self) -> Mapping[str, Any]:
        """The values of parts by name, as JSON if the report was read from the store."""
        return self.model_extra or {}

    @property
    def size(self) -> int:
        """Number of predictions in the window."""
        return sum(row.size for row in self.strata)

    @property
    def flagged(self) -> int:
        """Number of predicted positives in the window."""
        return sum(row.size for row in self.strata if row.flagged)

    @property
    def labeled(self) -> int:
        """Number of items with a label of 1 or 0."""
        return sum(row.labeled for row in self.strata)

    @property
    def partial(self) -> bool:
        """Whether too many answers are missing."""
        return self.answers is not None and self.answers.too_few

    @property
    def unlabeled(self) -> int:
        """Number of assigned items without a label of 1 or 0."""
        return sum(row.planned - row.labeled for row in self.strata)

    @property
    def watched(self) -> str | None:
        """The monitored model: the version that the alias named, else ``model``."""
        return self.registered or self.model

    @property
    def firing(self) -> list[AlertRow]:
        """The alerts that are open."""
        return [alert for alert in self.alerts if alert.state == AlertState.FIRING]

    def stored(self) -> dict[str, Any]:
        """Return the JSON to store, without the notes on alerts, which each reading adds."""
        return self.model_dump(mode="json", exclude={"alerts": {"__all__": {"notes"}}})

    def shown(
        self, metric: str, basis: str, estimand: str | None = None
    ) -> ReportedEstimate | None:
        """Return an estimate, by default of the estimand shown for its basis; None if missing."""
        return find_row(self.estimates, metric, basis, estimand)

    def limit(self, metric: str) -> float | None:
        """Return the lower limit of a metric; None if it has none."""
        for row in self.evidence:
            if row.metric == metric and row.side == "at_least":
                return row.limit
        return None


class NextRoundRow(Report):
    """The plan for the next round, by the settings of this one.

    It asks for ``max_labels`` at most: fewer if these reach the ``margins`` (half-widths), 0 if all
    items are counted. People have ``hours`` to answer.
    """

    slot: datetime
    max_labels: int
    margins: dict[str, float]
    hours: float


@dataclass(frozen=True, slots=True)
class RoundPage:
    """A round, and the report of one of its versions once it has closed.

    ``version`` is 0 before the first estimate; until then, ``drawn`` are the strata that labels are
    requested from and ``provisional`` has provisional numbers. ``bad_rows`` counts excluded rows by
    reason, ``notes`` counts irregular rows that are included.
    """

    round: Round
    version: int
    report: RoundReport | None
    restated: Sequence[RestatedRow]
    restated_since: Sequence[int]
    drawn: Sequence[StratumRow]
    provisional: ProvisionalRow | None
    classes: ClassReport | None
    concerns: Sequence[str]
    bad_rows: Mapping[str, int]
    notes: Mapping[str, int]
    events: Sequence[Mapping[str, Any]]
