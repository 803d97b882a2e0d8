"""What a round publishes: the payloads of effects, JSON-ready and all that a handler needs."""

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
    """How a monitor stands; the gravest that holds.

    ``stale``: there is no estimate of late, or something outside is down.
    """

    ALERT = "alert"
    STALE = "stale"
    ATTENTION = "attention"
    LEARNING = "learning"
    OK = "ok"

    @property
    def grade(self) -> int:
        """Count from the gravest, which is 1."""
        return list(Status).index(self) + 1


class AttentionCause(StrEnum):
    """What about a round needs a look, so that its monitor is not called ok."""

    CONCERN = "concern"
    ABANDONED = "abandoned"
    NOT_ESTIMABLE = "not_estimable"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Attention:
    """What about a round needs a look: why it has no estimate, or the sentence of a concern."""

    monitor: str
    round: int
    matter: AttentionCause
    reason: str | None = None
    metric: str | None = None
    kind: str | None = None


class EstimateRow(Report):
    """One estimate; ``point`` and ends are None if it is undefined, with the ``reason``.

    Where answers are missing, the ends are worst-case bounds, which then are in ``bound_low`` and
    ``bound_high`` too: from the low end if these answers were the worst for the metric to the high
    end if they were the best.
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
        """Point, low and high; None without a value."""
        if self.point is None or self.low is None or self.high is None:
            return None
        return self.point, self.low, self.high


ESTIMAND_OF = {"round": "window", "pooled": "rate", "corrected": "window"}
"""Reports show the window's own value for a round alone, and the rate for the pooled one."""

Row = TypeVar("Row", bound=EstimateRow)


def find_row(
    rows: Iterable[Row], metric: str, basis: str, estimand: str | None = None
) -> Row | None:
    """Find the estimate for a metric and a basis, of the estimand that reports show if None."""
    key = metric, basis, estimand or ESTIMAND_OF[basis]
    return next((row for row in rows if (row.metric, row.basis, row.estimand) == key), None)


class DecidingRow(Report):
    """A predicted class whose labels decide a metric and are worth few of its rarer ``answer``.

    ``worth`` is how many of it. ``moves`` is how far one such label moves the metric, where the
    labels of one stratum decide.
    """

    predicted: str
    answer: str
    worth: float
    moves: float | None = None


class ReportedEstimate(EstimateRow):
    """An estimate with the classes whose few labels decide it.

    ``answered_low`` and ``answered_high`` are the interval if the missing answers were like the
    others; None if none is missing.
    """

    caution: tuple[DecidingRow, ...] = ()
    answered_low: float | None = None
    answered_high: float | None = None


class StratumRow(Report):
    """One stratum as a version of a round saw it."""

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
        """Items handed out and not answered."""
        return self.planned - self.labeled - self.declined


MISSING_MAX = 0.05
"""Share of missing answers above which a round is partial: its worst-case bounds are then so wide
that they seldom tell whether a limit is kept (benchmarks/missing_answers.py)."""


class AnswersRow(Report):
    """How many answers a round wanted and got, and how long after its opening they came.

    Half, nine in ten and all of them had come by ``half_hours``, ``most_hours`` and ``last_hours``.
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
        """Items without a usable answer."""
        return self.wanted - self.labeled

    @property
    def too_few(self) -> bool:
        """Whether more than `MISSING_MAX` of the answers are missing."""
        return self.missing > MISSING_MAX * self.wanted


class EvidenceRow(Report):
    """Evidence against one limit at the round's end: it fires when it reaches ``log_threshold``.

    It may have been higher within the round. ``state`` is an
    `monitor.domain.alerting.EvidenceState`.
    """

    metric: str
    side: str
    limit: float
    log_evidence: float | None
    log_threshold: float
    state: str | None = None


class RecoveryRow(Report):
    """How far an open alert is from its end, as of the last closing.

    ``evidence`` of the ``rounds`` since the firing that the limit is kept again ends the alert at
    ``ends_at``. ``level`` is the metric with earlier rounds. If it stays there the alert ends
    ``within`` that many more rounds with probability ``share``; None if it is beyond the limit, or
    that takes over ``at_most`` rounds.
    """

    rounds: int
    evidence: float
    ends_at: float
    level: float | None
    within: int | None
    share: float
    at_most: int


class AlertRow(Report):
    """An alert that this round fired, or an earlier one that is open; the window is of that round.

    ``recovery`` is None once the alert has ended. ``notes`` are of today, also in an old report.
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
    """What a metric will probably be once all labels are there."""

    metric: str
    point: float | None
    low: float | None
    high: float | None


class ProvisionalRow(Report):
    """What a round showed while its labels still came.

    ``matured`` is the share of the positive labels that had come, as earlier rounds got theirs;
    ``by_score`` says that the scores of a class got theirs at different paces.
    """

    at: datetime
    matured: float | None = None
    by_score: bool = False
    metrics: list[ProvisionalMetric] = Field(default_factory=list)
    reason: str | None = None


class NoticeRow(Report):
    """Something unusual about a round that is worth a look and no alarm.

    ``value``, by ``kind``: ``judge`` how many times as often it says yes, ``disagreement``
    Krippendorff's alpha, ``segment`` the odds ratio, ``provisional`` the share of the positive
    labels that is known, ``groups`` the larger design effect, ``runs`` the effect of runs,
    ``checks`` the probability that the errors of a column differ as much by chance.
    """

    kind: str
    subject: str
    value: float
    sentence: str


class MetricChange(NamedTuple):
    """How a metric in this round alone differs from earlier rounds: (point, low, high)."""

    metric: str
    before: Ends
    after: Ends
    change: Ends
    sentence: str

    @property
    def is_noise(self) -> bool:
        """Whether the metric may well be what it was."""
        return self.change[1] <= 0 <= self.change[2]

    @property
    def is_fall(self) -> bool:
        """Whether the metric surely fell."""
        return self.change[2] < 0


class CauseRow(Report):
    """Why precision in this round alone differs from the earlier rounds of its history, pooled.

    Values are (point, low, high). The points of ``by_prevalence`` (positives became rarer or more
    frequent) and ``by_classifier`` (TPR or FPR moved) add up to the point of ``change``. Reports of
    earlier versions lack what is said of recall.
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
        """How precision and recall differ, by metric."""
        rows = [MetricChange("precision", self.before, self.after, self.change, self.sentence)]
        before, after, change = self.recall_before, self.recall_after, self.recall_change
        if before is not None and after is not None and change is not None:
            rows.append(MetricChange("recall", before, after, change, self.recall_sentence))
        return {row.metric: row for row in rows}


class RestatedRow(Report):
    """A version that a person asked for, after the time for late labels was over.

    ``own`` is whether this is one of the restated ``rounds``; else it only pools one. ``before``
    are precision and recall of version ``replaces``.
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
    """One earlier or present round, for the figure: (point, low, high) per metric and basis."""

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
    """A closed or abandoned round, as one version of it stands.

    Each part of the report is an extra field under the name of the part (`parts`); so fields that
    only an earlier version wrote are kept.
    ``bad_rows`` counts rows left out, by reason, ``notes`` what else is worth knowing of the rows.
    ``pooled_coverage`` is how often pooled intervals held the truth when simulated: after changes,
    and in quiet times. ``strata`` are score bands; ``cells`` what labels were drawn from, empty
    where that is the bands. ``registered`` is the
    version that the alias in ``model`` named for the window, if a single one. ``recurring`` counts
    drawn items that evidence leaves out, since an earlier round had asked about them, and
    ``proposed_unlabeled`` the missing answers of the rounds behind ``proposed_limits``.
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
        """The values of parts by name, as JSON where the report was stored."""
        return self.model_extra or {}

    @property
    def size(self) -> int:
        """Predictions in the window."""
        return sum(row.size for row in self.strata)

    @property
    def flagged(self) -> int:
        """Predicted positives in the window."""
        return sum(row.size for row in self.strata if row.flagged)

    @property
    def labeled(self) -> int:
        """Items of the window with a label of 1 or 0."""
        return sum(row.labeled for row in self.strata)

    @property
    def partial(self) -> bool:
        """Whether too many answers are missing."""
        return self.answers is not None and self.answers.too_few

    @property
    def unlabeled(self) -> int:
        """Items that were handed out and have no label of 1 or 0."""
        return sum(row.planned - row.labeled for row in self.strata)

    @property
    def watched(self) -> str | None:
        """Name the version that the predictions are of: what the alias named, else the model."""
        return self.registered or self.model

    @property
    def firing(self) -> list[AlertRow]:
        """The alerts that are open."""
        return [alert for alert in self.alerts if alert.state == AlertState.FIRING]

    def stored(self) -> dict[str, Any]:
        """Return what the store keeps: not the notes on alerts, which are added at each reading."""
        return self.model_dump(mode="json", exclude={"alerts": {"__all__": {"notes"}}})

    def shown(
        self, metric: str, basis: str, estimand: str | None = None
    ) -> ReportedEstimate | None:
        """Find an estimate, of the estimand that is shown for its basis if none is named."""
        return find_row(self.estimates, metric, basis, estimand)

    def limit(self, metric: str) -> float | None:
        """Find the lower limit of a metric."""
        for row in self.evidence:
            if row.metric == metric and row.side == "at_least":
                return row.limit
        return None


class NextRoundRow(Report):
    """What the settings of a round ask of the one after it.

    ``max_labels`` at most, fewer where these reach the ``margins`` (half-widths), 0 where all are
    counted. People have ``hours`` to answer.
    """

    slot: datetime
    max_labels: int
    margins: dict[str, float]
    hours: float


@dataclass(frozen=True, slots=True)
class RoundPage:
    """A round, and the report of one of its versions once it has closed.

    ``version`` is 0 before the first estimate; ``drawn`` are then the strata that labels were asked
    of, ``provisional`` is what it shows. ``bad_rows`` counts rows left out, by reason, ``notes``
    the irregular rows that count.
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
