"""Everything about one version of a round, as `pr-monitor show` and the pages show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.domain.report import AnswersRow, ReportedEstimate
from monitor.domain.state import RoundState
from monitor.presentation.estimates import caution_text
from monitor.presentation.round_page import (
    OWN,
    answered_texts,
    no_report_text,
    no_reports_text,
    no_round_text,
    no_version_text,
)
from monitor.rounds.class_overview import report_with_classes
from monitor.rounds.estimation.answer_times import answers_row
from monitor.rounds.reporting.enqueue import with_concerns
from monitor.rounds.reporting.restated import read_restated_rows
from monitor.rounds.reporting.strata import band_rows
from monitor.storage.labels import overlap_store
from monitor.storage.labels.round_labels import read_labels
from monitor.storage.results import (
    concern_store,
    estimate_store,
    evidence_store,
    report_store,
    segment_store,
)
from monitor.storage.rounds import round_ids, round_store, round_transitions
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.report import RoundReport
    from monitor.storage.rounds.round_store import Round


def read_page(
    connection: Connection, monitor: str, number: int, version: int | None
) -> dict[str, Any]:
    """Gather everything about one version of a round.

    Raises
    ------
    InputRefused
        If the monitor has no such round, or the round no such version.
    """
    round_ = find_round(connection, monitor, number)
    version = _version(round_, version)
    issues = frame_store.read_issues(connection, round_.id)
    strata = _strata(connection, round_, version)
    answers = _answers(connection, round_, version)
    agreement = overlap_store.read_agreement(connection, round_.id, version)
    estimates = estimate_store.read_estimates(connection, round_.id, version)
    report = report_store.read_report(connection, round_.id, version)
    restated = read_restated_rows(connection, {round_.id}).get(round_.id, [])
    of_classes = report_with_classes(connection, round_)
    return {
        "monitor": monitor,
        "round": round_.number,
        "slot": round_.slot,
        "window": [round_.window.start, round_.window.end],
        "state": round_.state,
        "reason": round_.reason,
        "version": version,
        "latest_version": round_.estimated_version,
        "restated": [row.model_dump() for row in restated if row.version <= version],
        "restated_since": [row.version for row in restated if row.version > version],
        "program": report.get("program"),
        "partial": round_.partial,
        "second_wave_at": round_.second_wave_at,
        "snapshot": round_.snapshot,
        "strata": strata,
        "cells": report.get("cells", []),
        "estimates": [row.model_dump() for row in estimates],
        "cautions": _cautions(report),
        "answered": _answered(report),
        "pooled_coverage": report.get("pooled_coverage"),
        "answers": answers and answers.model_dump(),
        "agreement": agreement and agreement.model_dump(),
        "segments": _segments(connection, round_, version),
        "evidence": evidence_store.read_evidence(
            connection, round_.id, version, is_compared=_is_compared(connection, round_)
        ),
        "recurring": report.get("recurring", 0),
        "cause": report.get("cause"),
        "challenger": report.get("challenger"),
        "classes": of_classes and of_classes.model_dump(),
        "notices": report.get("notices", []),
        "concerns": _concerns(connection, round_, version, report),
        "bad_rows": _issues(issues, are_bad=True),
        "notes": _issues(issues, are_bad=False),
        "events": round_transitions.read_events(connection, round_.id),
        "settings": round_.settings.model_dump(mode="json"),
    }


def read_report(
    connection: Connection, monitor: str, number: int | None, version: int | None
) -> RoundReport:
    """Read the stored report of a round, the newest one that has a report unless one is named.

    Raises
    ------
    InputRefused
        If there is no such round, or it has no such version, or no report yet.
    """
    round_ = (
        _newest_done(connection, monitor)
        if number is None
        else find_round(connection, monitor, number)
    )
    expected = _version(round_, version)
    if version is None and round_.state is RoundState.ABANDONED:
        expected = report_store.newest_version(connection, round_.id)
    payload = report_store.read_report(connection, round_.id, expected)
    report = with_concerns(connection, round_, payload)
    if report is None:
        raise InputRefused(no_report_text(monitor, round_.number, round_.state))
    return report


def _newest_done(connection: Connection, monitor: str) -> Round:
    done = round_ids.newest_done(connection, monitor)
    if done is None:
        raise InputRefused(no_reports_text(monitor))
    return round_store.read_round(connection, done)


def find_round(connection: Connection, monitor: str, number: int) -> Round:
    """Find a round by its number, or refuse with the numbers that there are."""
    result = round_ids.numbered(connection, monitor, number)
    if result is None:
        there = round_ids.first_and_last(connection, monitor)
        raise InputRefused(no_round_text(monitor, number, there))
    return round_store.read_round(connection, result)


def _version(round_: Round, requested: int | None) -> int:
    newest = round_.estimated_version
    if requested is not None and requested > newest:
        raise InputRefused(no_version_text(round_.monitor, round_.number, requested, newest))
    return requested or newest


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
    """Count irregular rows: the excluded ones, or those that only are noted."""
    return {reason: count for reason, (count, bad) in issues.items() if bad is are_bad}


def _answers(connection: Connection, round_: Round, version: int) -> AnswersRow | None:
    counted = estimate_store.read_counts(connection, [round_.id], version=version or None)
    if round_.id not in counted:
        return None
    times = read_labels(connection, round_).first_answers()
    return answers_row(round_, times, counted[round_.id])


def _concerns(
    connection: Connection, round_: Round, version: int, report: dict[str, Any]
) -> list[str]:
    """Read the concerns of a version, for the newest one those noted since its report too."""
    stated: list[str] = report.get("concerns", [])
    if version != round_.estimated_version:
        return stated
    noted = concern_store.read_concerns(connection, round_.id).values()
    return list(dict.fromkeys([*stated, *noted]))


def _is_compared(connection: Connection, round_: Round) -> bool:
    """Whether there was anything to compare the round with: an earlier one, or a reference."""
    if round_.history_id is None:
        return False
    history = frame_store.read_history(connection, round_.history_id)
    if (history.reference, round_.settings.reference) != (None, None):
        return True
    return round_ids.has_closed_before(connection, history.id, round_.slot)


def _answered(report: dict[str, Any]) -> dict[str, str]:
    """Return the intervals of this round alone if its missing answers were like the others."""
    return answered_texts(ReportedEstimate(**row) for row in report.get("estimates", []))


def _cautions(report: dict[str, Any]) -> dict[str, str]:
    """Describe which metrics of this round alone few labels decide."""
    rows = [row for row in report.get("estimates", []) if (row["basis"], row["estimand"]) == OWN]
    return {
        row.metric: text
        for row in (ReportedEstimate(**row) for row in rows)
        if (text := caution_text(row.caution)) is not None
    }
