"""What `pr-monitor show` says of one round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.views.printing import say, say_block, say_table
from monitor.cli.views.segments_table import say_segments
from monitor.domain.alerting import EvidenceState
from monitor.domain.errors import InputRefused
from monitor.domain.report import (
    AgreementRow,
    AnswersRow,
    CauseRow,
    EstimateRow,
    ReportedEstimate,
    SegmentRow,
)
from monitor.presentation.causes import cause_beside_alert
from monitor.presentation.estimates import (
    BASES,
    caution_lines,
    caution_text,
    pooled_intervals_text,
    reason_text,
)
from monitor.presentation.evidence import evidence_sentence
from monitor.presentation.moves import waves_sentence
from monitor.presentation.numbers import interval_text
from monitor.presentation.rows import BANDS_OF_CELLS, agreement_sentence, answers_sentence
from monitor.rounds.estimation.answer_times import answers_row
from monitor.rounds.reporting.strata import band_rows
from monitor.storage import (
    copy_store,
    estimate_store,
    evidence_store,
    frame_store,
    report_store,
    round_moves,
    round_store,
    segment_store,
)
from monitor.storage.round_labels import read_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from monitor.stats.estimation.small_counts import DecidingClass
    from monitor.storage.round_store import Round
    from monitor.wiring import Application

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


def round_page(
    application: Application, monitor: str, number: int, version: int | None
) -> dict[str, Any]:
    """Gather everything about one version of a round.

    Raises
    ------
    InputRefused
        If the monitor has no such round, or the round no such version.
    """
    with application.database.read() as connection:
        round_ = find_round(connection, monitor, number)
        version = _version(round_, version)
        issues = frame_store.read_issues(connection, round_.id)
        strata = _strata(connection, round_, version)
        answers = _answers(connection, round_, version)
        agreement = copy_store.read_agreement(connection, round_.id, version)
        estimates = estimate_store.read_estimates(connection, round_.id, version)
        report = report_store.read_report(connection, round_.id, version)
        return {
            "monitor": monitor,
            "round": round_.number,
            "slot": round_.slot,
            "window": [round_.window.start, round_.window.end],
            "state": round_.state,
            "reason": round_.reason,
            "version": version,
            "latest_version": round_.estimated_version,
            "partial": round_.partial,
            "second_wave_at": round_.second_wave_at,
            "strata": strata,
            "cells": report.get("cells", []),
            "estimates": [row.model_dump() for row in estimates],
            "cautions": _cautions(report, strata, estimates),
            "pooled_coverage": report.get("pooled_coverage"),
            "answers": answers and answers.model_dump(),
            "agreement": agreement and agreement.model_dump(),
            "segments": _segments(connection, round_, version),
            "evidence": evidence_store.read_evidence(
                connection, round_.id, version, is_compared=_is_compared(connection, round_)
            ),
            "cause": report.get("cause"),
            "notices": report.get("notices", []),
            "bad_rows": _issues(issues, are_bad=True),
            "notes": _issues(issues, are_bad=False),
            "events": round_moves.read_events(connection, round_.id),
            "settings": round_.settings.model_dump(mode="json"),
        }


def say_round(page: dict[str, Any]) -> None:
    """Print a round's page."""
    for line in _head_lines(page):
        say(line, indent="  ")
    _say_strata(page)
    if page["estimates"]:
        say()
        _say_estimates([EstimateRow(**row) for row in page["estimates"]], page["cautions"])
        say_block(_pooled_lines(page))
    for line in _people_lines(page):
        say(line, indent="  ")
    say_segments([SegmentRow(**row) for row in page["segments"]])
    say_block(_cause_lines(page))
    say_block(_evidence(row) for row in page["evidence"])
    say_block(f"notice, {row['kind']}: {row['sentence']}" for row in page["notices"])
    say()
    _say_events(page["events"])


def _say_events(events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        say(f"{minute(event['at'])}  {event['after']}: {event['reason']}", indent=" " * 18)


def _say_strata(page: dict[str, Any]) -> None:
    strata = page["strata"]
    if not strata:
        return
    say()
    rows = [["-" if row[k] is None else str(row[k]) for k in COUNTED] for row in strata]
    say_table([*COUNTED[:-1], "cannot tell"], rows, right="12345")
    if len(page["cells"]) > len(strata):
        say(BANDS_OF_CELLS, indent="  ")
    if strata[0]["first_wave"] is not None:
        first, planned = (sum(row[k] for row in strata) for k in ("first_wave", "planned"))
        say(waves_sentence(first, planned, second_at=page["second_wave_at"]), indent="  ")
    whole = [row["stratum"] for row in strata if row["size"] == row["planned"] > 0]
    if whole and page["second_wave_at"] is None:
        say(f"census: every item of {', '.join(whole)} is drawn", indent="  ")


def _pooled_lines(page: dict[str, Any]) -> list[str]:
    """Say what the intervals with earlier rounds are, where there are any."""
    rows = page["estimates"]
    has_pooled = any(row["basis"] == "pooled" and row["point"] is not None for row in rows)
    return [pooled_intervals_text(page["pooled_coverage"])] if has_pooled else []


def _people_lines(page: dict[str, Any]) -> Iterator[str]:
    """Say which answers are missing, and how far the people agree who gave the others."""
    if page["answers"] is not None:
        sentence = answers_sentence(AnswersRow(**page["answers"]))
        yield from () if sentence is None else (sentence,)
    if page["agreement"] is not None:
        yield f"agreement: {agreement_sentence(AgreementRow(**page['agreement']))}"


def _cause_lines(page: dict[str, Any]) -> list[str]:
    if page["cause"] is None:
        return []
    cause = CauseRow(**page["cause"])
    is_low = any(
        (row["metric"], row["side"]) == ("precision", "at_least")
        and (row["fires"] or row["state"] == EvidenceState.ALERT_OPEN)
        for row in page["evidence"]
    )
    sentence = cause_beside_alert(cause) if is_low else cause.sentence
    return [f"against earlier rounds: {sentence}"]


def _head_lines(page: dict[str, Any]) -> Iterator[str]:
    partial = ", partial" if page["partial"] else ""
    due, (start, end) = minute(page["slot"]), page["window"]
    yield f"{page['monitor']}, round {page['round']}: {page['state']}{partial}, due {due} UTC"
    yield f"window {minute(start)} to {minute(end)} UTC"
    if page["version"]:
        yield f"version {page['version']} of {page['latest_version']}"
    if page["reason"]:
        yield f"reason: {page['reason']}"
    for reason, count in page["bad_rows"].items():
        yield f"left out: {count} {reason}"
    for reason, count in page["notes"].items():
        yield f"note: {reason if count == 1 else f'{count} {reason}'}"


def find_round(connection: Connection, monitor: str, number: int) -> Round:
    """Find a round by its number, or refuse with the numbers that there are."""
    rounds = round_store.find_rounds(connection, monitor)
    for round_ in rounds:
        if round_.number == number:
            return round_
    there = (
        f"its rounds are {rounds[0].number} to {rounds[-1].number}" if rounds else "it has none yet"
    )
    message = f"{monitor} has no round {number}; {there}"
    raise InputRefused(message)


def _version(round_: Round, asked: int | None) -> int:
    newest = round_.estimated_version
    if asked is not None and asked > newest:
        there = f"the newest is {newest}" if newest else "it has no estimate yet"
        message = f"round {round_.number} of {round_.monitor} has no version {asked}; {there}"
        raise InputRefused(message)
    return asked or newest


def _strata(connection: Connection, round_: Round, version: int) -> list[dict[str, Any]]:
    sample = round_.settings.sample
    counted = estimate_store.read_counts(connection, [round_.id], version=version or None)
    if round_.id in counted:
        return [row.model_dump() for row in band_rows(counted[round_.id], sample)]
    uncounted = dict.fromkeys(("labeled", "positive", "declined"))
    drawn = frame_store.read_strata(connection, round_.id)
    return [row.model_dump() | uncounted for row in band_rows(drawn, sample)]


def _segments(connection: Connection, round_: Round, version: int) -> list[dict[str, Any]]:
    rows = segment_store.read_estimates(connection, round_.id, version)
    return [row.model_dump() for row in rows]


def _issues(issues: dict[str, tuple[int, bool]], *, are_bad: bool) -> dict[str, int]:
    """Count what was odd about rows: those that were left out, or those that only are noted."""
    return {reason: count for reason, (count, bad) in issues.items() if bad is are_bad}


def _answers(connection: Connection, round_: Round, version: int) -> AnswersRow | None:
    counted = estimate_store.read_counts(connection, [round_.id], version=version or None)
    if round_.id not in counted:
        return None
    times = read_labels(connection, round_).first_answers()
    return answers_row(round_, times, counted[round_.id])


def _is_compared(connection: Connection, round_: Round) -> bool:
    """Whether there was anything to compare the round with: an earlier one, or a reference."""
    if round_.history_id is None:
        return False
    history = frame_store.read_history(connection, round_.history_id)
    closed = round_store.closed_rounds(connection, history.id)
    references = (history.reference, round_.settings.reference)
    return any(this_round.slot < round_.slot for this_round in closed) or references != (None, None)


def _cautions(
    report: dict[str, Any], strata: Sequence[dict[str, Any]], estimates: Sequence[EstimateRow]
) -> dict[str, str]:
    """Say which metrics of this round alone few labels decide."""
    rows = [row for row in report.get("estimates", []) if (row["basis"], row["estimand"]) == OWN]
    # Reports of earlier versions of the program have no such field, not even an empty one.
    has_kept = any("caution" in row for row in rows)
    kept = {row.metric: row.caution for row in (ReportedEstimate(**row) for row in rows)}
    few = kept if has_kept else _counted_cautions(strata, estimates)
    return {
        metric: text
        for metric, classes in few.items()
        if (text := caution_text(classes)) is not None
    }


def _counted_cautions(
    strata: Sequence[dict[str, Any]], estimates: Sequence[EstimateRow]
) -> dict[str, Sequence[DecidingClass]]:
    """Find the cautions of a round by its counts."""
    from monitor.stats.core.counts import Counts
    from monitor.stats.estimation.small_counts import small_count_caution

    own = [row for row in estimates if (row.basis, row.estimand) == OWN and row.point is not None]
    if not own:
        return {}
    counts = Counts.of_arrays(
        **{name: [row[name] for row in strata] for name in ("size", "labeled", "positive")},
        is_flagged=[row["flagged"] for row in strata],
    )
    few = {row.metric: small_count_caution(counts, row.metric, estimand="window") for row in own}
    return {metric: found.classes for metric, found in few.items() if found is not None}


def _say_estimates(rows: Sequence[EstimateRow], cautions: dict[str, str]) -> None:
    """Print a line for each metric, precision and recall first; then what to know of some.

    A round alone shows the window's own value and the pooled one the rate, as everywhere.
    """
    metrics, columns = _metrics(rows), _columns(rows)
    say_table(
        ["metric", *columns],
        [[metric, *_numbers(metric, columns)] for metric in metrics],
    )
    ordered = [of[metric] for metric in metrics for of in columns.values() if metric in of]
    say_block(
        [
            *_missing(row for row in ordered if (row.basis, row.estimand) == OWN),
            *_reasons(ordered),
            *caution_lines((metric, cautions.get(metric)) for metric in metrics),
        ]
    )


def _columns(rows: Sequence[EstimateRow]) -> dict[str, dict[str, EstimateRow]]:
    """Sort estimates by column and metric; the corrected column only where there is one."""
    columns = {
        head: {row.metric: row for row in rows if (row.basis, row.estimand) == shown}
        for head, shown in COLUMNS.items()
    }
    if not columns[CORRECTED]:
        del columns[CORRECTED]
    return columns


def _missing(rows: Iterable[EstimateRow]) -> list[str]:
    """Say where metrics lie whatever the missing answers are."""
    return [
        f"{row.metric}: {row.bound_low:.3f} to {row.bound_high:.3f} in this round, "
        "whatever the missing answers would be"
        for row in rows
        if row.bound_low is not None and row.bound_high is not None
    ]


def _reasons(rows: Sequence[EstimateRow]) -> list[str]:
    """Say why metrics have no number, those of one reason together."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.point is None:
            found.setdefault(reason_text(row), {})[row.metric] = None
    return [f"{', '.join(metrics)}: {reason}" for reason, metrics in found.items()]


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
