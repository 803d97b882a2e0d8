"""A round as a document: titled sections of tables and lines, each line without its full stop.

All readers render the same sections: `pr-monitor show`, status pages, HTML report, MLflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from monitor.domain.alerting import AlertState
from monitor.domain.class_report import ClassReport
from monitor.domain.report import (
    AlertRow,
    AnswersRow,
    EstimateRow,
    EvidenceRow,
    NextRoundRow,
    ReportedEstimate,
    RoundPage,
    RoundReport,
    StratumRow,
)
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.fixed_text import fixed_text
from monitor.presentation.alerts import (
    alert_cause,
    evidence_sentence,
    note_lines,
    recovery_sentence,
    recurring_text,
)
from monitor.presentation.classes import report_table
from monitor.presentation.estimates import (
    BASES,
    WHATEVER,
    answered_text,
    caution_lines,
    caution_text,
    missing_text,
    pooled_intervals_text,
    provisional_line,
    reason_text,
)
from monitor.presentation.limit_comparisons import comparisons_of
from monitor.presentation.numbers import (
    bound_sign,
    interval_text,
    limits_text,
    minute_text,
    plural,
    score_range_text,
    span_text,
)
from monitor.presentation.outcome import headline_metrics, unit_text, window_text
from monitor.presentation.parts.registry import VIEWS
from monitor.presentation.restatements import restated_text
from monitor.presentation.running import crossed_text, running_lines
from monitor.presentation.section import Section, SectionKind
from monitor.presentation.status import note_text, proposal_cautions
from monitor.presentation.table import Table

OWN = ("round", "window")  # Basis and estimand of the estimates of a round alone

_CORRECTED = "this round, corrected for label errors"
_COLUMNS = {
    BASES["round"]: OWN,
    BASES["pooled"]: ("pooled", "rate"),
    _CORRECTED: ("corrected", "window"),
}
_FIRST = ("precision", "recall", "f1")

_BANDS_OF_CELLS = (
    "labels are drawn from score cells, which are finer than these bands, so positive / labeled "
    "is not a band's rate"
)


URGENT = (SectionKind.ATTENTION, SectionKind.CAUSES, SectionKind.EVIDENCE)
"""The sections to read where there is room for few."""


def round_sections(
    report: RoundReport, *, classes: ClassReport | None = None, every_metric: bool = False
) -> list[Section]:
    """Lay out a report, without the sections that would be empty.

    The estimates cover the headline metrics and those with a limit; ``every_metric`` adds the
    others.
    """
    sections = [
        _attention(report.concerns, report),
        Section(SectionKind.CAUSES, "Against earlier rounds", lines=_causes(report)),
        Section(SectionKind.EVIDENCE, "Evidence", lines=_evidence(report)),
        _estimates(report, _metrics(report) if every_metric else headline_metrics(report)),
        _counts(report),
        *filter(None, (view.section(report) for view in VIEWS)),
        _classes(classes),
    ]
    return [section for section in sections if section.tables or section.lines]


def page_sections(page: RoundPage) -> list[Section]:
    """Lay out a round as the store has it: before its first estimate, what was drawn."""
    if page.report is not None:
        return round_sections(page.report, classes=page.classes, every_metric=True)
    early = [] if page.provisional is None else [provisional_line(page.provisional)]
    sections = [
        _attention(page.concerns),
        Section(SectionKind.ESTIMATES, "Estimates", lines=early),
        drawn_section(page),
        _classes(page.classes),
    ]
    return [section for section in sections if section.tables or section.lines]


def drawn_section(page: RoundPage) -> Section:
    """Lay out what a round asks of each stratum; an empty section before the draw."""
    report = page.report
    if report is None:
        return _strata(page.drawn, _drawn_lines(page.drawn), counted=False)
    return _strata(report.strata, _counted_lines(report), counted=True)


def next_round_section(report: RoundReport) -> Section:
    """Describe when the next round is due, what it asks for, and what this one reached."""
    rows = [report.shown(metric, "round") for metric in _FIRST[:2]]
    reached = {
        row.metric: (row.high - row.low) / 2
        for row in rows
        if row is not None and row.low is not None and row.high is not None
    }
    return Section(
        SectionKind.NEXT_ROUND,
        "Next round",
        lines=_next_round_sentences(report.next_round, reached),
    )


def head_lines(page: RoundPage) -> Iterator[str]:
    """Describe which round it is, its window, its version, and any irregular rows."""
    round_, window = page.round, page.round.window
    partial = ", partial" if round_.partial else ""
    yield (
        f"{round_.monitor}, round {round_.number}: {round_.state}{partial}, due "
        f"{minute_text(round_.slot)} UTC"
    )
    yield f"window {minute_text(window.start)} to {minute_text(window.end)} UTC"
    if round_.snapshot:
        yield f"drawn from snapshot {round_.snapshot} of the predictions"
    if page.version:
        program = page.report.program if page.report is not None else None
        by = f", computed by {program}" if program else ""
        yield f"version {page.version} of {round_.estimated_version}{by}"
    yield from map(restated_text, page.restated)
    if page.restated_since:
        yield (
            f"restated since: version {round_.estimated_version} is the newest, this is version "
            f"{page.version} as it was"
        )
    if round_.reason:
        yield f"reason: {round_.reason}"
    for reason, count in page.bad_rows.items():
        yield f"left out: {count} {reason}"
    for reason, count in page.notes.items():
        yield f"note: {note_text(reason, count)}"


def row_notes(report: RoundReport) -> list[str]:
    """State what is worth knowing of the rows, such as what sizes are of if not of items."""
    return [note_text(note, count) for note, count in report.notes.items()]


def facts(report: RoundReport) -> list[str]:
    """State what a round is of, what its intervals are, and how to find it again."""
    counted = (
        f"{unit_text(report)} from {window_text(report)}: {report.size:,}, of them "
        f"{report.flagged:,} flagged; {plural(report.labeled, 'label')}"
    )
    named = {
        "model": report.model,
        "model version": report.model_version,
        "threshold": None if report.threshold is None else f"{report.threshold:g}",
        "rows left out": ", ".join(f"{count:,} {why}" for why, count in report.bad_rows.items()),
        "due": f"{minute_text(report.slot)} UTC",
        "key": report.round_key,
    }
    promise = f"at most one false alarm in {report.false_alarm_every:g} rounds"
    return [
        counted,
        f"{CREDIBLE_LEVEL:.0%} intervals, per metric",
        *([promise] if report.evidence else []),
        *(["partial: too many answers are missing"] if report.partial else []),
        *([_version_text(report)] if report.version > 1 else []),
        *(f"{name}: {value}" for name, value in named.items() if value),
    ]


def answered_texts(report: RoundReport) -> dict[str, str]:
    """Give, by metric, the interval of a round alone if its missing answers were like the others.

    Omits metrics that have no missing answers.
    """
    texts = {row.metric: answered_text(row) for row in _own(report)}
    return {metric: text for metric, text in texts.items() if text is not None}


def caution_texts(report: RoundReport) -> dict[str, str]:
    """Describe, by metric, which few labels decide the estimate of a round alone."""
    texts = {row.metric: caution_text(row.caution) for row in _own(report)}
    return {metric: text for metric, text in texts.items() if text is not None}


def limit_signs(report: RoundReport, metric: str) -> str:
    """Write the limits of a metric for a table, ``none`` without one."""
    limits = [bound_sign(row.side, row.limit) for row in report.evidence if row.metric == metric]
    return ", ".join(limits) or "none"


def _attention(concerns: Iterable[str], report: RoundReport | None = None) -> Section:
    notices = [] if report is None else [row.sentence for row in report.notices]
    return Section(SectionKind.ATTENTION, "What needs a look", lines=[*concerns, *notices])


def _estimates(report: RoundReport, metrics: Sequence[str]) -> Section:
    """Lay out a row for each metric.

    A round alone has the window's own value, a pooled one the rate.
    """
    columns = {
        head: {row.metric: row for row in report.estimates if (row.basis, row.estimand) == shown}
        for head, shown in _COLUMNS.items()
    }
    if not columns[_CORRECTED]:
        del columns[_CORRECTED]
    ordered = [of[metric] for metric in metrics for of in columns.values() if metric in of]
    if not ordered:
        return Section(SectionKind.ESTIMATES, "Estimates")
    rows = []
    for metric in metrics:
        own = [of.get(metric) for of in columns.values()]
        texts = ["-" if row is None else interval_text(row) for row in own]
        rows.append([metric, *texts, limit_signs(report, metric)])
    cautions = caution_texts(report)
    lines = [
        *_bounds(ordered, answered_texts(report)),
        *caution_lines(
            (row.metric, reason_text(row.reason)) for row in ordered if row.point is None
        ),
        *caution_lines((metric, cautions.get(metric)) for metric in metrics),
        *pooled_lines(report),
        *running_lines(report.timeline),
    ]
    if report.provisional is not None:
        lines.append(f"this round was {provisional_line(report.provisional)}")
    table = Table(["metric", *columns, "limit"], rows)
    return Section(SectionKind.ESTIMATES, "Estimates", [table], lines)


def pooled_lines(report: RoundReport) -> list[str]:
    """Describe the intervals with earlier rounds, if there are any."""
    has_pooled = any(row.basis == "pooled" and row.point is not None for row in report.estimates)
    return [pooled_intervals_text(report.pooled_coverage)] if has_pooled else []


def _metrics(report: RoundReport) -> list[str]:
    there = {row.metric for row in report.estimates}
    return [*(name for name in _FIRST if name in there), *sorted(there - set(_FIRST))]


def _own(report: RoundReport) -> list[ReportedEstimate]:
    return [row for row in report.estimates if (row.basis, row.estimand) == OWN]


def _bounds(rows: Iterable[EstimateRow], answered: Mapping[str, str]) -> list[str]:
    return [
        f"{row.metric}: {fixed_text(row.bound_low)} to {fixed_text(row.bound_high)} in this round, "
        f"{WHATEVER}{f'; {answered[row.metric]}' if row.metric in answered else ''}"
        for row in rows
        if (row.basis, row.estimand) == OWN
        and row.metric in {"precision", "recall"}
        and row.bound_low is not None
        and row.bound_high is not None
    ]


def _causes(report: RoundReport) -> list[str]:
    causes = [alert_cause(alert, report) for alert in report.firing]
    changes = {} if report.cause is None else report.cause.changes
    others = changes.keys() - {alert.metric for alert in report.firing}
    causes += [row.sentence for metric, row in changes.items() if metric in others]
    return [cause for cause in dict.fromkeys(causes) if cause]


def _evidence(report: RoundReport) -> list[str]:
    if not report.estimates:
        return []
    lines = []
    for comparison in comparisons_of(report):
        row = comparison.evidence
        states = fired_by(report, row)
        is_revised = AlertState.REVISED in states
        lines.append(
            evidence_sentence(
                row, fires=bool(states), is_revised=is_revised, comparison=comparison.text
            )
        )
        if states and not is_revised:
            lines += filter(None, [crossed_text(report.timeline, row.metric)])
        lines += [
            recovery_sentence(alert, alert.recovery)
            for alert in _alerts_on(report, row)
            if alert.recovery is not None
        ]
    lines += note_lines(report.alerts)
    if report.evidence and report.recurring:
        lines.append(recurring_text(report.recurring, sum(row.planned for row in report.strata)))
    if not report.evidence:
        lines.append("no limit is set, so there is no evidence to gather")
    if report.proposed_limits:
        limits = limits_text(report.proposed_limits)
        lines.append(f"proposed limits, in force once they are in the config: {limits}")
        lines += proposal_cautions(report.proposed_limits, report.proposed_unlabeled)
    return lines


def fired_by(report: RoundReport, row: EvidenceRow) -> set[str]:
    """Return the states of the alerts that fired on a limit in this round; they may have ended."""
    alerts = [one for one in _alerts_on(report, row) if one.limit == row.limit]
    return {alert.state for alert in alerts if alert.fired_in_round == report.round}


def _alerts_on(report: RoundReport, row: EvidenceRow) -> list[AlertRow]:
    return [one for one in report.alerts if (one.metric, one.side) == (row.metric, row.side)]


def _counts(report: RoundReport) -> Section:
    lines = _counted_lines(report)
    if report.answers is not None and (answers := answers_sentence(report.answers)) is not None:
        lines.append(answers)
    lines += [line for view in VIEWS for line in view.lines(report)]
    return _strata(report.strata, lines, counted=True)


def _counted_lines(report: RoundReport) -> list[str]:
    caution = [_BANDS_OF_CELLS] if len(report.cells) > len(report.strata) else []
    return [*caution, *_drawn_lines(report.strata)]


def _strata(rows: Sequence[StratumRow], lines: Iterable[str], *, counted: bool) -> Section:
    head = ["stratum", "scores", "size", "planned", "labeled", "positive", "cannot tell"]
    cells = []
    for row in rows:
        of_labels = [f"{count:,}" for count in (row.labeled, row.positive, row.declined)]
        begin = [row.stratum, score_range_text(row.low, row.high), f"{row.size:,}"]
        cells.append([*begin, f"{row.planned:,}", *(of_labels if counted else ["-"] * 3)])
    return Section(SectionKind.COUNTS, "Counts", [Table(head, cells)] if cells else [], [*lines])


def _drawn_lines(rows: Sequence[StratumRow]) -> Iterator[str]:
    whole = [row.stratum for row in rows if row.size == row.planned > 0]
    if whole:
        yield f"census: every item of {', '.join(whole)} is drawn"


def _classes(report: ClassReport | None) -> Section:
    if report is None:
        return Section(SectionKind.CLASSES, "")
    table = report_table(report)
    tables = [Table(table.head, table.rows)] if table.rows else []
    return Section(SectionKind.CLASSES, table.title, tables, table.lines)


def _version_text(report: RoundReport) -> str:
    newest = report.restated[-1].version if report.restated else None
    why = "restated" if newest == report.version else "corrected by later labels"
    return f"version {report.version}: {why}, earlier ones are in report-v*.json"


def _next_round_sentences(row: NextRoundRow | None, reached: Mapping[str, float]) -> list[str]:
    """Describe the next round; ``reached`` are the half-widths of this one, by metric."""
    if row is None:
        return []
    due = f"It is due {minute_text(row.slot)} UTC"
    waits = f"waits {span_text(timedelta(hours=row.hours))} for them"
    if not row.max_labels:
        return [f"{due}, counts the labels of all items, and {waits}"]
    if not row.margins:
        return [f"{due}, asks for {row.max_labels:,} labels, and {waits}"]
    margins = " and ".join(f"{metric} ±{half:g}" for metric, half in row.margins.items())
    text = " and ".join(
        f"{metric} ±{reached[metric]:.3f}" for metric in row.margins if metric in reached
    )
    return [
        f"{due}, asks for as many labels as {margins} need, {row.max_labels:,} at most, and "
        f"{waits}",
        *([f"This round reached {text}"] if text else []),
    ]


def answers_sentence(row: AnswersRow) -> str | None:
    """Return how many answers are missing and when the others came; None if all are there."""
    if not row.missing:
        return None
    unanswered = row.missing - row.declined
    missing = f"{missing_text(row)}: {unanswered} not given, {row.declined} “cannot tell”"
    ends = (row.half_hours, row.most_hours, row.last_hours)
    if None in ends or row.open_hours is None:
        return missing
    half, most, last = (span_text(timedelta(hours=end or 0.0)) for end in ends)
    return (
        f"{missing}; half of the others came within {half}, nine in ten within {most}, the last "
        f"after {last}; the round closed after {span_text(timedelta(hours=row.open_hours))}"
    )
