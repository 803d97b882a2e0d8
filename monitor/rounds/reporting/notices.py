"""What people are told of alerts and rounds: the notices that hooks carry, and their words."""

from __future__ import annotations

import uuid
from datetime import UTC
from typing import TYPE_CHECKING

from monitor.domain.report import Notice
from monitor.domain.state import RoundState

if TYPE_CHECKING:
    from datetime import datetime

    from monitor.domain.report import AlertRow, EstimateRow, NoticeRow, RoundReport
    from monitor.storage.alert_store import Alert
    from monitor.storage.round_store import Round


def round_key(store_id: str, found: Round) -> str:
    """Name a round for the outside; letters that need no quoting anywhere."""
    slot = f"{found.slot:%Y-%m-%dT%H:%M:%SZ}"
    return f"{store_id}/{found.monitor}/{found.history_id or 0}/{slot}"


def notice_id(event: str, of: str) -> str:
    """Give the id of what happened to an alert, a round or a sink; always the same one."""
    return f"msg_{uuid.uuid5(uuid.NAMESPACE_URL, f'{event}/{of}').hex}"


def again(found: Round) -> str:
    """Tell a round that is done again from what it was before; nothing the first time."""
    return "" if found.first_version == 1 else f"/v{found.first_version}"


def command_for(found: Round, slot: datetime) -> str:
    """Give the command that runs the round of a slot of the same monitor."""
    return f"pr-monitor run-once --slot {slot.astimezone(UTC):%Y-%m-%dT%H:%MZ} -m {found.monitor}"


def show_command(found: Round) -> str:
    """Give the command that shows a round."""
    return f"pr-monitor show {found.number} -m {found.monitor}"


def number_text(row: EstimateRow | None) -> str:
    """Say an estimate in a few characters: ``0.86 (0.80 to 0.91)``."""
    if row is None or row.point is None or row.low is None or row.high is None:
        return "not estimable"
    return f"{row.point:.2f} ({row.low:.2f} to {row.high:.2f})"


def fired(alert: Alert) -> str:
    """Say when an alert fired, by which round, and of when its predictions are."""
    return (
        f"fired {alert.fired_at:%Y-%m-%d %H:%M} UTC by round {alert.fired_in_round}, on the "
        f"predictions of {alert.window}"
    )


def named(alert: Alert) -> str:
    """Say on which side of its limit a metric is."""
    side = "under" if alert.side == "at_least" else "over"
    return f"{alert.metric} is {side} its limit {alert.limit:g}"


def ended(text: str) -> str:
    """End a sentence, unless it ends as a question."""
    return text if text.endswith("?") else f"{text}."


def alert_notice(
    event: str,
    alert: Alert,
    report: RoundReport,
    found: Round,
    *,
    at: datetime,
    why: str | None = None,
) -> Notice:
    """Tell people of an alert that fired, resolved or was revised."""
    pooled = report.estimate(alert.metric, basis="pooled", estimand="rate")
    return Notice(
        id=notice_id(event, alert.id),
        event=event,
        store_id=report.store_id,
        round_key=report.round_key,
        monitor=found.monitor,
        round=found.number,
        slot=found.slot,
        metric=alert.metric,
        side=alert.side,
        limit=alert.limit,
        point=None if pooled is None else pooled.point,
        low=None if pooled is None else pooled.low,
        high=None if pooled is None else pooled.high,
        false_alarm_every=found.settings.limits.false_alarm_every,
        model=found.settings.model,
        sentence=_ALERT_SENTENCES[event](alert, pooled, report, why),
        at=at,
        alert=alert.id,
        since=alert.fired_at,
        to_do=_to_do(alert, found) if event == "alert.firing" else None,
        promise=_promise(found) if event == "alert.firing" else None,
        window_start=found.window.start,
        window_end=found.window.end,
    )


def ended_notice(
    alert: Alert, found: Round, *, store_id: str, how: str, why: str, at: datetime
) -> Notice:
    """Tell people of an alert that no round ended; ``found`` is the round that fired it.

    ``how`` says who ended it, such as "was ended by hand".
    """
    return Notice(
        id=notice_id("alert.resolved", alert.id),
        event="alert.resolved",
        store_id=store_id,
        round_key=round_key(store_id, found),
        monitor=found.monitor,
        round=found.number,
        slot=found.slot,
        metric=alert.metric,
        side=alert.side,
        limit=alert.limit,
        false_alarm_every=found.settings.limits.false_alarm_every,
        model=found.settings.model,
        sentence=(
            f"{found.monitor}: the alert on {alert.metric} "
            f"({alert.side.replace('_', ' ')} {alert.limit:g}) of round {found.number} {how}: "
            f"{ended(why)} It {fired(alert)}."
        ),
        at=at,
        alert=alert.id,
        since=alert.fired_at,
        window_start=found.window.start,
        window_end=found.window.end,
    )


def forgotten_notice(alert: AlertRow, found: Round, *, store_id: str, at: datetime) -> Notice:
    """Tell people of an alert that was open when the store was restored to a time before it."""
    return Notice(
        id=notice_id("alert.resolved", alert.id),
        event="alert.resolved",
        store_id=store_id,
        round_key=round_key(store_id, found),
        monitor=found.monitor,
        round=alert.fired_in_round,
        slot=found.slot,
        metric=alert.metric,
        side=alert.side,
        limit=alert.limit,
        false_alarm_every=found.settings.limits.false_alarm_every,
        model=found.settings.model,
        sentence=(
            f"{found.monitor}: the alert on {alert.metric} "
            f"({alert.side.replace('_', ' ')} {alert.limit:g}) of round {alert.fired_in_round} "
            "ends here, because the store was restored from a backup that does not know it. This "
            "does not mean that anything got better: the rounds since are done again, and a new "
            "alert fires if their labels still say so."
        ),
        at=at,
        alert=alert.id,
    )


def _to_do(alert: Alert, found: Round) -> str:
    """Say what whoever is called may do, from the cheapest to the dearest."""
    return (
        f"pr-monitor show {found.number} -m {found.monitor} has the counts and the evidence. If "
        f"labels are wrong, correct them: the alert is then revised. If they are right, mend what "
        f"feeds the classifier, move its threshold or train it anew; the alert ends by itself. To "
        f'end it now: pr-monitor alerts resolve {alert.id[:8]} --reason "..."'
    )


def _promise(found: Round) -> str:
    every = found.settings.limits.false_alarm_every
    return f"At most one false alarm per {every:g} rounds is promised, for labels as given."


def _cause(alert: Alert, report: RoundReport) -> str:
    """Say why a metric is not what it was, to those whom its alert calls."""
    if alert.metric == "recall" and alert.side == "at_least":
        return (
            " How common positives are does not change recall: the classifier, or what it is fed, "
            "is not what it was."
        )
    if alert.metric != "precision" or report.cause is None:
        return ""
    cause = report.cause
    told = cause.beside_an_alert() if alert.side == "at_least" else cause.sentence
    return f" {ended(_capital(told))}"


def unusual_notice(row: NoticeRow, report: RoundReport, found: Round) -> Notice:
    """Tell the log of something unusual; see `monitor.rounds.estimation.anomalies`."""
    event = f"notice.{row.kind}"
    return Notice(
        id=notice_id(event, f"{report.round_key}/{row.subject}{again(found)}"),
        event=event,
        store_id=report.store_id,
        round_key=report.round_key,
        monitor=found.monitor,
        round=found.number,
        slot=found.slot,
        metric=row.subject if row.kind == "predictive" else None,
        point=row.value if row.kind == "predictive" else None,
        model=found.settings.model,
        sentence=f"{found.monitor}, round {found.number}: {row.sentence}.",
    )


def abandoned_notice(found: Round, *, store_id: str, key: str, reason: str, at: datetime) -> Notice:
    """Tell people of a round, known outside by its key, that ended without an estimate."""
    return Notice(
        id=notice_id("round.abandoned", key + again(found)),
        event="round.abandoned",
        store_id=store_id,
        round_key=key,
        monitor=found.monitor,
        round=found.number,
        slot=found.slot,
        model=found.settings.model,
        sentence=f"{found.monitor}, round {found.number}: no estimate. {ended(_capital(reason))}",
        at=at,
        to_do=_after_abandoned(found),
        window_start=found.window.start,
        window_end=found.window.end,
    )


def attention_notice(
    found: Round, *, store_id: str, kind: str, sentence: str, at: datetime
) -> Notice:
    """Tell people of something about a round that needs a look; the round goes on."""
    key = round_key(store_id, found)
    return Notice(
        id=notice_id("round.attention", f"{key}/{kind}{again(found)}"),
        event="round.attention",
        store_id=store_id,
        round_key=key,
        monitor=found.monitor,
        round=found.number,
        slot=found.slot,
        model=found.settings.model,
        sentence=f"{found.monitor}, round {found.number} needs a look: {ended(sentence)}",
        at=at,
        to_do=(
            f"The round goes on, and alerts fire as ever. pr-monitor check says what the newest "
            f"predictions look like, pr-monitor show {found.number} -m {found.monitor} what was "
            "counted. Mend the config or what feeds the classifier, if one of them is wrong."
        ),
    )


def _after_abandoned(found: Round) -> str:
    """Say what helps: of a round that was drawn already, only labels were missing."""
    until = f"Until a later round has an estimate, nothing watches {found.monitor}."
    kept = found.settings.labeling or {}
    if found.state is RoundState.LABELING and kept.get("kind") == "column":
        return (
            f"{until} See with pr-monitor check whether the ids of the labels are those of the "
            f"predictions; if labels only come later than labeling.matures says, make it longer. "
            f"What came stands in pr-monitor show {found.number} -m {found.monitor}."
        )
    if found.state is RoundState.LABELING:
        return (
            f"{until} See that people get the tasks of the next round and answer them in time; a "
            f"longer labeling.deadline in the config gives them more. What came stands in "
            f"pr-monitor show {found.number} -m {found.monitor}."
        )
    return (
        f"{until} Mend that, see with pr-monitor check that a round can be drawn, and do this one "
        f"again: {command_for(found, found.slot)}"
    )


def _firing(alert: Alert, pooled: EstimateRow | None, report: RoundReport, why: str | None) -> str:
    del why
    return (
        f"{report.monitor}: {named(alert)}: {_how_sure(pooled)} with earlier rounds."
        f"{_cause(alert, report)} {_capital(fired(alert))}."
    )


def _how_sure(row: EstimateRow | None) -> str:
    if row is None or row.point is None or row.low is None or row.high is None:
        return "not estimable"
    return f"{row.point:.2f} ({100 * row.level:g} % interval {row.low:.2f} to {row.high:.2f})"


def _resolved(
    alert: Alert, pooled: EstimateRow | None, report: RoundReport, why: str | None
) -> str:
    reason = why or "it kept its limit in two rounds running with probability over 0.9"
    return (
        f"{report.monitor}: the alert on {alert.metric} ({alert.side.replace('_', ' ')} "
        f"{alert.limit:g}) is resolved in round {report.round}: {reason}. It is "
        f"{number_text(pooled)} with earlier rounds. The alert {fired(alert)}."
    )


def _revised(alert: Alert, pooled: EstimateRow | None, report: RoundReport, why: str | None) -> str:
    del why
    return (
        f"{report.monitor}: the alert on {alert.metric} of round {alert.fired_in_round} is "
        f"revised: with the labels that came late it would not have fired. It is "
        f"{number_text(pooled)} in round {report.round}. The alert {fired(alert)}."
    )


_ALERT_SENTENCES = {
    "alert.firing": _firing,
    "alert.resolved": _resolved,
    "alert.revised": _revised,
}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
