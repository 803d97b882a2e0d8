"""What `pr-monitor status` prints about monitors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from monitor.cli.views.printing import painted
from monitor.domain.report import EstimateRow, Status
from monitor.hooks.context import body
from monitor.presentation.alerts import limit_line, open_alert_line, recovery_sentence
from monitor.presentation.classes import block_lines
from monitor.presentation.delivery import waiting_sentence
from monitor.presentation.estimates import BASES, reason_text
from monitor.presentation.numbers import interval_text
from monitor.presentation.status import (
    last_estimate_line,
    learning_lines,
    next_round_line,
)
from monitor.results.result import dump

if TYPE_CHECKING:
    from monitor.config.model import Config
    from monitor.domain.alerting import StoredAlert
    from monitor.domain.class_report import ClassOverview
    from monitor.hooks.context import Link
    from monitor.rounds.opening.removed_monitors import RemovedMonitor
    from monitor.rounds.status import Overview

COLOURS = {
    "alert": "red",
    "stale": "yellow",
    "attention": "magenta",
    "ok": "green",
    "learning": "cyan",
}


def status_json(
    monitors: Sequence[Overview],
    blocks: Sequence[ClassOverview],
    removed_monitors: Sequence[RemovedMonitor],
    config: Config,
) -> dict[str, Any]:
    """Return the whole page for programs."""
    return {
        "monitors": [overview_json(monitor) for monitor in monitors],
        "classes": blocks,
        "left_behind": [
            {
                "monitor": monitor.monitor,
                "alerts": [alert_json(alert) for alert in monitor.alerts],
                "open_rounds": monitor.open_rounds,
                "alerts_end_at": monitor.ends_at if monitor.alerts else None,
                "sentence": monitor.sentence,
            }
            for monitor in removed_monitors
        ],
        "false_alarms_a_year": sum(config.false_alarms_a_year().values()),
    }


def status_document(
    monitors: Sequence[Overview],
    blocks: Sequence[ClassOverview],
    removed_monitors: Sequence[RemovedMonitor],
    promises: Sequence[str],
) -> Iterator[str]:
    """Return the page: each monitor, the blocks of classes, what remains of removed monitors.

    Then what all promise together.
    """
    parts = [
        *map(overview_lines, monitors),
        *map(block_lines, blocks),
        [f"warning: {removed.sentence}" for removed in removed_monitors],
        promises,
    ]
    for index, lines in enumerate(filter(None, map(list, parts))):
        yield from ["", *lines] if index else lines


def overview_json(overview: Overview) -> dict[str, Any]:
    """Return an overview for programs."""
    values: dict[str, Any] = dump(overview)
    del values["firing_notices"], values["recoveries"]
    return values | {
        "alerts": [_open_alert_json(alert, overview) for alert in overview.alerts],
        "headline": overview.headline,
        "limits": [
            {
                **dump(limit.evidence),
                "comparison": limit.state,
                "estimate": limit.estimate,
                "sentence": limit_line(limit),
            }
            for limit in overview.limits
        ],
        "waiting": [
            dump(effect) | {"sentence": waiting_sentence(effect)} for effect in overview.waiting
        ],
    }


def _open_alert_json(alert: StoredAlert, overview: Overview) -> dict[str, Any]:
    notice, recovery = overview.firing_notices.get(alert.id), overview.recoveries.get(alert.id)
    return {
        **alert_json(alert),
        **{name: notice and getattr(notice, name) for name in ("sentence", "to_do", "link")},
        "recovery": recovery and dump(recovery) | {"sentence": recovery_sentence(alert, recovery)},
    }


def alert_json(alert: StoredAlert) -> dict[str, Any]:
    """Return an alert for programs."""
    result = dump(alert)
    del result["fired_round_id"], result["fired_slot"]  # `fired_in_round` says it
    return {**result, "window": [alert.window.start, alert.window.end]}


def with_links(overview: Overview, link: Link) -> Overview:
    """Add the addresses of open alerts' rounds in MLflow."""
    notices = {
        alert_id: notice.model_copy(update={"link": link(notice)})
        for alert_id, notice in overview.firing_notices.items()
    }
    return replace(overview, firing_notices=notices)


def overview_lines(overview: Overview) -> Iterator[str]:
    """Return an overview, a monitor's headline and what belongs to it."""
    yield f"{overview.monitor}: {painted(overview.headline, COLOURS[overview.colour])}"
    remaining = overview.learning_rounds_remaining if overview.status is Status.LEARNING else 0
    lines = [
        *_last_estimate(overview),
        *(line for alert in overview.alerts for line in _alert(alert, overview)),
        *learning_lines(remaining, overview.proposed_limits),
        *_doing(overview),
        next_round_line(overview.next_slot),
    ]
    yield from (f"  {line}" for line in lines)


def _last_estimate(overview: Overview) -> Iterator[str]:
    if overview.last_round is not None and overview.last_slot is not None:
        yield last_estimate_line(
            overview.last_round, overview.last_slot, partial=overview.last_partial
        )
    for row in overview.estimates:
        yield f"  {row.metric:<9}  {BASES[row.basis]:<19}  {_number(row)}"
    for limit in overview.limits:
        yield f"  {limit_line(limit)}"
    if overview.worst_case is not None:
        yield f"  {overview.worst_case}"


def _alert(alert: StoredAlert, overview: Overview) -> Iterator[str]:
    notice, recovery = overview.firing_notices.get(alert.id), overview.recoveries.get(alert.id)
    yield open_alert_line(alert)
    if recovery is not None:
        yield f"  now: {recovery_sentence(alert, recovery)}"
    if notice is not None:
        yield from (f"  {text}" for text in body(notice))


def _number(row: EstimateRow) -> str:
    return interval_text(row) if row.point is not None else reason_text(row.reason)


def _doing(overview: Overview) -> Iterator[str]:
    yield from (line for one in overview.open_rounds for line in one.lines)
    yield from (f"problem: {problem}" for problem in overview.problems)
    yield from (f"needs a look: {concern}" for concern in overview.concerns)
    yield from (f"note: {note}" for note in overview.notes)
    yield from (waiting_sentence(waiting) for waiting in overview.waiting if not waiting.dead)
