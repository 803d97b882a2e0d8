"""What notices say of an alert: when it fires, ends, is revised or is forgotten."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from monitor.domain.alerting import AlertNote, EvidenceState, StoredAlert, keeps
from monitor.domain.report import (
    AlertRow,
    EstimateRow,
    EvidenceRow,
    MetricChange,
    RecoveryRow,
    RoundReport,
)
from monitor.limitable import CLASSIFIER, JUDGE, subject_of
from monitor.presentation.estimates import WHATEVER, estimate_text
from monitor.presentation.numbers import (
    NOT_ESTIMABLE,
    bound_text,
    capital,
    evidence_text,
    limit_text,
    minute_text,
    percent_text,
    range_text,
    signed_text,
)

if TYPE_CHECKING:
    from monitor.presentation.limit_comparisons import LimitComparison
    from monitor.stats.core.counts import Interval
    from monitor.stats.drift.attribution import PrecisionChange

    Limited: TypeAlias = StoredAlert | AlertRow

LIMIT_CHANGED = "its limit was changed or removed in the config"
"""Why a round ended an alert that its labels did not end."""

_NO_EVIDENCE: dict[str | None, str] = {
    EvidenceState.ALERT_OPEN: "alert open, no evidence is gathered",
    EvidenceState.LEARNING: "this round only learns: it has no earlier round and no `reference` "
    "in the config to compare it with",
    EvidenceState.SILENT: "this round carries no evidence about it (e = 1)",
    EvidenceState.OTHER_VERSION: "read by another version of the program, whose evidence stays",
}


def fired(alert: StoredAlert) -> str:
    """Describe when an alert fired, by which round, and of when its predictions are."""
    return (
        f"fired {minute_text(alert.fired_at)} UTC by round {alert.fired_in_round}, on the "
        f"predictions of {alert.window}"
    )


def note_text(note: AlertNote) -> str:
    """Write what a person did about an alert, with who noted it and when."""
    return f"note of {note.at:%Y-%m-%d} by {note.by}: {note.text}"


def note_lines(alerts: Iterable[Limited]) -> list[str]:
    """Write the notes on some alerts, each with its alert."""
    return [
        f"{_alert_of_round(alert)}: {note_text(note)}" for alert in alerts for note in alert.notes
    ]


def open_alert_line(alert: StoredAlert) -> str:
    """Describe in `status` which limit an alert is on, since when, and the notes on it."""
    line = (
        f"alert {alert.id[:8]}: {limit_text(alert.metric, alert.side, alert.limit)}, firing since "
        f"round {alert.fired_in_round}: predictions of {alert.window}, "
        f"fired {minute_text(alert.fired_at)} UTC"
    )
    return "; ".join([line, *map(note_text, alert.notes)])


def broken_limit(alert: Limited) -> str:
    """Describe on which side of its limit a metric is."""
    side = "under" if alert.side == "at_least" else "over"
    return f"{alert.metric} is {side} its limit {alert.limit:g}"


def ended_by_round(number: int) -> str:
    """Return the sentence that the labels of a round ended an alert."""
    return f"by round {number}"


def firing_sentence(alert: StoredAlert, row: EstimateRow | None, report: RoundReport) -> str:
    """Return the sentence that a limit is not kept, by which numbers, and why it may be so."""
    causes = [alert_cause(alert, report)]
    because = "".join(f" {capital(cause)}." for cause in causes if cause)
    return (
        f"{report.monitor}: {broken_limit(alert)}: {_how_sure(row)} {_labels_of(row)}."
        f"{because} {capital(fired(alert))}."
    )


def early_text(answered: int, planned: int, unsettled: int = 0) -> str:
    """Describe how far a round was when it fired an alert before its end.

    >>> early_text(100, 200, 12)
    'alert before the round closed, after 100 of 200 labels, without 12 that may be corrected yet'
    """
    without = f", without {unsettled} that may be corrected yet" if unsettled else ""
    return f"alert before the round closed, after {answered} of {planned} labels{without}"


def early_sentence(alert: StoredAlert, answered: int, planned: int, unsettled: int = 0) -> str:
    """Return the sentence that an open round does not keep a limit by its first answers."""
    when = early_text(answered, planned, unsettled)
    return (
        f"{alert.monitor}: {broken_limit(alert)}: {when}. No missing answer can reverse it; the "
        f"estimate follows when the round closes. {capital(fired(alert))}."
    )


def resolved_sentence(
    alert: StoredAlert, row: EstimateRow | None, report: RoundReport, why: str | None
) -> str:
    """Return the sentence that a round ended an alert."""
    reason = why or (
        "the labels of the rounds since then show that it keeps its limit again. Of alerts on a "
        "metric that stays beyond its limit at most 1 in 20 ever end so"
    )
    return (
        f"{report.monitor}: the alert on {_limit(alert)} is resolved in round {report.round}: "
        f"{reason}. It is {estimate_text(row)} {_labels_of(row)}. The alert {fired(alert)}."
    )


def recovery_sentence(alert: Limited, recovery: RecoveryRow) -> str:
    """Return how far an open alert is from its end, and how long that may take."""
    return f"{_where(alert, recovery)}. {_gathered(recovery)}{_upcoming(alert, recovery)}."


def _where(alert: Limited, recovery: RecoveryRow) -> str:
    labels = "with earlier rounds" if subject_of(alert.metric) == CLASSIFIER else "in this round"
    if recovery.level is None:
        return f"{alert.metric} is {NOT_ESTIMABLE} {labels}"
    beyond = "under" if alert.side == "at_least" else "over"
    side = "within" if keeps(alert.side, alert.limit, recovery.level) else beyond
    return f"{alert.metric} is {recovery.level:.2f} {labels}, {side} its limit {alert.limit:g}"


def _gathered(recovery: RecoveryRow) -> str:
    if not recovery.rounds:
        # True at any later time too: a report stays as it was when its round closed.
        begins = "Evidence of recovery comes from rounds after the one that fired"
        return f"{begins}, and {recovery.ends_at:g} ends the alert"
    # Rounded down, so that too little does not look enough.
    rounded = math.floor(recovery.evidence * 100) / 100
    shown = f"{rounded:g}" if rounded else "under 0.01"
    later = "1 later round" if recovery.rounds == 1 else f"{recovery.rounds} later rounds"
    return capital(
        f"evidence of recovery is {shown} after {later}, and {recovery.ends_at:g} ends the alert"
    )


def _upcoming(alert: Limited, recovery: RecoveryRow) -> str:
    if recovery.level is None or subject_of(alert.metric) != CLASSIFIER:
        return ""
    if not keeps(alert.side, alert.limit, recovery.level):
        return f"; no end is expected while {alert.metric} stays there"
    if recovery.within is None:
        return (
            f"; if {alert.metric} stays there, that may well take more than {recovery.at_most} "
            "rounds"
        )
    rounds = "1 more round" if recovery.within == 1 else f"{recovery.within} more rounds"
    often = f"{10 * recovery.share:g} of 10 cases"
    return f"; if {alert.metric} stays there, that takes at most {rounds} in {often}"


def revised_sentence(alert: StoredAlert, row: EstimateRow | None, report: RoundReport) -> str:
    """Return the sentence that late labels took back what an alert fired on."""
    return (
        f"{report.monitor}: the alert on {alert.metric} of round {alert.fired_in_round} is "
        f"revised: with the labels that came late it would not have fired. It is "
        f"{estimate_text(row)} in round {report.round}. The alert {fired(alert)}."
    )


def ended_sentence(alert: StoredAlert, *, by_hand: bool, why: str) -> str:
    """Return the sentence that an alert ended that no round ended."""
    how = "was ended by hand" if by_hand else "has ended"
    return f"{alert.monitor}: {_alert_of_round(alert)} {how}: {why}. It {fired(alert)}."


def forgotten_sentence(alert: AlertRow, *, monitor: str) -> str:
    """Return the sentence that the store was restored to a time before an alert."""
    return (
        f"{monitor}: {_alert_of_round(alert)} ends here, because the store was restored from a "
        "backup without it. This is not a sign of recovery: later rounds run again, and a new "
        "alert fires if their labels still show a breach."
    )


def _alert_of_round(alert: Limited) -> str:
    return f"the alert on {_limit(alert)} of round {alert.fired_in_round}"


def alert_to_do(alert: StoredAlert, *, is_open: bool) -> str:
    """Describe what anyone who is called may do; an open round shows no counts."""
    steps = " ".join([*remedies([alert.metric]), end_alert_text(alert.id)])
    if is_open:
        return steps
    show = f"pr-monitor show {alert.fired_in_round} -m {alert.monitor}"
    return f"{show} has the counts and the evidence. {steps}"


def remedies(metrics: Iterable[str]) -> list[str]:
    """Describe what helps against alerts on some metrics, the cheapest first."""
    subjects = set(map(subject_of, metrics))
    sentences = ["If labels are wrong, correct them: the alert is then revised."]
    if CLASSIFIER in subjects:
        sentences.append(
            "If they are right, fix what feeds the classifier, move its threshold or retrain it; "
            "the alert ends by itself once later labels show that the metric recovered, and "
            "pr-monitor status shows the progress."
        )
    if JUDGE in subjects:
        sentences.append(
            "A worse judge costs more labels but makes no estimate wrong: check whether its model "
            "or prompt changed, and if so set a new judge.version."
        )
    return sentences


def end_alert_text(alert_id: str, called: str = "it") -> str:
    """Describe how to end an alert that needs nothing done."""
    return f'To end {called} now: pr-monitor alerts resolve {alert_id[:8]} --reason "..."'


def promise(every: float) -> str:
    """Return how often an alert may be false."""
    return f"At most one false alarm per {every:g} rounds is promised, for labels as given."


def _limit(alert: Limited) -> str:
    return f"{alert.metric} ({bound_text(alert.side, alert.limit)})"


def _labels_of(row: EstimateRow | None) -> str:
    """Name the labels that an estimate rests on; a judge's is of one round."""
    return "in this round" if row is not None and row.basis == "round" else "with earlier rounds"


def _how_sure(row: EstimateRow | None) -> str:
    if row is None or row.point is None or row.low is None or row.high is None:
        return NOT_ESTIMABLE
    interval = f"{percent_text(row.level)} interval {row.low:.2f} to {row.high:.2f}"
    return f"{row.point:.2f} ({interval}{f', {WHATEVER}' if row.is_worst_case else ''})"


def alert_cause(alert: Limited, report: RoundReport) -> str | None:
    """Explain why the metric of an alert changed, without a full stop; None if unknown."""
    if subject_of(alert.metric) == JUDGE:
        return (
            "the classifier's estimates do not depend on the judge: the judge or the items have "
            "changed"
        )
    change = None if report.cause is None else report.cause.changes.get(alert.metric)
    is_low = alert.side == "at_least"
    sentences = [] if change is None else [_near_alert(change) if is_low else change.sentence]
    if alert.metric == "recall" and is_low:
        sentences.append(
            "prevalence does not change recall: the classifier or its input has changed"
        )
    return "; ".join(sentences) or None


def evidence_sentence(
    row: EvidenceRow, *, fires: bool, is_revised: bool = False, comparison: str = ""
) -> str:
    """Return how a metric stands to its limit, and the evidence or why it is missing.

    ``comparison`` is of `monitor.presentation.limit_comparisons`.

    >>> from monitor.domain.report import EvidenceRow
    >>> limit = dict(metric="precision", side="at_least", limit=0.8, state="gathered")
    >>> evidence_sentence(EvidenceRow(**limit, log_evidence=1.5, log_threshold=4), fires=False)
    'limit precision at least 0.8: evidence 4.48, an alert fires at 54.6'
    """
    parts = [comparison] if comparison else []
    if row.state in _NO_EVIDENCE:
        parts.append(_NO_EVIDENCE[row.state])
    if row.log_evidence is not None:
        fires_at = evidence_text(row.log_threshold)
        parts.append(f"evidence {evidence_text(row.log_evidence)}, an alert fires at {fires_at}")
    if is_revised:
        parts.append("the alert fired here, by answers that have changed since")
    elif fires:
        if row.log_evidence is not None and row.log_evidence < row.log_threshold:
            parts.append("reached within the round, not at its end")
        parts.append("the alert fired here")
    return f"limit {limit_text(row.metric, row.side, row.limit)}: {', '.join(parts)}"


def limit_line(limit: LimitComparison) -> str:
    """Return how a metric stands to its limit, with the evidence of what an alert takes."""
    return evidence_sentence(limit.evidence, fires=False, comparison=limit.text)


def recurring_text(recurring: int, drawn: int) -> str:
    """Return how many drawn items evidence leaves out, since an earlier round asked about them.

    >>> recurring_text(90, 400)
    'evidence counts an item once: earlier rounds asked about 90 of the 400 items, and 310 count'
    """
    return (
        f"evidence counts an item once: earlier rounds asked about {recurring} of the {drawn} "
        f"items, and {drawn - recurring} count"
    )


# Why precision and recall are not what they were


def cause_sentence(change: PrecisionChange, rounds: int) -> str:
    """Describe why precision changed, and what of it is within noise."""
    moved = _moved("precision", change.before, change.after, change.change, rounds)
    if _is_noise(change.change):
        return moved
    eta = (
        f"{percent_text(change.prevalence_before.point, 2)} -> "
        f"{percent_text(change.prevalence_after.point, 2)}"
    )
    direction = "worse" if change.by_classifier.point < 0 else "better"
    return (
        f"{moved}: prevalence {eta} explains {_part(change.by_prevalence)}, a {direction} "
        f"classifier (TPR, FPR) {_part(change.by_classifier)}"
    )


def recall_sentence(change: PrecisionChange, rounds: int) -> str:
    """Describe how recall changed, which prevalence does not move."""
    moved = _moved(
        "recall", change.recall_before, change.recall_after, change.recall_change, rounds
    )
    noise = _is_noise(change.recall_change)
    return moved if noise else f"{moved}, by {_part(change.recall_change)}"


def _moved(metric: str, before: Interval, after: Interval, change: Interval, rounds: int) -> str:
    was, now = (
        f"{value.point:.2f} {range_text(value.low, value.high, 2)}" for value in (before, after)
    )
    if _is_noise(change):
        point, low, high = map(signed_text, (change.point, change.low, change.high))
        return (
            f"{metric} {now} in this round alone and {was} in {_before(rounds)} differ by no more "
            f"than noise ({point}, {low} to {high})"
        )
    verb = "fell" if change.high < 0 else "rose"
    return f"{metric} {verb} from {was} in {_before(rounds)} to {now} in this round alone"


def _near_alert(change: MetricChange) -> str:
    """Describe a change of a metric that is under its limit.

    Rounds that differ by no more than chance are then no comfort: the metric was low before.
    """
    if not change.is_noise:
        return change.sentence
    return (
        f"this is not a sudden fall: {change.sentence}. The problem began earlier or grows slowly; "
        "the alert combines all these rounds"
    )


def _before(rounds: int) -> str:
    return "the round before" if rounds == 1 else f"the {rounds} rounds before"


def _is_noise(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high


def _part(interval: Interval) -> str:
    noise = ", within noise" if _is_noise(interval) else ""
    ends = f"{signed_text(interval.low)} to {signed_text(interval.high)}"
    return f"{signed_text(interval.point)} ({ends}{noise})"
