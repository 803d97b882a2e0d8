"""Reconcile a restored store with MLflow: rounds that only MLflow has are recorded as lost.

No round is run twice. New versions of the store's own rounds get numbers above those in MLflow,
which keeps the larger of two values at one step and time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState
from monitor.domain.model import ShownRun
from monitor.domain.ports import RoundRuns
from monitor.domain.report import AlertRow
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.presentation.moves import behind_text, lost_reason
from monitor.rounds.context import MonitorContext
from monitor.rounds.opening.due import free_window, number_of
from monitor.rounds.reporting.enqueue import forgotten_notice, notify
from monitor.storage.results import alert_store, concern_store
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

    Shown = Mapping[datetime, ShownRun]
    """The live run of each slot, with its latest version."""


@dataclass(frozen=True, slots=True)
class RestoredRounds:
    """Rounds and alerts of one monitor that MLflow has and its restored store lacks.

    lost: Rounds that this call recorded as lost.
    behind: Other rounds that have a later version in MLflow, each with that version.
    alerts: Open alerts that the store does not have; None if their report is no longer in MLflow.
    """

    lost: tuple[Round, ...] = ()
    behind: tuple[tuple[Round, int], ...] = ()
    alerts: tuple[AlertRow, ...] | None = ()


def reconcile(context: MonitorContext, runs: RoundRuns) -> RestoredRounds:
    """Record the rounds of a monitor that its restored store lost, and tag their runs.

    Safe to repeat: MLflow's runs are tagged after the transaction. Raises `DeliveryFailed` if
    MLflow does not answer.
    """
    name, now = context.settings.name, context.clock()
    with context.database.read() as connection:
        store = store_id(connection)
        before = {round_.slot: round_ for round_ in round_store.find_rounds(connection, name)}
    shown = {run.slot: run for run in runs.find(store, name) if run.live}
    behind = {
        slot: round_.version
        for slot, round_ in before.items()
        if slot in shown and _reported(round_) < shown[slot].version
    }
    recorded = {slot for slot, round_ in before.items() if round_.is_lost}
    alerts = _firing_alerts(runs, shown, recorded)
    with context.database.write() as connection:
        monitor_id = round_store.ensure_monitor(connection, name, now)
        for slot, run in shown.items():
            if slot in behind:
                _raise_version(connection, before[slot], run, now)
            elif slot not in before:
                _add_lost(connection, context, monitor_id, run)
        concern_store.forget_doubt(connection, monitor_id)
        rounds = round_store.find_rounds(connection, name)
        unknown = None if alerts is None else _end_unknown(connection, rounds, alerts, now)
    # After the commit: a call that is stopped in between tags the same runs when repeated.
    _tag(runs, shown, rounds, behind)
    return RestoredRounds(
        tuple(r for r in rounds if r.is_lost and r.slot not in recorded),
        tuple((r, shown[r.slot].version) for r in rounds if r.slot in behind and not r.is_lost),
        unknown,
    )


def _reported(round_: Round) -> int:
    """Return the latest version that the store reported; being abandoned counts as one more."""
    return round_.version + (round_.state is RoundState.ABANDONED)


def _add_lost(
    connection: Connection, context: MonitorContext, monitor_id: int, run: ShownRun
) -> None:
    settings, slot = context.settings.round, run.slot
    next_number = number_of(connection, settings.schedule, monitor_id, slot)
    round_transitions.add_rounds(
        connection,
        monitor_id=monitor_id,
        first_number=next_number if run.number is None else run.number,
        slots=[slot],
        windows=[free_window(connection, monitor_id, settings.schedule, slot)],
        state=RoundState.SKIPPED,
        settings=settings.model_copy(update={"shown_version": max(1, run.version)}),
        now=context.clock(),
        reason=lost_reason(run.page),
    )


def _raise_version(connection: Connection, round_: Round, run: ShownRun, now: datetime) -> None:
    """Let the next version of a round, if it will have one, be above the version in MLflow."""
    if round_transitions.start_above(connection, round_.id, run.version):
        return
    settings = round_.settings.model_copy(update={"shown_version": run.version})
    round_transitions.replace_settings(connection, round_.id, settings)
    if round_.state is not RoundState.CLOSED and not round_.is_lost:
        reason = lost_reason(run.page)
        round_transitions.note_reason(connection, round_, reason, now)


def _tag(
    runs: RoundRuns, shown: Shown, rounds: Sequence[Round], behind: Mapping[datetime, int]
) -> None:
    for round_ in rounds:
        if round_.slot not in shown:
            continue
        if round_.is_lost:
            runs.tag(shown[round_.slot], lost_reason(None))
        elif round_.slot in behind:
            runs.tag(shown[round_.slot], behind_text(behind[round_.slot]))


def _firing_alerts(
    runs: RoundRuns, shown: Shown, recorded: Collection[datetime]
) -> list[AlertRow] | None:
    """Read the open alerts of the newest closed run; None if MLflow no longer has its report.

    Empty if that round is ``recorded`` as lost: an earlier call has ended its alerts.
    """
    newest = max((slot for slot in shown if shown[slot].state == RoundState.CLOSED), default=None)
    if newest is None or newest in recorded:
        return []
    report = runs.report(shown[newest])
    if report is None:
        return None
    rows = [AlertRow.model_validate(row) for row in report.get("alerts", [])]
    return [row for row in rows if row.state == AlertState.FIRING]


def _end_unknown(
    connection: Connection, rounds: Sequence[Round], firing: Sequence[AlertRow], now: datetime
) -> tuple[AlertRow, ...]:
    """Notify the hooks that alerts which the store does not have are over; returns them."""
    ids = alert_store.unknown_alerts(connection, [alert.id for alert in firing])
    unknown = tuple(alert for alert in firing if alert.id in ids)
    numbered = {round_.number: round_ for round_ in rounds}
    for alert in unknown:
        fired = numbered.get(alert.fired_in_round, rounds[-1])
        notice = forgotten_notice(alert, fired, store_id=store_id(connection), at=now)
        notify(connection, fired, notice, now)
    return unknown
