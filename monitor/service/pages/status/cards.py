"""What the status pages show of monitors, in the words of `pr-monitor status`; times are UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import StoredAlert
from monitor.domain.report import EstimateRow, Status
from monitor.domain.settings import Bound, MonitorSettings
from monitor.hooks.context import body
from monitor.presentation.alerts import limit_line, open_alert_line, recovery_sentence
from monitor.presentation.delivery import waiting_sentence
from monitor.presentation.estimates import BASES, reason_text
from monitor.presentation.numbers import bound_text, interval_text, span_text
from monitor.presentation.status import last_estimate_line, learning_lines, next_round_line

if TYPE_CHECKING:
    from monitor.rounds.status import Overview

SHOWN = ("precision", "recall")


def card_of(
    settings: MonitorSettings, overview: Overview, mlflow: Callable[[str, str], str | None]
) -> dict[str, Any]:
    """Return the card of a monitor: its estimates, alerts, labels and what is coming."""
    learns = overview.learning_rounds_remaining if overview.status is Status.LEARNING else 0
    last = None
    if overview.last_round is not None and overview.last_slot is not None:
        last = last_estimate_line(
            overview.last_round, overview.last_slot, partial=overview.last_partial
        )
    of_metric = {name: [row for row in overview.estimates if row.metric == name] for name in SHOWN}
    return {
        "overview": overview,
        "headline": overview.headline,
        "colour": overview.colour,
        "limits": [limit_line(limit) for limit in overview.limits],
        "last": last,
        "metrics": [_metric(settings, name, rows) for name, rows in of_metric.items() if rows],
        "alerts": [_open_alert(alert, overview, mlflow) for alert in overview.alerts],
        "learning": learning_lines(learns, overview.proposed_limits),
        "waiting": [waiting_sentence(one) for one in overview.waiting if not one.dead],
        "next_round": next_round_line(overview.next_slot),
    }


def plan_facts(settings: MonitorSettings) -> list[tuple[str, str]]:
    """Describe the plan of each round by the config."""
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


def limits_of(settings: MonitorSettings, metric: str) -> list[float]:
    """List the values that a metric must not pass."""
    bound = settings.round.limits.bounds.get(metric)
    return [] if bound is None else [*bound.sides().values()]


def _metric(settings: MonitorSettings, name: str, rows: Sequence[EstimateRow]) -> dict[str, Any]:
    return {
        "name": name,
        "bounds": _bounds(settings.round.limits.bounds.get(name)),
        "limits": limits_of(settings, name),
        "drawn": [row for row in rows if row.low is not None and row.high is not None],
        "numbers": [
            (BASES[row.basis], reason_text(row.reason) if row.point is None else interval_text(row))
            for row in rows
        ],
    }


def _bounds(bound: Bound | None) -> str:
    sides = {} if bound is None else bound.sides()
    return " and ".join(bound_text(side, value) for side, value in sides.items())


def _open_alert(
    alert: StoredAlert, overview: Overview, mlflow: Callable[[str, str], str | None]
) -> dict[str, Any]:
    """Describe what an alert is on, how far it is from its end, and what was sent about it."""
    notice, recovery = overview.firing_notices.get(alert.id), overview.recoveries.get(alert.id)
    return {
        "line": open_alert_line(alert),
        "now": None if recovery is None else recovery_sentence(alert, recovery),
        "said": [] if notice is None else body(notice.model_copy(update={"link": None})),
        "link": None if notice is None else mlflow(notice.monitor, notice.round_key),
    }
