"""The effects of a batch: notices for the log and the hooks, runs and points for MLflow."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import AlertState, StoredAlert
from monitor.domain.label_parts import parts_of
from monitor.domain.model import LOG, MLFLOW, EffectKind
from monitor.domain.notice import Notice
from monitor.domain.registered import alias_of
from monitor.domain.report import AlertRow, NoticeRow, RoundReport, Status
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.presentation import alerts, rounds
from monitor.rounds.reporting.report import alert_row, bare_report, closed_report, read_surroundings
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.results import alert_store, concern_store, report_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.rounds.estimation.types import BatchEvidence, Estimates, HistoryBatch
    from monitor.rounds.parts.registry import VersionParts


FIRING = "alert.firing"


def enqueue(
    connection: Connection,
    batch: HistoryBatch,
    estimates: Estimates,
    evidence: BatchEvidence,
    parts: Mapping[int, VersionParts],
    reason: str,
    now: datetime,
) -> None:
    """Write the effects of a batch: notices first, then MLflow in slot order."""
    report_context = read_surroundings(connection, batch, evidence, reason, now)
    reports = {
        (round_id := member.round.id): closed_report(
            batch,
            member,
            estimates[round_id],
            evidence.readings.get(round_id, {}),
            parts[round_id],
            report_context,
            round_key=_key(connection, member.round, batch.store_id),
        )
        for member in batch.affected
    }
    report_store.write_reports(connection, reports)  # before the effects, which refer to them
    due = batch.affected[0].round
    effects = _notices(connection, due, reports[due.id], evidence, now)
    for member in batch.affected:
        round_, report = member.round, reports[member.round.id]
        is_newest = round_.id == report_context.newest
        run, *others = _for_mlflow(round_, report, newest=is_newest)
        later = _later_alerts(evidence.alerts, round_) if is_newest else []
        effects += [run, *(_resent(others, report, now, later) if later else others)]
    effect_store.add_effects(connection, effects, now)


def _notices(
    connection: Connection,
    due: Round,
    report: RoundReport,
    evidence: BatchEvidence,
    now: datetime,
) -> list[NewEffect]:
    """Make the notices of alert moves, and log notices of what is unusual about a closing round."""
    effects: list[NewEffect] = []
    for move in evidence.moves:
        if move.event is None:
            continue
        notice = alert_notice(move.event, move.alert, report, due, at=now, why=move.why)
        is_new = move.event == FIRING
        effects += _to_all(due, notice) if is_new else _to_notified(connection, due, notice)
    if report.version == due.first_version:
        effects += [_to(due, unusual_notice(row, report, due), LOG) for row in report.notices]
    return effects


def resend(connection: Connection, round_: Round, now: datetime, *, newest: bool = True) -> None:
    """Send a closed round to MLflow again, with concerns and notes that came since its report."""
    report = _stored_report(connection, round_)
    if report is None:
        return
    run, *others = _for_mlflow(round_, report, newest=False)
    effects = _resent([run], report, now)
    if newest:
        later = _later_alerts(alert_store.find_alerts(connection, monitor=round_.monitor), round_)
        effects += _resent(others, report, now, later)
    effect_store.add_effects(connection, effects, now)


def enqueue_early(
    connection: Connection,
    round_: Round,
    fired: Sequence[StoredAlert],
    labels: tuple[int, int, int],
    now: datetime,
) -> None:
    """Write the effects of alerts that an open round fired.

    ``labels`` are the numbers of answers counted, planned, and too new to count as evidence.

    MLflow has no run of the round yet, so the newest closed round is sent again, under alert.
    """
    names = names_of(connection, round_)
    for alert in fired:
        sentence = alerts.early_sentence(alert, *labels)
        notice = _stored_alert(FIRING, alert, round_, sentence=sentence, at=now, **names)
        notify(connection, round_, notice, now)
    newest = round_store.newest_closed(connection, round_.monitor, now)
    report = None if newest is None else _stored_report(connection, newest)
    if newest is None or report is None:
        return
    _, *effects = _for_mlflow(newest, report, newest=True)
    later = _later_alerts(alert_store.find_alerts(connection, monitor=round_.monitor), newest)
    effect_store.add_effects(connection, _resent(effects, report, now, later), now)


def _stored_report(connection: Connection, round_: Round) -> RoundReport | None:
    payload = report_store.read_report(connection, round_.id, round_.version)
    return with_concerns(connection, round_, payload)


def _later_alerts(alerts: Iterable[StoredAlert], newest: Round) -> list[AlertRow]:
    """Choose the open alerts that rounds after the newest closed one fired."""
    return [
        alert_row(alert)
        for alert in alerts
        if alert.state is AlertState.FIRING and alert.fired_slot > newest.slot
    ]


def _resent(
    effects: Sequence[NewEffect],
    report: RoundReport,
    now: datetime,
    later: Sequence[AlertRow] = (),
) -> list[NewEffect]:
    """Repeat effects with a changed report instead of the stored one; adds ``later`` alerts."""
    if later:
        rows = [*report.alerts, *later]
        report = report.model_copy(update={"alerts": rows, "status": Status.ALERT})
    payload = report.stored()
    return [
        replace(effect, key=f"{effect.key}/{now.isoformat()}", payload=payload, report_version=None)
        for effect in effects
    ]


def with_concerns(
    connection: Connection, round_: Round, payload: Mapping[str, Any]
) -> RoundReport | None:
    """Add the concerns noted since a report was stored; returns None for an empty report."""
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
    """Return the external names of a round: ``store_id`` and ``round_key``."""
    store = store_id(connection)
    return {"store_id": store, "round_key": _key(connection, round_, store)}


def _key(connection: Connection, round_: Round, store: str) -> str:
    """Return the key of a round's MLflow run; a round that is done again keeps its run."""
    stored = None if round_.first_version == 1 else report_store.first_key(connection, round_.id)
    return stored or round_key(store, round_)


def _makes_stale(connection: Connection, round_: Round, now: datetime) -> bool:
    """Whether the model has no newer estimate and no open alert."""
    if alert_store.find_alerts(connection, monitor=round_.monitor, state=AlertState.FIRING):
        return False
    newest = round_store.newest_closed(connection, round_.monitor, now)
    return newest is None or newest.slot < round_.slot


def enqueue_ended(
    connection: Connection, alert: StoredAlert, why: str, now: datetime, *, by_hand: bool = True
) -> None:
    """Write the notices of an alert that ended without a round, to those notified when it fired."""
    round_ = round_store.read_round(connection, alert.fired_round_id)
    sentence = alerts.ended_sentence(alert, by_hand=by_hand, why=why)
    names = names_of(connection, round_)
    notice = _stored_alert("alert.resolved", alert, round_, sentence=sentence, at=now, **names)
    effect_store.add_effects(connection, _to_notified(connection, round_, notice), now)


def _for_mlflow(round_: Round, report: RoundReport, *, newest: bool) -> list[NewEffect]:
    """Return the effects that show a stored report in MLflow."""
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
    """Whether the figures describe one registered version; an alias may name another now."""
    if not report.estimates:
        return report.model is not None
    return report.watched is not None and alias_of(report.watched) is None


def notify(connection: Connection, round_: Round, notice: Notice, now: datetime) -> None:
    """Write a notice for the log and the hooks; a backfill notifies only the log."""
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
    hooks = () if round_.is_silent else round_.settings.hooks
    return [_to(round_, notice, sink) for sink in (LOG, *hooks)]


def _to_notified(connection: Connection, round_: Round, notice: Notice) -> list[NewEffect]:
    """Send the end of an alert to the log, and to the hooks that were notified when it fired.

    A backfill sends it too, since it wakes nobody.
    """
    fired = {
        hook: f"{notice_id(FIRING, notice.alert or '')}/{hook}" for hook in round_.settings.hooks
    }
    stored = effect_store.read_stored(connection, list(fired.values()))
    notified = [hook for hook, key in fired.items() if key in stored]
    return [_to(round_, notice, sink) for sink in (LOG, *notified)]


def _to(round_: Round, notice: Notice, sink: str, *, key: str | None = None) -> NewEffect:
    return NewEffect(
        key=key or f"{notice.id}/{sink}",
        monitor_id=round_.monitor_id,
        round_id=round_.id,
        kind=EffectKind.NOTICE,
        sink=sink,
        payload=notice.model_dump(mode="json"),
    )


def round_key(store_id: str, round_: Round) -> str:
    """Return the external name of a round, in characters that never need quoting."""
    slot = f"{round_.slot:%Y-%m-%dT%H:%M:%SZ}"
    return f"{store_id}/{round_.monitor}/{round_.history_id or 0}/{slot}"


def notice_id(event: str, subject: str) -> str:
    """Return the id of an event of an alert, a round or a sink; equal events have equal ids."""
    return f"msg_{uuid.uuid5(uuid.NAMESPACE_URL, f'{event}/{subject}').hex}"


def repeated(round_: Round) -> str:
    """Return a suffix for ids of a round that is done again; empty the first time."""
    return "" if round_.first_version == 1 else f"/v{round_.first_version}"


def alert_notice(
    event: str,
    alert: StoredAlert,
    report: RoundReport,
    round_: Round,
    *,
    at: datetime,
    why: str | None = None,
) -> Notice:
    """Make the notice of an alert that fired, resolved or was revised."""
    rows = [report.shown(alert.metric, basis) for basis in ("pooled", "round")]
    with_point = [each for each in rows if each is not None and each.point is not None]
    row = next(iter(with_point), rows[0] or rows[1])
    sentence = {
        FIRING: lambda: alerts.firing_sentence(alert, row, report),
        "alert.resolved": lambda: alerts.resolved_sentence(alert, row, report, why),
        "alert.revised": lambda: alerts.revised_sentence(alert, row, report),
    }[event]()
    names = {"store_id": report.store_id, "round_key": report.round_key}
    ends = {} if row is None else {"point": row.point, "low": row.low, "high": row.high}
    return _stored_alert(event, alert, round_, sentence=sentence, at=at, **names, **ends)


def _stored_alert(event: str, alert: StoredAlert, round_: Round, **more: Any) -> Notice:
    if event == FIRING:
        more["promise"] = alerts.promise(round_.settings.limits.false_alarm_every)
        is_open = round_.state is RoundState.LABELING
        more["to_do"] = alerts.alert_to_do(alert, is_open=is_open)
    return _alert_notice(event, alert, round_, since=alert.fired_at, **_window(round_), **more)


def _window(round_: Round) -> dict[str, datetime]:
    return {"window_start": round_.window.start, "window_end": round_.window.end}


def forgotten_notice(alert: AlertRow, round_: Round, *, store_id: str, at: datetime) -> Notice:
    """Make the notice that an open alert is unknown to the restored store."""
    sentence = alerts.forgotten_sentence(alert, monitor=round_.monitor)
    key = round_key(store_id, round_)
    notice = _alert_notice(
        "alert.resolved", alert, round_, store_id=store_id, round_key=key, sentence=sentence, at=at
    )
    return notice.model_copy(update={"round": alert.fired_in_round})


def _alert_notice(event: str, alert: StoredAlert | AlertRow, round_: Round, **more: Any) -> Notice:
    return notice_of(
        event,
        alert.id,
        round_,
        metric=alert.metric,
        side=alert.side,
        limit=alert.limit,
        false_alarm_every=round_.settings.limits.false_alarm_every,
        alert=alert.id,
        **more,
    )


def notice_of(event: str, subject: str, round_: Round, **more: Any) -> Notice:
    """Make the notice of an event of an alert, a round or a sink, seen in a round."""
    return Notice(
        id=notice_id(event, subject),
        event=event,
        monitor=round_.monitor,
        round=round_.number,
        slot=round_.slot,
        model=round_.settings.model,
        **more,
    )


def unusual_notice(row: NoticeRow, report: RoundReport, round_: Round) -> Notice:
    """Make the log notice of something unusual about a round."""
    return notice_of(
        f"notice.{row.kind}",
        f"{report.round_key}/{row.subject}{repeated(round_)}",
        round_,
        store_id=report.store_id,
        round_key=report.round_key,
        sentence=rounds.unusual_sentence(round_.monitor, round_.number, row.sentence),
    )


def abandoned_notice(round_: Round, *, reason: str, at: datetime, **names: str) -> Notice:
    """Make the notice of a round that ended without an estimate."""
    return notice_of(
        "round.abandoned",
        names["round_key"] + repeated(round_),
        round_,
        sentence=rounds.abandoned_sentence(round_.monitor, round_.number, reason),
        at=at,
        to_do=_after_abandoned(round_),
        **_window(round_),
        **names,
    )


def attention_notice(
    round_: Round, *, kind: str, sentence: str, at: datetime, **names: str
) -> Notice:
    """Make the notice of a concern about a round."""
    return notice_of(
        "round.attention",
        f"{names['round_key']}/{kind}{repeated(round_)}",
        round_,
        sentence=rounds.attention_sentence(round_.monitor, round_.number, sentence),
        at=at,
        to_do=rounds.attention_to_do(round_.monitor, round_.number),
        **names,
    )


def _after_abandoned(round_: Round) -> str:
    """Describe what to do; a round that was drawn already lacked only labels."""
    if round_.state is not RoundState.LABELING:
        return rounds.undrawn_to_do(round_.monitor, round_.slot)
    kinds = {part.get("kind") for part in parts_of(round_.settings.labeling)}
    return rounds.unlabeled_to_do(round_.monitor, round_.number, by_column=kinds == {"column"})
