"""A monitor as its card and its page show it, in the words of `pr-monitor status`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.report import EstimateRow, Status
from monitor.hooks.texts import body
from monitor.presentation.alerts import open_alert_line, recovery_sentence
from monitor.presentation.delivery import waiting_sentence
from monitor.presentation.estimates import BASES, reason_text
from monitor.presentation.numbers import bound_text, interval_text, span_text
from monitor.presentation.status import (
    last_estimate_line,
    learning_lines,
    next_round_line,
)

if TYPE_CHECKING:
    from monitor.domain.settings import Bound, MonitorSettings
    from monitor.rounds.status import Overview
    from monitor.storage.results.alert_store import StoredAlert

SHOWN = ("precision", "recall")


class CardNumber(NamedTuple):
    """An estimate in words: what it rests on, and the point with its interval, or why none."""

    basis: str
    text: str


@dataclass(frozen=True, slots=True)
class MetricCard:
    """One metric of a card."""

    name: str
    limits: str
    numbers: list[CardNumber]
    figure: _Figure


class OpenAlert(NamedTuple):
    """An open alert: what it is on, how far it is from its end, and what was sent about it."""

    line: str
    now: str | None
    said: list[str]
    link: str | None


class LabelCounts(NamedTuple):
    """An open round, and how many answers it has of how many; 0 wanted before it is drawn."""

    line: str
    answered: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Card:
    """One monitor: state and why, estimates, labels, and what is coming."""

    name: str
    status: Status
    last: str | None
    metrics: list[MetricCard]
    worst_case: str | None
    alerts: list[OpenAlert]
    problems: Sequence[str]
    concerns: Sequence[str]
    learning: Sequence[str]
    labels: list[LabelCounts]
    notes: Sequence[str]
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
        name=overview.monitor,
        status=overview.status,
        last=last,
        metrics=_metrics(settings, overview.estimates),
        worst_case=overview.worst_case,
        alerts=[_open_alert(alert, overview, mlflow) for alert in overview.alerts],
        problems=overview.problems,
        concerns=overview.concerns,
        learning=learning_lines(learns, overview.proposed_limits),
        labels=[
            LabelCounts(one.line, one.answered, one.wanted if one.deadline else 0)
            for one in overview.open_rounds
        ],
        notes=overview.notes,
        waiting=[waiting_sentence(one) for one in overview.waiting if not one.dead],
        next_round=next_round_line(overview.next_slot),
    )


def gravest_first(
    monitors: Sequence[tuple[MonitorSettings, Overview]],
) -> list[tuple[MonitorSettings, Overview]]:
    """Sort monitors by state, then as the config has them."""
    return sorted(monitors, key=lambda one: one[1].status.grade)


def plan_facts(settings: MonitorSettings) -> list[tuple[str, str]]:
    """Describe what the config asks of each round."""
    round_settings = settings.round
    sample, schedule = round_settings.sample, round_settings.schedule
    lag = f", predictions up to {span_text(schedule.lag)} before" if schedule.lag else ""
    margins = [f"{name} ±{half:g}" for name, half in sample.margin.wanted().items()]
    labels = (
        f"as many as {' and '.join(margins)} need, {sample.max_labels:,} at most"
        if margins
        else f"{sample.max_labels:,}"
    )
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
        bound = settings.round.limits.bounds.get(name)
        if rows:
            figure = _figure_of(rows, limits_of(settings, name))
            metric_cards.append(
                MetricCard(name, _bounds(bound), [_number(row) for row in rows], figure)
            )
    return metric_cards


def limits_of(settings: MonitorSettings, metric: str) -> list[float]:
    """List the values that a metric must not pass."""
    bound = settings.round.limits.bounds.get(metric)
    return [] if bound is None else [*bound.sides().values()]


def _bounds(bound: Bound | None) -> str:
    sides = {} if bound is None else bound.sides()
    return " and ".join(bound_text(side, value) for side, value in sides.items())


def _number(row: EstimateRow) -> CardNumber:
    text = interval_text(row) if row.point is not None else reason_text(row.reason)
    return CardNumber(BASES[row.basis], text)


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
    """An interval and its point, as percent of the line."""

    low: str
    point: str
    high: str


class _Figure(NamedTuple):
    """What is drawn of a metric; None if it is not estimable."""

    pooled: _Bar | None
    own: _Bar | None
    limits: list[str]


def _figure_of(rows: Iterable[EstimateRow], limits: Iterable[float]) -> _Figure:
    """Place the estimates of one metric, by their basis."""
    bars = {row.basis: _bar(row) for row in rows}
    return _Figure(bars.get("pooled"), bars.get("round"), [_percent(limit) for limit in limits])


def _bar(row: EstimateRow) -> _Bar | None:
    if row.point is None or row.low is None or row.high is None:
        return None
    return _Bar(*(_percent(value) for value in (row.low, row.point, row.high)))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
