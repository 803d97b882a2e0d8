"""How a metric compares with its limit, in one of four words that all readers share.

The word follows from the displayed intervals, an alert from evidence. So a metric can be beyond its
limit before an alert fires, since the promise on false alarms needs more than one interval.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.domain.alerting import keeps
from monitor.domain.report import (
    EstimateRow,
    EvidenceRow,
    ProvisionalRow,
    RoundReport,
    Status,
    find_row,
)
from monitor.domain.settings import LimitSide
from monitor.presentation.estimates import BASES
from monitor.presentation.numbers import NOT_ESTIMABLE, interval_text, limit_text, percent_text

_SHOWN_BASES = ("pooled", "round")


class LimitState(StrEnum):
    """How a metric compares with its limit, most severe first.

    ``alert``: an alert is open on the limit. ``beyond``: the interval with earlier rounds, or that
    of the round alone, lies wholly on the wrong side. ``unclear``: neither does, and the interval
    with earlier rounds has the limit inside, or there is no interval. ``keeps``: it lies wholly on
    the right side.
    """

    ALERT = "alert"
    BEYOND = "beyond"
    UNCLEAR = "unclear"
    KEEPS = "keeps"


@dataclass(frozen=True, slots=True)
class LimitComparison:
    """One limit, its evidence, and the estimate that decides the word."""

    evidence: EvidenceRow
    state: LimitState
    estimate: EstimateRow | None

    @property
    def word(self) -> str:
        """The word that people read; which side is wrong depends on the limit."""
        beyond = "under it" if self.evidence.side == "at_least" else "over it"
        texts = {
            LimitState.ALERT: "ALERT",
            LimitState.BEYOND: f"{beyond} (not yet an alert)",
            LimitState.UNCLEAR: "unclear",
            LimitState.KEEPS: "keeps it",
        }
        return texts[self.state]

    @property
    def text(self) -> str:
        """The word, and the estimate that decides it."""
        if self.estimate is None:
            return f"{self.word}, {NOT_ESTIMABLE}"
        return f"{self.word}, {interval_text(self.estimate)} {BASES[self.estimate.basis]}"


def compare_limit(
    evidence: EvidenceRow, estimates: Sequence[EstimateRow], *, alerting: bool
) -> LimitComparison:
    """Decide the word for one limit.

    Examples
    --------
    >>> limit = EvidenceRow(
    ...     metric="recall", side="at_least", limit=0.45, log_evidence=4.56, log_threshold=4.64
    ... )
    >>> shown = dict(metric="recall", estimand="rate", basis="pooled", level=0.95, method="")
    >>> low = EstimateRow(point=0.304, low=0.24, high=0.444, **shown)
    >>> compare_limit(limit, [low], alerting=False).text
    'under it (not yet an alert), 0.304 [0.240, 0.444] with earlier rounds'
    """
    rows = [find_row(estimates, evidence.metric, basis) for basis in _SHOWN_BASES]
    shown = [row for row in rows if row is not None and row.point is not None]
    first = shown[0] if shown else None
    if alerting:
        return LimitComparison(evidence, LimitState.ALERT, first)
    beyond = next((row for row in shown if _is_beyond(evidence, row)), None)
    if beyond is not None:
        return LimitComparison(evidence, LimitState.BEYOND, beyond)
    is_within = first is not None and _is_within(evidence, first)
    return LimitComparison(evidence, LimitState.KEEPS if is_within else LimitState.UNCLEAR, first)


def compare_limits(
    evidence: Iterable[EvidenceRow],
    estimates: Sequence[EstimateRow],
    alerting: Collection[tuple[str, str]],
) -> list[LimitComparison]:
    """Decide the words for all limits; ``alerting`` has metric and side of each open alert."""
    return [
        compare_limit(row, estimates, alerting=(row.metric, row.side) in alerting)
        for row in evidence
    ]


def comparisons_of(report: RoundReport) -> list[LimitComparison]:
    """Decide the words for all limits of a round."""
    alerting = {(alert.metric, alert.side) for alert in report.firing}
    return compare_limits(report.evidence, report.estimates, alerting)


def beyond_texts(comparisons: Iterable[LimitComparison]) -> list[str]:
    """Name the metrics that are beyond their limit without an alert."""
    return [
        f"{each.evidence.metric.replace('_', ' ')} is "
        f"{'under' if each.evidence.side == 'at_least' else 'over'} its limit "
        f"{each.evidence.limit:g} (not yet an alert)"
        for each in comparisons
        if each.state is LimitState.BEYOND
    ]


def provisional_beyond(limits: Iterable[LimitSide], row: ProvisionalRow | None) -> list[LimitSide]:
    """Return the limits beyond which the provisional interval of an open round lies wholly."""
    metrics = {} if row is None else {each.metric: each for each in row.metrics}
    return [
        limit
        for limit in limits
        if (metric := metrics.get(limit.metric)) is not None
        and (end := metric.high if limit.side == "at_least" else metric.low) is not None
        and not keeps(limit.side, limit.value, end)
    ]


def provisional_texts(rounds: Iterable[tuple[int, Sequence[LimitSide]]]) -> list[str]:
    """Name the limits that provisional numbers of open rounds are beyond, with the rounds.

    >>> recall = LimitSide("recall", 0.45, "at_least")
    >>> provisional_texts([(5, [recall]), (6, []), (7, [recall])])
    ['provisional numbers are under the limit: recall at least 0.45 in rounds 5, 7']
    """
    by_limit: dict[LimitSide, list[str]] = {}
    for number, limits in rounds:
        for limit in limits:
            by_limit.setdefault(limit, []).append(str(number))
    return [
        f"provisional numbers are {'under' if limit.side == 'at_least' else 'over'} the limit: "
        f"{limit_text(limit.metric, limit.side, limit.value)} in "
        f"round{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
        for limit, numbers in by_limit.items()
    ]


def provisional_sentence(limits: Iterable[LimitSide], row: ProvisionalRow) -> str:
    """Return what people are notified of, and what that promises; without a full stop."""
    metrics = {each.metric: each for each in row.metrics}
    beyond = "; ".join(
        f"{limit.metric} is {interval_text(metrics[limit.metric])}, "
        f"{'under' if limit.side == 'at_least' else 'over'} its limit {limit.value:g}"
        for limit in limits
    )
    return (
        f"provisional numbers, {percent_text(row.matured or 0.0, 2)} matured: {beyond}. This is no "
        "alert: one can fire once all labels are there, and its promise does not cover this notice"
    )


def headline_text(
    status: Status, comparisons: Sequence[LimitComparison], provisional: Sequence[str] = ()
) -> str:
    """Return a monitor's status and the worst that holds of its limits where that is not told.

    ``ok`` says that rounds go on and no alert is open, so it never stands alone where a metric or a
    ``provisional`` number is beyond its limit, or where intervals cannot tell.
    """
    worst = {each.state for each in comparisons}
    beyond = [*beyond_texts(comparisons), *provisional]
    if beyond and status is not Status.ALERT:
        text = "; ".join(beyond)
        return text if status is Status.OK else f"{status.upper()}; {text}"
    if LimitState.UNCLEAR in worst and status is Status.OK:
        unclear = [each.evidence for each in comparisons if each.state is LimitState.UNCLEAR]
        metrics = list(dict.fromkeys(row.metric.replace("_", " ") for row in unclear))
        limits = "keeps its limit" if len(metrics) == 1 else "keep their limits"
        return f"no alert, unclear whether {' and '.join(metrics)} {limits}"
    return status.upper()


def colour_status(
    status: Status, comparisons: Iterable[LimitComparison], provisional: Sequence[str] = ()
) -> Status:
    """Return the status that lends the headline its colour: never ``ok`` beyond a limit."""
    is_beyond = provisional or any(each.state is LimitState.BEYOND for each in comparisons)
    return Status.ATTENTION if is_beyond and status is Status.OK else status


def _is_beyond(evidence: EvidenceRow, row: EstimateRow) -> bool:
    end = row.high if evidence.side == "at_least" else row.low
    return end is not None and not keeps(evidence.side, evidence.limit, end)


def _is_within(evidence: EvidenceRow, row: EstimateRow) -> bool:
    end = row.low if evidence.side == "at_least" else row.high
    return end is not None and keeps(evidence.side, evidence.limit, end)
