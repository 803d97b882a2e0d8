"""The report of a period: all rounds of one monitor, from the store."""

from __future__ import annotations

from datetime import datetime

from monitor.domain.alerting import StoredAlert
from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Report


class UncountedRound(Report):
    """A round of the period without an estimate.

    ``reason`` has its provisional numbers, or says why it ended or cannot continue.
    """

    round: int
    state: str
    reason: str | None


class PeriodChange(Report):
    """A change that starts with a round: a new model, schedule or limit."""

    round: int
    sentence: str


class PeriodReport(Report):
    """The rounds of a monitor whose windows end in a period, as of ``made_at``.

    A window that ends exactly when the period begins is not in it. ``rounds`` are the newest
    reports of closed rounds, each with its own point of the timeline, without curves and cells.
    ``uncounted`` rounds are open or were abandoned; ``later_rounds`` begin in the period and end
    after it. ``alerts`` fired in a round of the period, or were open when it began. ``people``
    counts the annotators with a current answer. ``method`` describes the newest closed round.
    """

    monitor: str
    period: str
    start: datetime
    end: datetime
    time_zone: str
    made_at: datetime
    rounds: list[RoundReport]
    uncounted: list[UncountedRound]
    skipped: int
    later_rounds: list[int]
    alerts: list[StoredAlert]
    changes: list[PeriodChange]
    people: int
    method: list[str]


class PeriodReports(Report):
    """Output of `pr-monitor report --period --json`.

    ``without_rounds`` has a sentence for each monitor without rounds in the period.
    """

    reports: list[PeriodReport]
    without_rounds: list[str]
