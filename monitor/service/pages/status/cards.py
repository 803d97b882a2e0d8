"""What the status pages show of monitors, in the words of `pr-monitor status`; times are UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.alerting import AlertState
from monitor.domain.report import EstimateRow, Status
from monitor.hooks.texts import body
from monitor.presentation.alerts import open_alert_line, recovery_sentence
from monitor.presentation.delivery import waiting_sentence
from monitor.presentation.estimates import BASES, reason_text
from monitor.presentation.numbers import (
    bound_text,
    interval_text,
    limit_text,
    minute_text,
    span_text,
)
from monitor.presentation.rounds import remarks_text
from monitor.presentation.setting_changes import change_sentence
from monitor.presentation.status import (
    last_estimate_line,
    learning_lines,
    next_round_line,
)

if TYPE_CHECKING:
    from monitor.domain.alerting import StoredAlert
    from monitor.domain.round_page import RoundPage
    from monitor.domain.settings import Bound, MonitorSettings
    from monitor.rounds.listing import ListedRounds, Row
    from monitor.rounds.status import Overview

SHOWN = ("precision", "recall")


class CardNumber(NamedTuple):
    """An estimate in words: what it rests on, and the point with its interval, or why none."""

    basis: str
    text: str


class MetricCard(NamedTuple):
    """One metric of a card; what is drawn of it is None if it is not estimable."""

    name: str
    limits: str
    numbers: list[CardNumber]
    pooled: _Bar | None
    own: _Bar | None
    limits_at: list[str]


class OpenAlert(NamedTuple):
    """An open alert: what it is on, how far it is from its end, and what was sent about it."""

    line: str
    now: str | None
    said: list[str]
    link: str | None


class LabelCounts(NamedTuple):
    """An open round, and how many answers it has of how many; 0 wanted before it is drawn."""

    lines: Sequence[str]
    answered: int
    wanted: int


class RoundLine(NamedTuple):
    """A round in the list of a monitor, with what it is the first of."""

    number: int
    due: str
    state: str
    precision: list[str]
    recall: list[str]
    begins: list[str]


class AlertLine(NamedTuple):
    """An alert in the list of a monitor."""

    limit: str
    state: str
    number: int
    fired: str
    ended: str


class Card(NamedTuple):
    """One monitor: how it stands, and in words its estimates, alerts, labels and what is coming."""

    overview: Overview
    last: str | None
    metrics: list[MetricCard]
    alerts: list[OpenAlert]
    learning: Sequence[str]
    labels: list[LabelCounts]
    waiting: list[str]
    next_round: str


def card_of(
    settings: MonitorSettings, overview: Overview, mlflow: Callable[[str, str], str | None]
) -> Card:
    """Return how a monitor stands."""
    learns = overview.learning_rounds_remaining if overview.status is Status.LEARNING else 0
    last = None
    if overview.last_round is not None and overview.last_slot is not None:
        last = last_estimate_line(
            overview.last_round, overview.last_slot, partial=overview.last_partial
        )
    return Card(
        overview=overview,
        last=last,
        metrics=_metrics(settings, overview.estimates),
        alerts=[_open_alert(alert, overview, mlflow) for alert in overview.alerts],
        learning=learning_lines(learns, overview.proposed_limits),
        labels=[
            LabelCounts(one.lines, one.answered, one.wanted if one.deadline else 0)
            for one in overview.open_rounds
        ],
        waiting=[waiting_sentence(one) for one in overview.waiting if not one.dead],
        next_round=next_round_line(overview.next_slot),
    )


def plan_facts(settings: MonitorSettings) -> list[tuple[str, str]]:
    """Describe what the config asks of each round."""
    round_settings = settings.round
    sample, schedule = round_settings.sample, round_settings.schedule
    lag = f", predictions up to {span_text(schedule.lag)} before" if schedule.lag else ""
    margins = [f"{name} ±{half:g}" for name, half in sample.margin.wanted().items()]
    labels = "all" if sample.max_labels == "all" else f"{sample.max_labels:,}"
    if margins and sample.budget:
        labels = f"as many as {' and '.join(margins)} need, {labels} at most"
    limits = [f"{name} {_bounds(bound)}" for name, bound in round_settings.limits.bounds.items()]
    promise = f"; at most one false alarm per {round_settings.limits.false_alarm_every:g} rounds"
    return [
        ("schedule", f"{schedule.cron} ({schedule.time_zone}){lag}"),
        ("labels a round", labels),
        ("time for labels", span_text(round_settings.deadline)),
        ("limits", f"{', '.join(limits)}{promise}" if limits else "none"),
    ]


def _metrics(settings: MonitorSettings, estimates: Sequence[EstimateRow]) -> list[MetricCard]:
    metric_cards = []
    for name in SHOWN:
        rows = [row for row in estimates if row.metric == name]
        if not rows:
            continue
        bars = {row.basis: _bar(row) for row in rows}
        limits = [_percent(limit) for limit in limits_of(settings, name)]
        bounds = _bounds(settings.round.limits.bounds.get(name))
        numbers = [
            CardNumber(
                BASES[row.basis],
                reason_text(row.reason) if row.point is None else interval_text(row),
            )
            for row in rows
        ]
        metric_cards.append(
            MetricCard(name, bounds, numbers, bars.get("pooled"), bars.get("round"), limits)
        )
    return metric_cards


def limits_of(settings: MonitorSettings, metric: str) -> list[float]:
    """List the values that a metric must not pass."""
    bound = settings.round.limits.bounds.get(metric)
    return [] if bound is None else [*bound.sides().values()]


def _bounds(bound: Bound | None) -> str:
    sides = {} if bound is None else bound.sides()
    return " and ".join(bound_text(side, value) for side, value in sides.items())


def _open_alert(
    alert: StoredAlert, overview: Overview, mlflow: Callable[[str, str], str | None]
) -> OpenAlert:
    notice, recovery = overview.firing_notices.get(alert.id), overview.recoveries.get(alert.id)
    return OpenAlert(
        open_alert_line(alert),
        None if recovery is None else recovery_sentence(alert, recovery),
        [] if notice is None else body(notice.model_copy(update={"link": None})),
        None if notice is None else mlflow(notice.monitor, notice.round_key),
    )


class _Bar(NamedTuple):
    low: str
    point: str
    high: str


def _bar(row: EstimateRow) -> _Bar | None:
    if row.point is None or row.low is None or row.high is None:
        return None
    return _Bar(*(_percent(value) for value in (row.low, row.point, row.high)))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def round_table(listed: ListedRounds) -> list[RoundLine]:
    """List rounds, the newest first."""
    return [_round(row) for row in reversed(listed.rows)]


def alert_table(alerts: Sequence[StoredAlert]) -> list[AlertLine]:
    """List alerts, open ones first, then the newest."""
    newest_first = sorted(alerts, key=lambda alert: alert.fired_at, reverse=True)
    return [
        _alert(alert) for alert in sorted(newest_first, key=lambda a: a.state != AlertState.FIRING)
    ]


def event_table(page: RoundPage) -> list[tuple[str, str, str]]:
    """List what happened to a round."""
    return [(minute_text(one["at"]), one["after"], one["reason"]) for one in page.events]


def _round(row: Row) -> RoundLine:
    round_ = row.round
    more = remarks_text(
        round_.estimated_version,
        partial=round_.partial,
        worst_case=any(one.is_worst_case for one in row.estimates),
        restated=row.restated,
    )
    intervals = {
        metric: [interval_text(one, 2) for one in row.estimates if one.metric == metric]
        for metric in ("precision", "recall")
    }
    return RoundLine(
        round_.number,
        minute_text(round_.slot),
        f"{round_.state}, {more}" if more else str(round_.state),
        intervals["precision"],
        intervals["recall"],
        [change_sentence(change) for change in row.changes],
    )


def _alert(alert: StoredAlert) -> AlertLine:
    ended = "" if alert.ended_at is None else f"{minute_text(alert.ended_at)}: {alert.ended_why}"
    return AlertLine(
        limit_text(alert.metric, alert.side, alert.limit),
        str(alert.state),
        alert.fired_in_round,
        f"{minute_text(alert.fired_at)}, on the predictions of {alert.window}",
        ended,
    )
