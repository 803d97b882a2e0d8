"""What a report shows, part by part: its numbers, tables, lines and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from monitor.domain.alerting import AlertState
from monitor.domain.report import EstimateRow
from monitor.presentation import round_page as lines
from monitor.presentation.alerts import recovery_sentence
from monitor.presentation.challenger import (
    challenger_lines,
    challenger_sentence,
    challenger_tables,
)
from monitor.presentation.estimates import BASES, WHATEVER, caution_text
from monitor.presentation.method_sentences import method_sentences
from monitor.presentation.numbers import (
    NOT_ESTIMABLE,
    bound_sign,
    limits_text,
    minute_text,
)
from monitor.presentation.outcome import (
    best_row,
    headline_metrics,
    holds_for_text,
    labels_text,
    no_curves_text,
)
from monitor.presentation.restatements import last_restated, restated_text
from monitor.presentation.round_page import OWN
from monitor.presentation.rows import next_round_sentences
from monitor.presentation.segments import segment_tables
from monitor.presentation.sentences import capital
from monitor.report.counts_figure import counts_svg
from monitor.report.curve_figures import narrow_curves
from monitor.report.density_figure import density_svg
from monitor.report.figures import metric_svg, timeline_svg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monitor.domain.report import AlertRow, EvidenceRow, RoundReport

_WATCHED = ("precision", "recall")


class Headline(NamedTuple):
    """A metric in large letters: its point, its interval, what it rests on, and its limit."""

    metric: str
    point: str
    interval: str
    basis: str
    limit: str


class SectionTable(NamedTuple):
    """A table, and what to know of it."""

    head: list[str]
    rows: list[list[str]]
    lines: list[str]


class ChallengerSection(NamedTuple):
    """What it is called, how it does in words, and its comparisons, by what each is of."""

    name: str
    summary: str
    tables: list[tuple[str, SectionTable]]
    lines: list[str]


class Parts(NamedTuple):
    """All of a report that is no figure; a part that has no data is empty."""

    restated: list[str]
    attention: list[str]
    estimates: SectionTable
    evidence: list[str]
    cause: str
    counts: SectionTable
    people: list[str]
    challenger: ChallengerSection | None
    segments: list[SectionTable]
    next_round: list[str]
    method: list[str]
    facts: list[str]


def key_numbers(report: RoundReport) -> list[Headline]:
    """Give precision and recall, each by the most labels there are."""
    return [_number(report, metric) for metric in _WATCHED if report.estimates]


def parts_of(report: RoundReport) -> Parts:
    """Gather all tables and lines."""
    page = _page(report)
    head, rows = lines.estimates_table(page)
    own_limits = [_limits(report, row[0]) for row in rows]
    return Parts(
        restated=_restated(report),
        attention=[
            *report.concerns,
            *(row.sentence for row in report.notices),
        ],
        estimates=SectionTable(
            [*head, "limit"],
            [[*row, limit] for row, limit in zip(rows, own_limits, strict=True)],
            [*lines.estimate_lines(page), *lines.pooled_lines(page)],
        ),
        evidence=_evidence_lines(report),
        cause=lines.cause_text(page) or "",
        counts=SectionTable(*lines.strata_table(page), list(lines.strata_lines(page))),
        people=list(lines.people_lines(page)),
        challenger=_challenger(report),
        segments=[
            SectionTable(*table) for table in segment_tables(report.segments, report.unlabeled)
        ],
        next_round=next_round_sentences(report.next_round, _half_widths(report)),
        method=method_sentences(report),
        facts=_facts(report),
    )


def figures_of(report: RoundReport) -> dict[str, Any]:
    """Draw all figures, with what each holds for, and state why some are missing."""
    timeline = report.timeline if len(report.timeline) > 1 else []
    limits = {
        metric: [row.limit for row in report.evidence if row.metric == metric]
        for metric in _WATCHED
    }
    return {
        "timeline": [_inline(timeline_svg(report))] if timeline else [],
        "timeline_narrow": [
            _inline(metric_svg(timeline, metric, limits[metric], monitor=report.monitor))
            for metric in _WATCHED
            if timeline
        ],
        "densities": _drawn(density_svg(report, metric) for metric in _WATCHED),
        "counts_figure": _drawn([counts_svg(report)]),
        "curves": _drawn(narrow_curves(report)),
        "no_curves": no_curves_text(report),
        "holds_for": holds_for_text(report),
        "labels": labels_text(report),
    }


def _drawn(figures: Iterable[bytes | None]) -> list[Markup]:
    return [_inline(figure) for figure in figures if figure is not None]


def _inline(figure: bytes) -> Markup:
    """Place a figure into the page: `monitor.drawing.svg` has escaped every text of it."""
    return Markup(figure.decode())  # noqa: S704


def _page(report: RoundReport) -> dict[str, Any]:
    """Give a report the form in which `pr-monitor show` words a round."""
    shown = headline_metrics(report)
    rows = [row for row in report.estimates if row.metric in shown]
    return {
        "estimates": [row.model_dump(include=set(EstimateRow.model_fields)) for row in rows],
        "answered": lines.answered_texts(rows),
        "cautions": {
            row.metric: caution_text(row.caution)
            for row in rows
            if (row.basis, row.estimand) == OWN
        },
        "pooled_coverage": report.pooled_coverage,
        "evidence": [_evidence(report, row) for row in report.evidence],
        "recurring": report.recurring,
        "cause": report.cause and report.cause.model_dump(),
        "strata": [row.model_dump() for row in report.strata],
        "cells": report.cells,
        "second_wave_at": None,
        "answers": report.answers and report.answers.model_dump(),
        "agreement": report.agreement and report.agreement.model_dump(),
    }


def _evidence(report: RoundReport, row: EvidenceRow) -> dict[str, Any]:
    alert = _open_alert(report, row)
    fires = alert is not None and alert.fired_in_round == report.round
    return row.model_dump() | {"fires": fires, "recovery_rounds": None, "log_r": None}


def _evidence_lines(report: RoundReport) -> list[str]:
    """Return how much speaks against each limit; of an open alert, how far it is from its end."""
    results = []
    for row in report.evidence:
        alert = _open_alert(report, row)
        recovery = None if alert is None else alert.recovery
        if recovery is None or not recovery.rounds:  # what fired, or may fire
            results += lines.evidence_lines({"evidence": [_evidence(report, row)]})
        if alert is not None and recovery is not None:
            results.append(recovery_sentence(alert, recovery))
    return [*results, *lines.recurring_lines(_page(report))]


def _open_alert(report: RoundReport, row: EvidenceRow) -> AlertRow | None:
    limit = (row.metric, row.side, AlertState.FIRING)
    alerts = (one for one in report.alerts if (one.metric, one.side, one.state) == limit)
    return next(alerts, None)


def _restated(report: RoundReport) -> list[str]:
    """Describe of the last restatements who asked for them, and what stood there before."""
    rows, more = last_restated(report.restated)
    answers = [f"version {row.version}: {restated_text(row)}" for row in rows]
    return [*answers, *([more] if more else [])]


def _challenger(report: RoundReport) -> ChallengerSection | None:
    row = report.challenger
    if row is None:
        return None
    return ChallengerSection(
        row.name,
        challenger_sentence(row),
        [(capital(of), SectionTable(head, rows, [])) for of, head, rows in challenger_tables(row)],
        [line for line in challenger_lines(row) if row.comparisons],
    )


def _number(report: RoundReport, metric: str) -> Headline:
    row = best_row(report, metric)
    if row is None or row.point is None:
        return Headline(metric, "?", NOT_ESTIMABLE, "", _limits(report, metric))
    return Headline(
        metric,
        f"{row.point:.2f}",
        f"{row.low:.2f} to {row.high:.2f}",
        f"{BASES[row.basis]}{f', {WHATEVER}' if row.is_worst_case else ''}",
        _limits(report, metric),
    )


def _limits(report: RoundReport, metric: str) -> str:
    limits = [bound_sign(row.side, row.limit) for row in report.evidence if row.metric == metric]
    return ", ".join(limits) or "-"


def _half_widths(report: RoundReport) -> dict[str, float]:
    """Return how near this round's own intervals came to what its margins ask for."""
    rows = [report.estimate(metric, basis="round", estimand="window") for metric in _WATCHED]
    return {
        row.metric: (row.high - row.low) / 2
        for row in rows
        if row is not None and row.low is not None and row.high is not None
    }


def _facts(report: RoundReport) -> list[str]:
    """State what is needed to find the round again."""
    facts = {
        "model": report.model,
        "model version": report.model_version,
        "threshold": None if report.threshold is None else f"{report.threshold:g}",
        "proposed limits": limits_text(report.proposed_limits) if report.proposed_limits else None,
        "rows left out": ", ".join(f"{count:,} {why}" for why, count in report.bad_rows.items()),
        "due": f"{minute_text(report.slot)} UTC",
        "key": report.round_key,
    }
    return [f"{name}: {value}" for name, value in facts.items() if value]
