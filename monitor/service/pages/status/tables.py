"""Tables of the status pages; times are UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.alerting import AlertState
from monitor.presentation.numbers import interval_text, limit_text, minute_text
from monitor.presentation.rounds import remarks_text
from monitor.presentation.setting_changes import change_sentence

if TYPE_CHECKING:
    from monitor.domain.round_page import RoundPage
    from monitor.rounds.listing import ListedRounds, Row
    from monitor.storage.results.alert_store import StoredAlert


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
