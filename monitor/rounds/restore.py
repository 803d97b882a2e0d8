"""After a restore: what MLflow shows and the store has forgotten is done again.

The slots that the store lost are opened as if they were due, with versions above those that MLflow
shows: it keeps the larger of two values at one step and time. Seeds come from the store's id and
the slot, so the same items are drawn, and answers that lie where labels come from fit again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import AlertState
from monitor.domain.errors import MonitorError
from monitor.domain.model import ShownRun
from monitor.domain.ports import RoundRuns
from monitor.domain.report import AlertRow
from monitor.domain.settings import RoundSettings
from monitor.domain.slots import newest_slot, slots_between
from monitor.domain.state import RoundState
from monitor.presentation.moves import RESTORED
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.rounds.opening.due import free_window, number_of
from monitor.rounds.reporting.enqueue import forgotten_notice, notify
from monitor.storage.results import alert_store, concern_store
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.rounds.round_store import Round
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection


_BEFORE_DONE = (RoundState.OPEN, RoundState.LABELING)


@dataclass(frozen=True, slots=True)
class ForgottenRound:
    """What a restored store had forgotten of one monitor.

    opened: Slots that were lost, now open.
    behind: Closed rounds of which MLflow shows a later version: round id to that version.
    retire: How many runs were deleted in MLflow.
    alerts: Alerts that were open and are unknown now; None if that could not be read.
    off_schedule: Slots that MLflow shows and today's schedule does not have.
    abandoned: Slots of rounds that are abandoned here and done again in MLflow.
    """

    opened: tuple[datetime, ...]
    behind: Mapping[int, int]
    retire: int
    alerts: tuple[AlertRow, ...] | None
    off_schedule: tuple[datetime, ...]
    abandoned: tuple[datetime, ...]


def reconcile(context: MonitorContext, runs: RoundRuns) -> ForgottenRound:
    """Open the slots of a monitor that a restored store lost, above the versions MLflow shows.

    Safe to repeat: MLflow's runs of those rounds are deleted after the transaction. Raises
    `DeliveryFailed` if MLflow does not answer.
    """
    name, now = context.settings.name, context.clock()
    with context.database.read() as connection:
        store = store_id(connection)
        rounds_by_slot = {
            round_.slot: round_ for round_ in round_store.find_rounds(connection, name)
        }
    shown = runs.find(store, name)
    versions: dict[datetime, int] = {}  # the highest of each slot, in runs that were deleted too
    for shown_run in shown:
        versions[shown_run.slot] = max(versions.get(shown_run.slot, 1), shown_run.version)
    lost, off_schedule = _lost(context, rounds_by_slot, versions)
    estimated = [each.slot for each in shown if each.live and each.state == RoundState.CLOSED]
    newest = max(estimated, default=None)
    reports = _reports(runs, shown, {*lost, *_undrawn(rounds_by_slot), newest})
    with context.database.write() as connection:
        monitor_id = round_store.ensure_monitor(connection, name, now)
        opened = [
            slot
            for slot in lost
            if _open(
                connection, context, monitor_id, slot, rounds_by_slot, versions, reports.get(slot)
            )
        ]
        _start_above(connection, rounds_by_slot.values(), versions, reports)
        concern_store.forget_doubt(connection, monitor_id)
        rounds = round_store.find_rounds(connection, name)
        alerts = _end_forgotten(connection, rounds, newest, reports, now)
    # Not before the commit: whoever is stopped in between finds the same runs to delete again.
    first = {round_.slot: round_.first_version for round_ in rounds if round_.first_version > 1}
    past = [run for run in shown if run.live and run.version < first.get(run.slot, 0)]
    runs.retire(past)
    closed = [round_ for round_ in rounds if round_.state is RoundState.CLOSED]
    if past:  # the monitor's long-lived run ignores rounds that are no news to it
        runs.rewind(store, name, max((round_.number for round_ in closed), default=0))
    return ForgottenRound(
        opened=tuple(opened),
        behind={
            round_.id: versions[round_.slot]
            for round_ in closed
            if round_.version < versions.get(round_.slot, 0)
        },
        retire=len(past),
        alerts=alerts,
        off_schedule=tuple(off_schedule),
        abandoned=tuple(
            round_.slot
            for round_ in rounds
            if round_.state is RoundState.ABANDONED
            and round_.version + 1 < versions.get(round_.slot, 0)
        ),
    )


def repeat_round(
    context: MonitorContext, behind: Mapping[int, int]
) -> Iterator[tuple[Round, MonitorError | None]]:
    """Take all rounds that are not done as far as they get, in slot order; yields what each met.

    One after the other: a round is planned by what the closed rounds before it found.
    """
    with context.database.read() as connection:
        rounds = round_store.find_rounds(connection, context.settings.name)
    for round_ in rounds:
        if round_.state not in _BEFORE_DONE and round_.id not in behind:
            continue
        obstacle = None
        try:
            run.run_all(context, round_.id)
            if _read(context, round_).version <= behind.get(round_.id, -1):
                run.publish_above(context, round_.id, behind)
        except MonitorError as error:
            obstacle = error
        yield _read(context, round_), obstacle


def _read(context: MonitorContext, round_: Round) -> Round:
    with context.database.read() as connection:
        return round_store.read_round(connection, round_.id)


def _undrawn(rounds: Mapping[datetime, Round]) -> list[datetime]:
    """Find the rounds that are not drawn yet."""
    return [slot for slot, round_ in rounds.items() if round_.state is RoundState.OPEN]


def _reports(
    runs: RoundRuns, shown: Sequence[ShownRun], slots: Collection[datetime | None]
) -> dict[datetime, Mapping[str, Any]]:
    newest = {run.slot: run for run in shown if run.slot in slots and run.version}
    read = {slot: runs.report(run) for slot, run in newest.items()}
    return {slot: report for slot, report in read.items() if report is not None}


def _as_planned(settings: RoundSettings, report: Mapping[str, Any] | None) -> RoundSettings:
    """Give a round the plan that it was drawn by, and from what; none if it was never drawn."""
    report = report or {}
    strata = report.get("cells") or report.get("strata", [])
    planned = {str(row["stratum"]): int(row["planned"]) for row in strata}
    return settings.model_copy(
        update={
            "planned": planned or None,
            "snapshot": report.get("snapshot"),
        }
    )


def _lost(
    context: MonitorContext, rounds: Mapping[datetime, Round], seen: Mapping[datetime, int]
) -> tuple[list[datetime], list[datetime]]:
    """Find the slots to open, in order, and the slots that have no window in today's schedule.

    What came due since the newest that the store knows may be lost before MLflow had it.
    """
    schedule = context.settings.round.schedule
    removed = {
        slot for slot in seen if slot not in rounds or rounds[slot].state is RoundState.SKIPPED
    }
    on_schedule = {slot for slot in removed if newest_slot(schedule, slot) == slot}
    newest = _newest(context, rounds) or min(removed, default=None)
    due = [] if newest is None else slots_between(schedule, newest, context.clock())
    missing = set(due) - rounds.keys()
    return sorted(missing | on_schedule), sorted(removed - on_schedule)


def _newest(context: MonitorContext, rounds: Mapping[datetime, Round]) -> datetime | None:
    """Find the newest slot of the store, but none that a clock ahead of this one opened."""
    now = context.clock()
    return max((slot for slot in rounds if slot <= now), default=None)


def _open(
    connection: Connection,
    context: MonitorContext,
    monitor_id: int,
    slot: datetime,
    rounds: Mapping[datetime, Round],
    seen: Mapping[datetime, int],
    report: Mapping[str, Any] | None,
) -> bool:
    """Open the round of a lost slot; false if another worker did.

    A slot before the newest known one that the store never had was filled by a backfill, whose
    notices wake nobody now either.
    """
    filled = slot not in rounds and slot < (_newest(context, rounds) or slot)
    settings = context.settings.round.model_copy(
        update={"origin": "backfill" if filled else "schedule"}
    )
    settings, now = _as_planned(settings, report), context.clock()
    if (skipped := rounds.get(slot)) is not None:
        reopened = round_transitions.reopen_skipped(
            connection, skipped.id, settings=settings, now=now, reason=RESTORED
        )
        opened = [skipped.id] if reopened else []
    else:
        opened = round_transitions.add_rounds(
            connection,
            monitor_id=monitor_id,
            first_number=number_of(connection, settings.schedule, monitor_id, slot),
            slots=[slot],
            windows=[free_window(connection, monitor_id, settings.schedule, slot)],
            state=RoundState.OPEN,
            settings=settings,
            now=now,
            reason=RESTORED,
        )
    for round_id in opened:
        if slot in seen:
            round_transitions.start_above(connection, round_id, seen[slot])
    return bool(opened)


def _start_above(
    connection: Connection,
    rounds: Iterable[Round],
    versions: Mapping[datetime, int],
    reports: Mapping[datetime, Mapping[str, Any]],
) -> None:
    """Let open rounds that MLflow shows come out above its versions, by the plan that they had."""
    for round_ in rounds:
        version = versions.get(round_.slot)
        if version is not None and round_transitions.start_above(connection, round_.id, version):
            settings = _as_planned(round_.settings, reports.get(round_.slot))
            round_transitions.freeze_settings(connection, round_.id, settings)


def _end_forgotten(
    connection: Connection,
    rounds: Sequence[Round],
    newest: datetime | None,
    reports: Mapping[datetime, Mapping[str, Any]],
    now: datetime,
) -> tuple[AlertRow, ...] | None:
    """End the alerts of MLflow's newest report that the store does not know; None without one."""
    if newest is None:
        return ()
    if newest not in reports:
        return None
    rows = [AlertRow.model_validate(row) for row in reports[newest].get("alerts", [])]
    firing = [row for row in rows if row.state == AlertState.FIRING]
    unknown = alert_store.unknown_alerts(connection, [alert.id for alert in firing])
    lost = tuple(alert for alert in firing if alert.id in unknown)
    numbered = {round_.number: round_ for round_ in rounds}
    for alert in lost:
        fired = numbered.get(alert.fired_in_round, rounds[-1])
        notice = forgotten_notice(alert, fired, store_id=store_id(connection), at=now)
        notify(connection, fired, notice, now)
    return lost
