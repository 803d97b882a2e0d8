"""Sentences about one round: its tables and lines, for a terminal and for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import EvidenceState
from monitor.domain.challenger_rows import ChallengerRow
from monitor.domain.report import (
    AgreementRow,
    AnswersRow,
    CauseRow,
    EstimateRow,
    ReportedEstimate,
    RestatedRow,
)
from monitor.fixed_text import fixed_text
from monitor.presentation.causes import cause_near_alert
from monitor.presentation.estimates import (
    BASES,
    WHATEVER,
    answered_text,
    caution_lines,
    pooled_intervals_text,
    reason_text,
)
from monitor.presentation.evidence import evidence_sentence, recurring_text
from monitor.presentation.moves import waves_sentence
from monitor.presentation.numbers import interval_text, minute_text
from monitor.presentation.restatements import restated_since_text, restated_text
from monitor.presentation.rows import BANDS_OF_CELLS, agreement_sentence, answers_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

COUNTED = ["stratum", "size", "planned", "labeled", "positive", "declined"]
OWN = ("round", "window")
"""Basis and estimand that are shown of a round alone."""

CORRECTED = "this round, corrected for label errors"
COLUMNS = {
    BASES["round"]: OWN,
    BASES["pooled"]: ("pooled", "rate"),
    CORRECTED: ("corrected", "window"),
}
"""Basis and estimand of each column."""


def no_round_text(monitor: str, number: int, there: Sequence[int]) -> str:
    """Return the sentence that a monitor has no such round, and which it has, in slot order."""
    rounds = f"its rounds are {there[0]} to {there[-1]}" if there else "it has none yet"
    return f"{monitor} has no round {number}; {rounds}"


def no_version_text(monitor: str, number: int, requested: int, newest: int) -> str:
    """Return the sentence that a round has no such version, and which is its newest; 0 for none."""
    there = f"the newest is {newest}" if newest else "it has no estimate yet"
    return f"round {number} of {monitor} has no version {requested}; {there}"


def no_report_text(monitor: str, number: int, state: str) -> str:
    """Return the sentence that a round has no report yet."""
    return f"round {number} of {monitor} has no report yet: it is {state}"


def no_reports_text(monitor: str) -> str:
    """Return the sentence that no round of a monitor has a report yet."""
    return f"no round of {monitor} has a report yet: none has closed"


def remarks_text(
    version: int,
    *,
    partial: bool = False,
    worst_case: bool = False,
    restated: bool = False,
) -> str:
    """Describe in a list of rounds what is special about the estimates of one.

    ``worst_case`` is whether intervals are worst-case bounds, since answers are missing; the
    intervals of a partial round are. ``restated`` is whether a person asked for a version.

    >>> remarks_text(1), remarks_text(2, partial=True)
    ('', 'version 2, partial')
    >>> remarks_text(1, partial=True, worst_case=True), remarks_text(1, worst_case=True)
    ('partial', 'bounds')
    >>> remarks_text(2, restated=True)
    'version 2, restated'
    """
    remarks = [f"version {version}"] * (version > 1) + ["restated"] * restated
    remarks += ["partial"] if partial else ["bounds"] * worst_case
    return ", ".join(remarks)


def head_lines(page: dict[str, Any]) -> Iterator[str]:
    """Describe which round it is, its window, and any irregular rows or concerns."""
    partial = ", partial" if page["partial"] else ""
    due, (start, end) = minute_text(page["slot"]), page["window"]
    yield f"{page['monitor']}, round {page['round']}: {page['state']}{partial}, due {due} UTC"
    yield f"window {minute_text(start)} to {minute_text(end)} UTC"
    if page["snapshot"]:
        yield f"drawn from snapshot {page['snapshot']} of the predictions"
    if page["version"]:
        by = f", computed by {page['program']}" if page["program"] else ""
        yield f"version {page['version']} of {page['latest_version']}{by}"
    yield from (restated_text(RestatedRow(**row)) for row in page["restated"])
    if page["restated_since"]:
        yield restated_since_text(page["version"], page["latest_version"])
    if page["reason"]:
        yield f"reason: {page['reason']}"
    for reason, count in page["bad_rows"].items():
        yield f"left out: {count} {reason}"
    for reason, count in page["notes"].items():
        yield f"note: {reason if count == 1 else f'{count} {reason}'}"
    yield from (f"needs a look: {sentence}" for sentence in page["concerns"])


def strata_table(page: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Lay out what was counted in each stratum; no row before the round is drawn."""
    rows = [["-" if row[k] is None else str(row[k]) for k in COUNTED] for row in page["strata"]]
    return [*COUNTED[:-1], "cannot tell"], rows


def strata_lines(page: dict[str, Any]) -> Iterator[str]:
    """Describe how the items of the strata were drawn and handed out."""
    strata = page["strata"]
    if not strata:
        return
    if len(page["cells"]) > len(strata):
        yield BANDS_OF_CELLS
    if strata[0]["first_wave"] is not None:
        first, planned = (sum(row[k] for row in strata) for k in ("first_wave", "planned"))
        yield waves_sentence(first, planned, second_at=page["second_wave_at"])
    whole = [row["stratum"] for row in strata if row["size"] == row["planned"] > 0]
    if whole and page["second_wave_at"] is None:
        yield f"census: every item of {', '.join(whole)} is drawn"


def estimates_table(page: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Lay out a row for each metric, precision and recall first; no row before an estimate.

    A round alone shows the window's own value and the pooled one the rate, as everywhere.
    """
    rows = _estimates(page)
    columns = _columns(rows)
    return ["metric", *columns], [[metric, *_numbers(metric, columns)] for metric in _metrics(rows)]


def estimate_lines(page: dict[str, Any]) -> list[str]:
    """Describe what to know of some of the estimates."""
    rows, cautions = _estimates(page), page["cautions"]
    metrics, columns = _metrics(rows), _columns(rows)
    ordered = [of[metric] for metric in metrics for of in columns.values() if metric in of]
    return [
        *_missing((row for row in ordered if (row.basis, row.estimand) == OWN), page["answered"]),
        *_reasons(ordered),
        *caution_lines((metric, cautions.get(metric)) for metric in metrics),
    ]


def answered_texts(rows: Iterable[ReportedEstimate]) -> dict[str, str]:
    """Give, by metric, the interval of a round alone if its missing answers were like the others.

    Omits metrics that have no missing answers.
    """
    own = [row for row in rows if (row.basis, row.estimand) == OWN]
    return {row.metric: text for row in own if (text := answered_text(row)) is not None}


def evidence_lines(page: dict[str, Any]) -> list[str]:
    """Return how much evidence there is against each limit."""
    return [_evidence(row) for row in page["evidence"]]


def recurring_lines(page: dict[str, Any]) -> list[str]:
    """Return how many items evidence leaves out, if any."""
    if not page["evidence"] or not page["recurring"]:
        return []
    return [recurring_text(page["recurring"], sum(row["planned"] for row in page["strata"]))]


def notice_lines(page: dict[str, Any]) -> list[str]:
    """Describe what was unusual."""
    return [f"notice, {row['kind']}: {row['sentence']}" for row in page["notices"]]


def _estimates(page: dict[str, Any]) -> list[EstimateRow]:
    return [EstimateRow(**row) for row in page["estimates"]]


def pooled_lines(page: dict[str, Any]) -> list[str]:
    """Describe what the intervals with earlier rounds are, where there are any."""
    rows = page["estimates"]
    has_pooled = any(row["basis"] == "pooled" and row["point"] is not None for row in rows)
    return [pooled_intervals_text(page["pooled_coverage"])] if has_pooled else []


def people_lines(page: dict[str, Any]) -> Iterator[str]:
    """Describe which answers are missing, and how far the people agree who gave the others."""
    if page["answers"] is not None:
        sentence = answers_sentence(AnswersRow(**page["answers"]))
        yield from () if sentence is None else (sentence,)
    if page["agreement"] is not None:
        yield f"agreement: {agreement_sentence(AgreementRow(**page['agreement']))}"


def cause_lines(page: dict[str, Any]) -> list[str]:
    """Describe why precision is not what it was, where that was asked."""
    sentence = cause_text(page)
    return [] if sentence is None else [f"against earlier rounds: {sentence}"]


def cause_text(page: dict[str, Any]) -> str | None:
    """Give the sentence alone; None if that was not asked."""
    if page["cause"] is None:
        return None
    cause = CauseRow(**page["cause"])
    is_low = any(
        (row["metric"], row["side"]) == ("precision", "at_least")
        and (row["fires"] or row["state"] == EvidenceState.ALERT_OPEN)
        for row in page["evidence"]
    )
    return cause_near_alert(cause) if is_low else cause.sentence


def challenger_of(page: dict[str, Any]) -> ChallengerRow | None:
    """Take what a round says of its challenger; None without one."""
    return None if page["challenger"] is None else ChallengerRow(**page["challenger"])


def _columns(rows: Sequence[EstimateRow]) -> dict[str, dict[str, EstimateRow]]:
    """Sort estimates by column and metric; the corrected column only where there is one."""
    columns = {
        head: {row.metric: row for row in rows if (row.basis, row.estimand) == shown}
        for head, shown in COLUMNS.items()
    }
    if not columns[CORRECTED]:
        del columns[CORRECTED]
    return columns


def _missing(rows: Iterable[EstimateRow], answered: Mapping[str, str]) -> list[str]:
    """Describe where precision and recall lie regardless of the missing answers."""
    return [
        f"{row.metric}: {fixed_text(row.bound_low)} to {fixed_text(row.bound_high)} in this round, "
        f"{WHATEVER}{f'; {answered[row.metric]}' if row.metric in answered else ''}"
        for row in rows
        if row.metric in {"precision", "recall"}
        and row.bound_low is not None
        and row.bound_high is not None
    ]


def _reasons(rows: Sequence[EstimateRow]) -> list[str]:
    """Describe why metrics have no number, one reason at a time."""
    result: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.point is None:
            result.setdefault(reason_text(row), {})[row.metric] = None
    return [f"{', '.join(metrics)}: {reason}" for reason, metrics in result.items()]


def _metrics(rows: Sequence[EstimateRow]) -> list[str]:
    first = ["precision", "recall", "f1"]
    others = sorted({row.metric for row in rows} - set(first))
    return [metric for metric in [*first, *others] if any(row.metric == metric for row in rows)]


def _numbers(metric: str, columns: dict[str, dict[str, EstimateRow]]) -> Iterator[str]:
    for rows in columns.values():
        yield interval_text(rows[metric]) if metric in rows else "-"


def _evidence(row: dict[str, Any]) -> str:
    return evidence_sentence(
        row["metric"],
        row["side"],
        row["limit"],
        state=row["state"],
        log_evidence=row["log_evidence"],
        log_threshold=row["log_threshold"],
        fires=row["fires"],
        recovery_rounds=row["recovery_rounds"],
        log_r=row["log_r"],
    )
