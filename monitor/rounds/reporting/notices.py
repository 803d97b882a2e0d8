"""The notices of alerts and rounds that hooks carry; `monitor.presentation` words them."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.domain.label_parts import parts_of
from monitor.domain.notice import Notice
from monitor.domain.state import RoundState
from monitor.presentation import alerts, rounds

if TYPE_CHECKING:
    from monitor.domain.alerting import StoredAlert
    from monitor.domain.report import AlertRow, NoticeRow, RoundReport
    from monitor.storage.rounds.round_store import Round


def round_key(store_id: str, round_: Round) -> str:
    """Name a round for the outside; letters that need no quoting anywhere."""
    slot = f"{round_.slot:%Y-%m-%dT%H:%M:%SZ}"
    return f"{store_id}/{round_.monitor}/{round_.history_id or 0}/{slot}"


def notice_id(event: str, subject: str) -> str:
    """Give the id of what happened to an alert, a round or a sink; always the same one."""
    return f"msg_{uuid.uuid5(uuid.NAMESPACE_URL, f'{event}/{subject}').hex}"


def repeated(round_: Round) -> str:
    """Distinguish a round that is done again from what it was before; nothing the first time."""
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
    """Notify people of an alert that fired, resolved or was revised."""
    row = report.estimate(alert.metric, basis="pooled", estimand="rate") or report.estimate(
        alert.metric, basis="round", estimand="window"
    )
    sentence = {
        "alert.firing": lambda: alerts.firing_sentence(alert, row, report),
        "alert.resolved": lambda: alerts.resolved_sentence(alert, row, report, why),
        "alert.revised": lambda: alerts.revised_sentence(alert, row, report),
    }[event]()
    names = {"store_id": report.store_id, "round_key": report.round_key}
    ends = {} if row is None else {"point": row.point, "low": row.low, "high": row.high}
    return _stored_alert(event, alert, round_, sentence=sentence, at=at, **names, **ends)


def early_notice(
    alert: StoredAlert, round_: Round, *, labels: tuple[int, int], at: datetime, **names: str
) -> Notice:
    """Notify people of an alert that a round fired while it is open, with so many of its labels.

    ``names`` are its ``store_id`` and ``round_key``, as for the notices below.
    """
    answered, planned = labels
    sentence = alerts.early_sentence(
        alert, monitor=round_.monitor, answered=answered, planned=planned
    )
    return _stored_alert("alert.firing", alert, round_, sentence=sentence, at=at, **names)


def ended_notice(
    alert: StoredAlert, round_: Round, *, by_hand: bool, why: str, at: datetime, **names: str
) -> Notice:
    """Notify people of an alert that no round ended; ``round_`` is the one that fired it."""
    sentence = alerts.ended_sentence(
        alert, monitor=round_.monitor, number=round_.number, by_hand=by_hand, why=why
    )
    return _stored_alert("alert.resolved", alert, round_, sentence=sentence, at=at, **names)


def _stored_alert(event: str, alert: StoredAlert, round_: Round, **more: Any) -> Notice:
    if event == "alert.firing":
        more["promise"] = alerts.promise(round_.settings.limits.false_alarm_every)
        is_open = round_.state is RoundState.LABELING
        more["to_do"] = alerts.alert_to_do(
            alert.id, alert.metric, monitor=round_.monitor, number=round_.number, is_open=is_open
        )
    return _alert_notice(event, alert, round_, since=alert.fired_at, **_window(round_), **more)


def _window(round_: Round) -> dict[str, datetime]:
    return {"window_start": round_.window.start, "window_end": round_.window.end}


def forgotten_notice(alert: AlertRow, round_: Round, *, store_id: str, at: datetime) -> Notice:
    """Notify people of an alert that was open when the store was restored to a time before it."""
    number = alert.fired_in_round
    sentence = alerts.forgotten_sentence(alert, monitor=round_.monitor, number=number)
    key = round_key(store_id, round_)
    notice = _alert_notice(
        "alert.resolved", alert, round_, store_id=store_id, round_key=key, sentence=sentence, at=at
    )
    return notice.model_copy(update={"round": number})


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
    """Notify people of an event of an alert, a round or a sink, seen in a round."""
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
    """Write something unusual to the log; see `monitor.rounds.estimation.anomalies`."""
    return notice_of(
        f"notice.{row.kind}",
        f"{report.round_key}/{row.subject}{repeated(round_)}",
        round_,
        store_id=report.store_id,
        round_key=report.round_key,
        metric=row.subject if row.kind == "predictive" else None,
        point=row.value if row.kind == "predictive" else None,
        sentence=rounds.unusual_sentence(round_.monitor, round_.number, row.sentence),
    )


def abandoned_notice(round_: Round, *, reason: str, at: datetime, **names: str) -> Notice:
    """Notify people of a round that ended without an estimate."""
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
    """Notify people of something about a round that needs a look; the round goes on."""
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
    """Describe what helps: of a round that was drawn already, only labels were missing."""
    if round_.state is not RoundState.LABELING:
        return rounds.undrawn_to_do(round_.monitor, round_.slot)
    kinds = {part.get("kind") for part in parts_of(round_.settings.labeling)}
    return rounds.unlabeled_to_do(round_.monitor, round_.number, by_column=kinds == {"column"})
