"""The effects of a batch: notices for the log and the hooks, runs and points for MLflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import AlertState
from monitor.domain.model import LOG, MLFLOW, EffectKind
from monitor.domain.registered import alias_of
from monitor.domain.report import RoundReport, Status
from monitor.domain.state import RoundState
from monitor.rounds.reporting.notices import (
    abandoned_notice,
    alert_notice,
    early_notice,
    ended_notice,
    round_key,
    unusual_notice,
)
from monitor.rounds.reporting.report import alert_row, bare_report, closed_report, read_surroundings
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.results import alert_store, concern_store, report_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.alerting import StoredAlert
    from monitor.domain.notice import Notice
    from monitor.rounds.estimation.batch import BatchEvidence, Estimates, HistoryBatch
    from monitor.rounds.estimation.supplements import Supplements
    from monitor.storage.rounds.round_store import Round


def enqueue(
    connection: Connection,
    batch: HistoryBatch,
    estimates: Estimates,
    evidence: BatchEvidence,
    supplements: Mapping[int, Supplements],
    reason: str,
    now: datetime,
) -> None:
    """Write the effects of a batch: notices first, then MLflow in slot order."""
    surroundings = read_surroundings(connection, batch, evidence, reason, now)
    reports = {
        (round_id := member.round.id): closed_report(
            batch,
            member,
            estimates[round_id],
            evidence.readings.get(round_id, {}),
            supplements[round_id],
            surroundings,
            round_key=_key(connection, member.round, batch.store_id),
        )
        for member in batch.affected
    }
    report_store.write_reports(connection, reports)  # before the effects, which refer to them
    due = batch.affected[0].round
    effects = _notices(due, reports[due.id], evidence, now)
    for member in batch.affected:
        round_ = member.round
        effects += _for_mlflow(round_, reports[round_.id], newest=round_.id == surroundings.newest)
    effect_store.add_effects(connection, effects, now)


def _notices(
    due: Round, report: RoundReport, evidence: BatchEvidence, now: datetime
) -> list[NewEffect]:
    """Notify people of alert moves, and the log of what was unusual about a round that closes."""
    effects: list[NewEffect] = []
    for move in evidence.moves:
        if move.event is None:
            continue
        notice = alert_notice(move.event, move.alert, report, due, at=now, why=move.why)
        effects += _to_all(due, notice)
    if report.version == due.first_version:
        effects += [_to(due, unusual_notice(row, report, due), LOG) for row in report.notices]
    return effects


def enqueue_concerns(connection: Connection, round_: Round, now: datetime) -> None:
    """Send the newest closed round to MLflow again, with the concerns noted since its report."""
    report = _stored_report(connection, round_)
    if report is not None:
        effects = _for_mlflow(round_, report, newest=False)
        effect_store.add_effects(connection, _resent(effects, report, now), now)


def enqueue_early(
    connection: Connection,
    round_: Round,
    alerts: Sequence[StoredAlert],
    labels: tuple[int, int],
    now: datetime,
) -> None:
    """Write the effects of alerts that a round fired while it is open, with its count of labels.

    MLflow has no run of it yet: there the monitor stands under alert by the newest estimate.
    """
    names = names_of(connection, round_)
    for alert in alerts:
        notify(connection, round_, early_notice(alert, round_, labels=labels, at=now, **names), now)
    newest = round_store.newest_closed(connection, round_.monitor, now)
    report = None if newest is None else _stored_report(connection, newest)
    if newest is None or report is None:
        return
    rows = [*report.alerts, *(alert_row(alert) for alert in alerts)]
    report = report.model_copy(update={"alerts": rows, "status": Status.ALERT})
    effects = _for_mlflow(newest, report, newest=True)
    shown = [effect for effect in effects if effect.kind is not EffectKind.ROUND_RUN]
    effect_store.add_effects(connection, _resent(shown, report, now), now)


def _stored_report(connection: Connection, round_: Round) -> RoundReport | None:
    payload = report_store.read_report(connection, round_.id, round_.version)
    return with_concerns(connection, round_, payload)


def _resent(effects: Sequence[NewEffect], report: RoundReport, now: datetime) -> list[NewEffect]:
    """Let effects bring another report than the stored one, once more."""
    payload = report.model_dump(mode="json")
    return [
        replace(effect, key=f"{effect.key}/{now.isoformat()}", payload=payload, report_version=None)
        for effect in effects
    ]


def with_concerns(
    connection: Connection, round_: Round, payload: Mapping[str, Any]
) -> RoundReport | None:
    """Add to a stored report the concerns noted since it was written; an empty one gives None."""
    if not payload:
        return None
    report = RoundReport.model_validate(payload)
    if report.version != round_.version:
        return report
    noted = concern_store.read_concerns(connection, round_.id).values()
    concerns = [*dict.fromkeys([*report.concerns, *noted])]
    status = min(report.status, Status.ATTENTION, key=attrgetter("grade"))
    return report.model_copy(
        update={"concerns": concerns, "status": status if concerns else report.status}
    )


def enqueue_abandoned(connection: Connection, round_: Round, reason: str, now: datetime) -> None:
    """Write the effects of a round that ended without an estimate."""
    names = names_of(connection, round_)
    issues = frame_store.read_issues(connection, round_.id)
    report = bare_report(round_, issues, RoundState.ABANDONED, reason, ended=True, **names)
    report_store.write_reports(connection, {round_.id: report})
    stale = round_.slot <= now and _makes_stale(connection, round_, now)
    notice = abandoned_notice(round_, reason=reason, at=now, **names)
    effects = [*_for_mlflow(round_, report, newest=stale), *_to_all(round_, notice)]
    effect_store.add_effects(connection, effects, now)


def names_of(connection: Connection, round_: Round) -> dict[str, str]:
    """Give the names that a round has outside: the ``store_id`` and its ``round_key``."""
    store = store_id(connection)
    return {"store_id": store, "round_key": _key(connection, round_, store)}


def _key(connection: Connection, round_: Round, store: str) -> str:
    """Name a round as MLflow knows it; one that is done again has one run."""
    stored = None if round_.first_version == 1 else report_store.first_key(connection, round_.id)
    return stored or round_key(store, round_)


def _makes_stale(connection: Connection, round_: Round, now: datetime) -> bool:
    """Whether the model has no newer estimate; one with an open alert stays under alert."""
    if alert_store.find_alerts(connection, monitor=round_.monitor, state=AlertState.FIRING):
        return False
    newest = round_store.newest_closed(connection, round_.monitor, now)
    return newest is None or newest.slot < round_.slot


def enqueue_ended(
    connection: Connection, alert: StoredAlert, why: str, now: datetime, *, by_hand: bool = True
) -> None:
    """Write the notices of an alert that no round ended, for anyone who had one when it fired."""
    round_ = round_store.read_round(connection, alert.fired_round_id)
    names = names_of(connection, round_)
    notice = ended_notice(alert, round_, by_hand=by_hand, why=why, at=now, **names)
    notify(connection, round_, notice, now)


def _for_mlflow(round_: Round, report: RoundReport, *, newest: bool) -> list[NewEffect]:
    kinds = [EffectKind.ROUND_RUN]
    if report.state == RoundState.CLOSED:
        kinds.append(EffectKind.FLEET_POINT)
    if newest and _is_of_one_version(report):
        kinds.append(EffectKind.MODEL_TAGS)
    return [
        NewEffect(
            key=f"{report.round_key}/v{report.version}/{kind}",
            monitor_id=round_.monitor_id,
            round_id=round_.id,
            kind=kind,
            sink=MLFLOW,
            report_version=report.version,
        )
        for kind in kinds
    ]


def _is_of_one_version(report: RoundReport) -> bool:
    """Whether the figures describe one registered version; an alias may name another by now."""
    if not report.estimates:
        return report.model is not None
    return report.watched is not None and alias_of(report.watched) is None


def notify(connection: Connection, round_: Round, notice: Notice, now: datetime) -> None:
    """Write a notice for the log and for the hooks; a backfill does not wake people."""
    effect_store.add_effects(connection, _to_all(round_, notice), now)


def add_notice(
    connection: Connection,
    round_: Round,
    notice: Notice,
    sink: str,
    now: datetime,
    *,
    key: str | None = None,
) -> None:
    """Write a notice for one sink, once."""
    effect_store.add_effects(connection, [_to(round_, notice, sink, key=key)], now)


def _to_all(round_: Round, notice: Notice) -> list[NewEffect]:
    hooks = () if _is_of_backfill(round_) else round_.settings.hooks
    return [_to(round_, notice, sink) for sink in (LOG, *hooks)]


_ONE_STEP = timedelta(hours=1)


def _is_of_backfill(round_: Round) -> bool:
    """Whether a backfill opened and closed the round in one go."""
    if round_.settings.origin != "backfill":
        return False
    return round_.closed_at is None or round_.closed_at - round_.opened_at < _ONE_STEP


def _to(round_: Round, notice: Notice, sink: str, *, key: str | None = None) -> NewEffect:
    return NewEffect(
        key=key or f"{notice.id}/{sink}",
        monitor_id=round_.monitor_id,
        round_id=round_.id,
        kind=EffectKind.NOTICE,
        sink=sink,
        payload=notice.model_dump(mode="json"),
    )
