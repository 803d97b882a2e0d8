"""What a round tells the outside: the payloads of effects, JSON-ready and complete.

A handler needs nothing but the payload, so delivering late, twice, or by another process gives
the same result.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Report(BaseModel):
    """Base of all payloads."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Status(StrEnum):
    """How a monitor stands, in one word."""

    LEARNING = "learning"
    OK = "ok"
    ALERT = "alert"
    STALE = "stale"


class EstimateRow(Report):
    """One estimate; ``point`` and ends are None where it is undefined, with the ``reason``.

    ``bound_low`` and ``bound_high`` say how far missing answers could move the interval; None
    where no answer is missing.
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


class EvidenceRow(Report):
    """Evidence against one limit: it fires when ``log_evidence >= log_threshold``."""

    metric: str
    side: str
    limit: float
    log_evidence: float | None
    log_threshold: float


class AlertRow(Report):
    """An alert that is open, or changed in this round."""

    id: str
    metric: str
    side: str
    limit: float
    state: str
    fired_in_round: int


class TimelinePoint(Report):
    """One earlier or present round, for the figure: (point, low, high) per metric and basis."""

    round: int
    slot: datetime
    precision_round: tuple[float, float, float] | None = None
    precision_carried: tuple[float, float, float] | None = None
    recall_round: tuple[float, float, float] | None = None
    recall_carried: tuple[float, float, float] | None = None
    alert: bool = False


class RoundReport(Report):
    """A closed or abandoned round, as one version of it stands."""

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
    partial: bool
    status: Status
    model: str | None
    model_version: str | None
    threshold: float | None
    level: float
    false_alarm_every: float
    size: int
    flagged: int
    bad_rows: dict[str, int]
    strata: list[StratumRow]
    estimates: list[EstimateRow]
    evidence: list[EvidenceRow]
    alerts: list[AlertRow]
    proposed_limits: dict[str, float]
    timeline: list[TimelinePoint]
    sentence: str

    def estimate(self, metric: str, *, basis: str, estimand: str) -> EstimateRow | None:
        """Find one estimate."""
        for row in self.estimates:
            if (row.metric, row.basis, row.estimand) == (metric, basis, estimand):
                return row
        return None

    def limit(self, metric: str) -> float | None:
        """Find the lower limit of a metric."""
        for row in self.evidence:
            if row.metric == metric and row.side == "at_least":
                return row.limit
        return None


class Notice(Report):
    """Something people should know now; goes to hooks and to the log.

    ``id`` is stable: a notice that arrives twice carries it twice. ``event`` is one of
    ``alert.firing``, ``alert.resolved``, ``alert.revised``, ``round.abandoned``.
    """

    id: str
    event: str
    store_id: str
    round_key: str
    monitor: str
    round: int
    slot: datetime
    metric: str | None = None
    side: str | None = None
    limit: float | None = None
    point: float | None = None
    low: float | None = None
    high: float | None = None
    false_alarm_every: float | None = None
    model: str | None = None
    sentence: str
