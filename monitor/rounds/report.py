"""What a round says, in the words people read and in the payloads of effects."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from monitor.domain.report import (
    AlertRow,
    AnswersRow,
    EstimateRow,
    EvidenceRow,
    Notice,
    NoticeRow,
    RoundReport,
    Status,
    StratumRow,
    TimelinePoint,
)
from monitor.domain.state import RoundState
from monitor.stats.few_labels import few_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from monitor.domain.alerting import Reading
    from monitor.rounds.beside import Beside
    from monitor.rounds.pictures import Pictures
    from monitor.rounds.tally import Tally
    from monitor.storage.alert_store import Alert
    from monitor.storage.frame_store import PlannedStratum
    from monitor.storage.round_store import Round

TIMELINE = 104
"""Rounds shown in the figure: two years of weeks."""

ESTIMAND_OF = {"round": "window", "carried": "rate"}
"""Reports show the window's own value for a round alone, and the rate for the carried one."""

SHOWN = tuple(
    (metric, basis, estimand)
    for metric in ("precision", "recall")
    for basis, estimand in ESTIMAND_OF.items()
)
"""The estimates people see first."""


def round_key(store_id: str, found: Round) -> str:
    """Name a round for the outside; letters that need no quoting anywhere."""
    slot = f"{found.slot:%Y-%m-%dT%H:%M:%SZ}"
    return f"{store_id}/{found.monitor}/{found.history_id or 0}/{slot}"


def find_row(rows: Sequence[EstimateRow], metric: str, basis: str) -> EstimateRow | None:
    """Find the estimate that reports show for a metric and a basis."""
    for row in rows:
        if (row.metric, row.basis, row.estimand) == (metric, basis, ESTIMAND_OF[basis]):
            return row
    return None


def timeline_point(found: Round, rows: Sequence[EstimateRow], *, alert: bool) -> TimelinePoint:
    """Reduce a round to what the figure needs."""
    return TimelinePoint(
        round=found.number,
        slot=found.slot,
        precision_round=_triple(find_row(rows, "precision", "round")),
        precision_carried=_triple(find_row(rows, "precision", "carried")),
        recall_round=_triple(find_row(rows, "recall", "round")),
        recall_carried=_triple(find_row(rows, "recall", "carried")),
        alert=alert,
    )


def closed_report(
    found: Round,
    *,
    store_id: str,
    version: int,
    model_version: str | None,
    partial: bool,
    reason: str | None,
    tally: Tally,
    strata: Sequence[PlannedStratum],
    issues: Mapping[str, tuple[int, bool]],
    rows: Sequence[EstimateRow],
    readings: Mapping[tuple[str, str], Reading],
    alerts: Sequence[Alert],
    proposed: Mapping[str, float],
    timeline: Sequence[TimelinePoint],
    notices: Sequence[NoticeRow],
    distances: Mapping[str, float],
    beside: Beside,
    answers: AnswersRow,
    pictures: Pictures | None,
) -> RoundReport:
    """Report one version of a closed round."""
    status = _status(found, alerts)
    counted = [
        StratumRow(
            stratum=part.stratum.name,
            flagged=part.stratum.flagged,
            low=part.stratum.low,
            high=part.stratum.high,
            size=part.size,
            planned=part.planned,
            labeled=mine.labeled,
            positive=mine.positive,
            declined=mine.declined,
        )
        for part, mine in zip(strata, tally.strata, strict=True)
    ]
    return RoundReport(
        **_frame_fields(found, store_id, issues),
        version=version,
        state="closed",
        reason=reason,
        partial=partial,
        status=status,
        model_version=model_version,
        size=sum(row.size for row in counted),
        flagged=sum(row.size for row in counted if row.flagged),
        strata=counted,
        estimates=list(rows),
        evidence=[_evidence(metric, side, r) for (metric, side), r in readings.items()],
        alerts=[_alert(alert) for alert in alerts],
        proposed_limits=dict(proposed),
        timeline=list(timeline),
        notices=list(notices),
        distances=dict(distances),
        segments=list(beside.segments),
        agreement=beside.agreement,
        answers=answers,
        cause=None if pictures is None else pictures.cause,
        p3=None if pictures is None else pictures.p3,
        curves=None if pictures is None else pictures.curves,
        sentence=_sentence(found, tally, rows, alerts, proposed),
    )


def abandoned_report(
    found: Round, *, store_id: str, reason: str, issues: Mapping[str, tuple[int, bool]]
) -> RoundReport:
    """Report a round that ended without an estimate."""
    return RoundReport(
        **_frame_fields(found, store_id, issues),
        version=1,
        state="abandoned",
        reason=reason,
        partial=False,
        status=Status.STALE,
        model_version=None,
        size=0,
        flagged=0,
        strata=[],
        estimates=[],
        evidence=[],
        alerts=[],
        proposed_limits={},
        timeline=[],
        sentence=f"Round {found.number} gave no estimate: {_ended(reason)}",
    )


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
    carried = report.estimate(alert.metric, basis="carried", estimand="rate")
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
        point=None if carried is None else carried.point,
        low=None if carried is None else carried.low,
        high=None if carried is None else carried.high,
        false_alarm_every=found.settings.limits.false_alarm_every,
        model=found.settings.model,
        sentence=_ALERT_SENTENCES[event](alert, carried, found, why) + _cause(event, alert, report),
        at=at,
        alert=alert.id,
        since=alert.fired_at,
        to_do=_to_do(alert, found) if event == "alert.firing" else None,
    )


def ended_notice(alert: Alert, found: Round, *, store_id: str, why: str, at: datetime) -> Notice:
    """Tell people of an alert that somebody ended; ``found`` is the round that fired it."""
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
            f"({alert.side.replace('_', ' ')} {alert.limit:g}) of round {found.number} was ended "
            f"by hand: {_ended(why)}"
        ),
        at=at,
        alert=alert.id,
        since=alert.fired_at,
    )


def _to_do(alert: Alert, found: Round) -> str:
    """Say what whoever is called may do, from the cheapest to the dearest."""
    return (
        f"pr-monitor show {found.number} -m {found.monitor} has the counts and the evidence. If "
        f"labels are wrong, correct them: the alert is then revised. If they are right, mend what "
        f"feeds the classifier, move its threshold or train it anew; the alert ends by itself. To "
        f'end it now: pr-monitor alerts resolve {alert.id[:8]} --reason "..."'
    )


def _cause(event: str, alert: Alert, report: RoundReport) -> str:
    """Say why a metric is not what it was, to those whom its alert calls."""
    if event != "alert.firing":
        return ""
    if alert.metric == "recall" and alert.side == "at_least":
        return (
            " How common positives are does not change recall: the classifier, or what it is fed, "
            "is not what it was."
        )
    if alert.metric != "precision" or report.cause is None:
        return ""
    return f" {_ended(_capital(report.cause.sentence))}"


def unusual_notice(row: NoticeRow, report: RoundReport, found: Round) -> Notice:
    """Tell the log of something unusual; see `monitor.rounds.notices`."""
    event = f"notice.{row.kind}"
    return Notice(
        id=notice_id(event, f"{report.round_key}/{row.subject}"),
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


def abandoned_notice(found: Round, *, store_id: str, reason: str, at: datetime) -> Notice:
    """Tell people of a round that ended without an estimate."""
    key = round_key(store_id, found)
    return Notice(
        id=notice_id("round.abandoned", key),
        event="round.abandoned",
        store_id=store_id,
        round_key=key,
        monitor=found.monitor,
        round=found.number,
        slot=found.slot,
        model=found.settings.model,
        sentence=f"{found.monitor}, round {found.number}: no estimate. {_ended(_capital(reason))}",
        at=at,
        to_do=_after_abandoned(found),
    )


def _after_abandoned(found: Round) -> str:
    """Say what helps: of a round that was drawn already, only labels were missing."""
    until = f"Until a later round has an estimate, nothing watches {found.monitor}."
    if found.state is RoundState.LABELING:
        return (
            f"{until} See that people get the tasks of the next round and answer them in time; a "
            f"longer labeling.deadline in the config gives them more. What came stands in "
            f"pr-monitor show {found.number} -m {found.monitor}."
        )
    return (
        f"{until} Mend that, then see with pr-monitor check that the next round can be drawn; what "
        f"was found stands in pr-monitor show {found.number} -m {found.monitor}."
    )


def number_text(row: EstimateRow | None) -> str:
    """Say an estimate in a few characters: ``0.86 (0.80 to 0.91)``."""
    if row is None or row.point is None or row.low is None or row.high is None:
        return "not estimable"
    return f"{row.point:.2f} ({row.low:.2f} to {row.high:.2f})"


def _frame_fields(
    found: Round, store_id: str, issues: Mapping[str, tuple[int, bool]]
) -> dict[str, Any]:
    return {
        "store_id": store_id,
        "round_key": round_key(store_id, found),
        "monitor": found.monitor,
        "history": found.history_id or 0,
        "round": found.number,
        "slot": found.slot,
        "window_start": found.window.start,
        "window_end": found.window.end,
        "model": found.settings.model,
        "threshold": found.settings.threshold,
        "level": found.settings.level,
        "false_alarm_every": found.settings.limits.false_alarm_every,
        "bad_rows": {reason: count for reason, (count, bad) in issues.items() if bad},
    }


def _status(found: Round, alerts: Sequence[Alert]) -> Status:
    if any(alert.state == "firing" for alert in alerts):
        return Status.ALERT
    return Status.OK if found.settings.limits.bounds else Status.LEARNING


def _evidence(metric: str, side: str, reading: Reading) -> EvidenceRow:
    return EvidenceRow(
        metric=metric,
        side=side,
        limit=reading.limit,
        log_evidence=reading.log_evidence,
        log_threshold=reading.log_threshold,
    )


def _alert(alert: Alert) -> AlertRow:
    return AlertRow(
        id=alert.id,
        metric=alert.metric,
        side=alert.side,
        limit=alert.limit,
        state=alert.state,
        fired_in_round=alert.fired_in_round,
    )


def _triple(row: EstimateRow | None) -> tuple[float, float, float] | None:
    if row is None or row.point is None or row.low is None or row.high is None:
        return None
    return row.point, row.low, row.high


def _sentence(
    found: Round,
    tally: Tally,
    rows: Sequence[EstimateRow],
    alerts: Sequence[Alert],
    proposed: Mapping[str, float],
) -> str:
    own, carried = (
        ", ".join(f"{metric} {number_text(find_row(rows, metric, basis))}" for metric in _TOLD)
        for basis in ("round", "carried")
    )
    few = [metric for metric in _TOLD if few_labels(tally.counts, metric, estimand="window")]
    decided = f" (few labels decide {' and '.join(few)})" if few else ""
    firing = [alert for alert in alerts if alert.state == "firing"]
    told = "; ".join(
        f"ALERT: {_named(a)}, firing since round {a.fired_in_round}" for a in firing
    ) or ("no alert" if found.settings.limits.bounds else _learning(proposed))
    start, end = found.window.start, found.window.end
    return (
        f"Window {start:%Y-%m-%d} to {end:%Y-%m-%d}: {own} from this round alone{decided}; "
        f"{carried} with earlier rounds; {told}."
    )


_TOLD = ("precision", "recall")


def _learning(proposed: Mapping[str, float]) -> str:
    if not proposed:
        return "learning, no limits set yet"
    limits = ", ".join(f"{metric}: {value:g}" for metric, value in proposed.items())
    return f"learning; proposed limits {{{limits}}}"


def _named(alert: Alert) -> str:
    side = "under" if alert.side == "at_least" else "over"
    return f"{alert.metric} is {side} its limit {alert.limit:g}"


def _firing(alert: Alert, carried: EstimateRow | None, found: Round, why: str | None) -> str:
    del why
    every = found.settings.limits.false_alarm_every
    return (
        f"{found.monitor}: {_named(alert)}. With earlier rounds it is {number_text(carried)} "
        f"(95 % interval), seen in round {found.number}. At most one false alarm per {every:g} "
        f"rounds is promised, for labels as given."
    )


def _resolved(alert: Alert, carried: EstimateRow | None, found: Round, why: str | None) -> str:
    value = number_text(carried)
    reason = why or "it kept its limit in two rounds running with probability over 0.9"
    return (
        f"{found.monitor}: the alert on {alert.metric} ({alert.side.replace('_', ' ')} "
        f"{alert.limit:g}) is resolved in round {found.number}: {reason}. It is {value} with "
        f"earlier rounds."
    )


def _revised(alert: Alert, carried: EstimateRow | None, found: Round, why: str | None) -> str:
    del why
    return (
        f"{found.monitor}: the alert on {alert.metric} of round {alert.fired_in_round} is revised: "
        f"with the labels that came late it would not have fired. It is {number_text(carried)} "
        f"in round {found.number}."
    )


_ALERT_SENTENCES = {
    "alert.firing": _firing,
    "alert.resolved": _resolved,
    "alert.revised": _revised,
}


def notice_id(event: str, of: str) -> str:
    """Give the id of what happened to an alert, a round or a sink; always the same one."""
    return f"msg_{uuid.uuid5(uuid.NAMESPACE_URL, f'{event}/{of}').hex}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _ended(text: str) -> str:
    """End a sentence, unless it ends as a question."""
    return text if text.endswith("?") else f"{text}."
