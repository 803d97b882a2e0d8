"""The report of a period as a document: sections of tables and lines without full stops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from monitor.domain.alerting import AlertState, StoredAlert
from monitor.domain.model import Window
from monitor.domain.period_report import PeriodReport
from monitor.domain.report import RoundReport
from monitor.domain.sampled_log import AMOUNT_NOTE
from monitor.domain.segments import SegmentRow
from monitor.presentation.alerts import note_text
from monitor.presentation.estimates import BASES, WHATEVER, reason_text
from monitor.presentation.limit_comparisons import LimitState, comparisons_of
from monitor.presentation.numbers import (
    bound_sign,
    interval_text,
    minute_text,
    percent_text,
    plural,
)
from monitor.presentation.outcome import unit_text
from monitor.presentation.parts.agreement import AGREEMENT, agreement_sentence
from monitor.presentation.parts.segments import SEGMENTS
from monitor.presentation.restatements import restated_text
from monitor.presentation.round_document import row_notes
from monitor.presentation.rounds import remarks_text
from monitor.presentation.section import Section, SectionKind
from monitor.presentation.status import round_line
from monitor.presentation.table import Table

_METRICS = ("precision", "recall")
_MOST_SEGMENTS = 40  # rows of a table; more fill pages, and --json has all
_MOST_FINDINGS = 20
_STATES = {
    LimitState.KEEPS: "keeps it",
    LimitState.UNCLEAR: "unclear",
    LimitState.BEYOND: "beyond, no alert",
    LimitState.ALERT: "alert open",
}


def no_rounds_text(
    monitor: str, period: str, window: Window, rounds: Sequence[tuple[int, Window]]
) -> str:
    """Return the sentence that no window ends in a period, and which rounds there are."""
    begin = f"no round of {monitor} ends its window in {period} ({window})"
    if not rounds:
        return f"{begin}; it has no rounds yet"
    (first, oldest), (last, newest) = rounds[0], rounds[-1]
    return (
        f"{begin}; its rounds {first} to {last} end theirs from {minute_text(oldest.end)} to "
        f"{minute_text(newest.end)} UTC"
    )


def period_text(report: PeriodReport) -> str:
    """Describe which time a report is of, and as of when its numbers are."""
    zone = "" if report.time_zone == "UTC" else f", days of {report.time_zone}"
    ongoing = ", not over yet" if report.made_at < report.end else ""
    last = report.rounds[-1:]
    origin = [f"; store {each.store_id}, computed by {each.program}" for each in last]
    return (
        f"{Window(report.start, report.end)}{zone}{ongoing}; numbers as of "
        f"{minute_text(report.made_at)} UTC{''.join(origin)}"
    )


def summary_sentence(report: PeriodReport) -> str:
    """Count the rounds, labels and alerts of a period."""
    labels = sum(each.labeled for each in report.rounds)
    size = sum(each.size for each in report.rounds)
    fired = Counter(str(alert.state) for alert in report.alerts)
    alerts = plural(len(report.alerts), "alert")
    if report.alerts:
        states = (("open", "firing"), ("resolved", "resolved"), ("taken back", "revised"))
        alerts += f" ({', '.join(f'{fired[of]} {word}' for word, of in states if fired[of])})"
    if not report.rounds:
        return f"no round of the period has closed; {alerts}"
    return (
        f"{plural(len(report.rounds), 'round')} closed, with {labels:,} labels of {size:,} "
        f"{unit_text(report.rounds[-1])}; {alerts}"
    )


def period_sections(report: PeriodReport) -> list[Section]:
    """Lay out the report of a period, without the sections that would be empty."""
    sections = [
        Section(SectionKind.EVIDENCE, "Limits", _limits(report)),
        Section(SectionKind.ESTIMATES, "Rounds", _rounds(report), [*_round_lines(report)]),
        Section(SectionKind.ALERTS, "Alerts and what was done", _alerts(report.alerts)),
        Section(SectionKind.CHANGES, "Changes", lines=_changes(report)),
        Section(SEGMENTS.name, "Segments", _segments(report)),
        Section(SectionKind.ATTENTION, "What needs a look", lines=_findings(report)),
        Section(SectionKind.COUNTS, "What is measured", lines=[*_measured(report)]),
    ]
    return [section for section in sections if section.tables or section.lines]


def _limits(report: PeriodReport) -> list[Table]:
    counted: dict[str, Counter[str]] = {}
    for each in report.rounds:
        for of in comparisons_of(each):
            limit = f"{of.evidence.metric} {bound_sign(of.evidence.side, of.evidence.limit)}"
            counted.setdefault(limit, Counter())[of.state] += 1
    rows = [
        [limit, *(str(count[state]) if count[state] else "-" for state in _STATES)]
        for limit, count in counted.items()
    ]
    return [Table(["limit, in how many rounds", *_STATES.values()], rows)] if rows else []


def _rounds(report: PeriodReport) -> list[Table]:
    bases = {
        basis: text
        for basis, text in BASES.items()
        if basis != "corrected" or any(each.shown("recall", basis) for each in report.rounds)
    }
    head = [f"{metric}, {text}" for metric in _METRICS for text in bases.values()]
    rows = [
        [
            str(each.round),
            minute_text(each.window_end),
            f"{each.labeled:,} of {sum(row.planned for row in each.strata):,}",
            *(_number(each, metric, basis) for metric in _METRICS for basis in bases),
            _remarks(each, report.alerts),
        ]
        for each in report.rounds
    ]
    return [Table(["round", "window until", "labels", *head, "remarks"], rows)] if rows else []


def _number(report: RoundReport, metric: str, basis: str) -> str:
    row = report.shown(metric, basis)
    return "-" if row is None else interval_text(row, 2)


def _remarks(report: RoundReport, alerts: Sequence[StoredAlert]) -> str:
    fired = [
        f"alert on {alert.metric}{' (taken back)' * (alert.state is AlertState.REVISED)}"
        for alert in alerts
        if alert.fired_in_round == report.round
    ]
    remarks = remarks_text(
        report.version,
        partial=report.partial,
        worst_case=any(row.is_worst_case for row in report.estimates),
        restated=any(row.own for row in report.restated),
        by_amount=AMOUNT_NOTE in report.notes,
    )
    return ", ".join([*fired, *filter(None, [remarks])]) or "-"


def _round_lines(report: PeriodReport) -> Iterator[str]:
    levels = ", ".join(
        sorted({percent_text(row.level) for each in report.rounds for row in each.estimates})
    )
    if levels:
        yield f"{levels} intervals, each for one metric of one round; times are UTC"
    yield "a round counts in the period in which its window ends"
    if report.rounds and report.rounds[0].window_start < report.start:
        first = report.rounds[0]
        yield (
            f"the window of round {first.round} begins before the period, "
            f"{minute_text(first.window_start)}, and counts whole"
        )
    for number in report.later_rounds:
        yield f"the window of round {number} begins in the period and ends after it; not counted"
    for one in report.uncounted:
        why = f": {one.reason}" if one.reason else ""
        yield f"round {one.round} is {one.state} and not counted{why}"
    if report.skipped:
        yield f"{plural(report.skipped, 'skipped round')} without an estimate"
    for each in report.rounds:
        yield from (f"round {each.round}: {restated_text(row)}" for row in each.restated)
    if any(row.is_worst_case for each in report.rounds for row in each.estimates):
        yield (
            "partial or bounds: answers are missing, and these intervals are worst-case bounds, "
            f"which hold {WHATEVER}"
        )
    yield from _with_rounds(report.rounds, _without_value)


def _without_value(report: RoundReport) -> list[str]:
    return [
        f"{row.metric} {reason_text(row.reason)}"
        for row in report.estimates
        if row.point is None and row.basis == "round" and row.metric in _METRICS
    ]


def _with_rounds(
    rounds: Iterable[RoundReport], texts_of: Callable[[RoundReport], Iterable[str]]
) -> list[str]:
    """Write each text of some rounds once, with the rounds that have it."""
    numbers: dict[str, dict[str, None]] = {}
    for each in rounds:
        for text in texts_of(each):
            numbers.setdefault(text, {})[str(each.round)] = None
    return [f"round{'s' * (len(of) > 1)} {', '.join(of)}: {text}" for text, of in numbers.items()]


def _alerts(alerts: Sequence[StoredAlert]) -> list[Table]:
    rows = [
        [
            f"{alert.metric} {bound_sign(alert.side, alert.limit)}",
            f"round {alert.fired_in_round}, {minute_text(alert.fired_at)}",
            _end(alert),
            "; ".join(map(note_text, alert.notes)) or "no note",
        ]
        for alert in alerts
    ]
    return [Table(["limit", "fired", "ended", "what was done"], rows)] if rows else []


def _end(alert: StoredAlert) -> str:
    if alert.ended_at is None:
        return "still open"
    word = "taken back" if alert.state == AlertState.REVISED else alert.state
    return f"{word} {minute_text(alert.ended_at)}: {alert.ended_why}"


def _changes(report: PeriodReport) -> list[str]:
    lines = [f"round {each.round}: {each.sentence}" for each in report.changes]
    if report.rounds and not lines:
        lines = ["no change of limits, model version or schedule"]
    models = [each.registered or each.model for each in report.rounds]
    versions = [each.model_version for each in report.rounds]
    named = [*dict.fromkeys(name for name in (*models, *versions) if name)]
    return [*lines, *([f"models and versions: {', '.join(named)}"] if named else [])]


def _segments(report: PeriodReport) -> list[Table]:
    """Lay out the last interval of each segment, and its lowest point with its interval."""
    by_segment: dict[str, dict[str, dict[str, list[tuple[int, SegmentRow]]]]] = {}
    for each in report.rounds:
        for row in SEGMENTS.of(each):
            of_value = by_segment.setdefault(row.segment, {}).setdefault(row.value, {})
            of_value.setdefault(row.metric, []).append((each.round, row))
    last = report.rounds[-1].round if report.rounds else 0
    head = [f"{metric}, {which}" for metric in _METRICS for which in ("last", "lowest")]
    tables = []
    for segment, values in by_segment.items():
        more = len(values) - _MOST_SEGMENTS
        rows = [
            [value, _labels_of(by_metric), *_segment_numbers(by_metric, last)]
            for value, by_metric in [*values.items()][:_MOST_SEGMENTS]
        ]
        lines = ["this round alone, by the labels of all segments"]
        lines += [f"{plural(more, 'more segment')} in --json"] if more > 0 else []
        tables.append(Table([segment, "labels", *head], rows, lines=lines))
    return tables


def _labels_of(by_metric: dict[str, list[tuple[int, SegmentRow]]]) -> str:
    rows = next(iter(by_metric.values()))
    return f"{sum(row.labeled for _, row in rows):,}"


def _segment_numbers(
    by_metric: dict[str, list[tuple[int, SegmentRow]]], last: int
) -> Iterator[str]:
    for metric in _METRICS:
        rows = [(number, row) for number, row in by_metric.get(metric, ()) if row.point is not None]
        if not rows:
            yield from ("not estimable", "-")
            continue
        lowest = min(rows, key=lambda each: each[1].point or 0.0)
        for (number, row), is_named in ((rows[-1], rows[-1][0] != last), (lowest, True)):
            yield f"{interval_text(row, 2)}{f', round {number}' if is_named else ''}"


def _findings(report: PeriodReport) -> list[str]:
    """List what needs a look, each finding once, with its rounds."""
    lines = _with_rounds(
        report.rounds, lambda each: [*each.concerns, *(row.sentence for row in each.notices)]
    )
    more = len(lines) - _MOST_FINDINGS
    rest = [f"{more} more in --json and in the reports of the rounds"] if more > 0 else []
    return [*lines[:_MOST_FINDINGS], *rest]


def _measured(report: PeriodReport) -> Iterator[str]:
    yield (
        "precision is the share of flagged items that are positive, recall the share of positive "
        "items that are flagged; both are estimated from random samples that get labels"
    )
    if not report.rounds:
        return
    last = report.rounds[-1]
    yield from (round_line(last.round, note) for note in row_notes(last))
    answers = [each.answers for each in report.rounds if each.answers is not None]
    requested, labeled, declined = (
        sum(getattr(row, name) for row in answers) for name in ("wanted", "labeled", "declined")
    )
    yield f"{labeled:,} of {requested:,} requested labels came; {declined:,} were “cannot tell”"
    if not report.people:
        yield "labels come from a column, not from people"
        return
    yield f"answers of {plural(report.people, 'person').replace('persons', 'people')} count"
    agreed = ((each.round, AGREEMENT.of(each)) for each in report.rounds)
    rows = [(number, row) for number, row in agreed if row is not None]
    if not rows:
        yield "no items were labeled by two people, so nothing is known of how far people agree"
    for number, row in rows[-1:]:
        yield f"agreement, round {number}: {agreement_sentence(row)}"
