"""The description of a run: a sentence for everyone, then small tables, in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from monitor.domain.alerting import AlertState, EvidenceState
from monitor.fixed_text import fixed_text
from monitor.presentation.alerts import alert_cause, recovery_sentence
from monitor.presentation.challenger import ONE_ANALYSIS
from monitor.presentation.estimates import BASES as HEADS
from monitor.presentation.estimates import pooled_intervals_text
from monitor.presentation.evidence import LEARNS
from monitor.presentation.numbers import (
    NOT_ESTIMABLE,
    bound_sign,
    interval_text,
    range_text,
)
from monitor.presentation.outcome import headline_metrics, to_do_sentences, verdict_sentence
from monitor.presentation.restatements import last_restated, restated_text
from monitor.presentation.round_page import answered_texts
from monitor.presentation.rows import (
    BANDS_OF_CELLS,
    OWN_LABELS,
    agreement_sentence,
    answers_sentence,
    next_round_sentences,
    score_range_text,
)
from monitor.presentation.segments import missing_text
from monitor.presentation.sentences import capital
from monitor.tracking.challenger import sentence_of, table_of
from monitor.tracking.values import BASES, CORRECTED, FIRST, best_point, minute

if TYPE_CHECKING:
    from monitor.domain.report import AlertRow, EstimateRow, RoundReport, SegmentRow

_MOST_STRATA = 24  # MLflow cuts a tag at 8,000 characters
_MOST_SEGMENTS = 16  # shared by all segment columns
_LONGEST_VALUE = 40
_VERDICT = 64  # characters that a line has room for beside the links
_GAP = "&emsp;"
_OMITTED = "\n\nThe description of the round has more."
_MARKUP = re.compile(
    r"[\\`*\[\]<>|~]"  # wherever it stands
    r"|(?<!\w)_|_(?!\w)"  # not inside a name
    r"|:(?=//)|(?<=\bwww)\.|(?<!\S)@",
    re.IGNORECASE,
)


def describe(report: RoundReport, picture: str = "", model: str = "") -> str:
    """Write the whole description; the same report always gives the same text.

    ``picture`` is Markdown too: it comes after what a person has to know or do. So is ``model``,
    which comes last.
    """
    parts = [
        escaped(verdict_sentence(report)),
        f"**What to do:** {escaped(' '.join(to_do_sentences(report)))}",
        *_restated(report),
        *_alerts(report),
        *_concerns(report),
        *_notices(report),
        *_cause(report),
        *_challenger(report),
        _facts(report),
        *_next_round(report),
        picture,
        *_learning(report),
        _estimates_table(report),
        *_missing(report),
        *_corrected(report),
        *_challenger_table(report),
        *_agreement(report),
        *_proposal(report),
        *_segments(report),
        _strata_table(report),
        model,
    ]
    return "\n\n".join(part for part in parts if part)


def as_far_as_fits(text: str, room: int) -> str:
    """Leave out the last paragraphs and tables of a description that is too long."""
    if len(text) <= room:
        return text
    retained = text[: room - len(_OMITTED)].rpartition("\n\n")[0]
    return retained + _OMITTED


def verdict(report: RoundReport) -> str:
    """Write how the monitor stands, in the one line that a page of MLflow has for it.

    Such as ``**ALERT since round 17.** Recall 0.52 (limit 0.68)`` or ``**OK.** Precision 0.91,
    recall 0.67``.
    """
    firing = [row for row in report.alerts if row.state == AlertState.FIRING]
    if not report.estimates:
        return f"**{report.status.upper()}.** No estimate in round {report.round}"
    if not firing:
        metrics = ", ".join(_short(report, metric) for metric in ("precision", "recall"))
        return f"**{report.status.upper()}.** {capital(metrics)}"
    since = f"ALERT since round {min(row.fired_in_round for row in firing)}."
    limits = [f"{_short(report, row.metric, row.limit)} (limit {row.limit:.3g})" for row in firing]
    return f"**{since}** {capital(_as_many(limits, _VERDICT - len(since) - 1))}"


def sentence(report: RoundReport) -> str:
    """Write the sentence of the round as Markdown."""
    return escaped(report.sentence)


def _as_many(parts: list[str], room: int) -> str:
    """Write as many parts as there is room for, at least one, and how many more there are."""
    for shown in range(len(parts), 0, -1):
        more = len(parts) - shown
        text = ", ".join([*parts[:shown], *([f"{more} more"] if more else [])])
        if len(text) <= room:
            return text
    return text


def _short(report: RoundReport, metric: str, limit: float | None = None) -> str:
    """Write the best estimate, so finely that it is not taken for its limit."""
    point, name = best_point(report, metric), metric.replace("_", " ")
    if point is None:
        return f"{name} {NOT_ESTIMABLE}"
    return f"{name} {point:.{2 if limit is None or round(point, 2) != limit else 3}f}"


def escaped(text: str) -> str:
    """Keep text from ending a table cell or starting markup, such as a link.

    MLflow's page also makes links of bare addresses and of ``@names``.
    """
    return _MARKUP.sub(lambda match: f"\\{match[0]}", " ".join(text.split()))


def table_text(head: list[str], rows: list[list[str]]) -> str:
    """Write a table; MLflow's page sets cells edge to edge and ignores alignment, hence _GAP."""
    if not rows:
        return ""
    lines = [f"{_GAP} | ".join(cells) for cells in [head, *rows]]
    lines.insert(1, " | ".join(["---"] * len(head)))
    return "\n".join(f"| {line} |" for line in lines)


def _restated(report: RoundReport) -> list[str]:
    """Describe of the last restatements who asked for them, and what stood there before."""
    rows, more = last_restated(report.restated)
    return [
        *(f"**Version {row.version}:** {escaped(restated_text(row))}." for row in rows),
        *([f"{more}."] if more else []),
    ]


def _alerts(report: RoundReport) -> list[str]:
    return [_alert(row) for row in report.alerts]


def _alert(row: AlertRow) -> str:
    limit = f"{row.metric} {bound_sign(row.side, row.limit)}"
    fired = f"**Alert {row.state}:** limit {limit}, fired in round {row.fired_in_round}{_at(row)}."
    if row.recovery is None:
        return fired
    return f"{fired} {capital(recovery_sentence(row, row.recovery))}"


def _at(row: AlertRow) -> str:
    """Describe when an alert fired and of when its predictions are; nothing in older reports."""
    if row.fired_at is None or row.window_start is None or row.window_end is None:
        return ""
    window = f"{minute(row.window_start)} to {minute(row.window_end)}"
    return f" on {minute(row.fired_at)}, by the predictions of {window}"


def _concerns(report: RoundReport) -> list[str]:
    return [f"**Needs a look:** {escaped(sentence)}." for sentence in report.concerns]


def _notices(report: RoundReport) -> list[str]:
    return [f"**Notice, {row.kind}:** {escaped(row.sentence)}." for row in report.notices]


def _cause(report: RoundReport) -> list[str]:
    """Describe why metrics with an alert are not what they were, then whether precision moved."""
    firing = [alert for alert in report.alerts if alert.state == AlertState.FIRING]
    causes = [alert_cause(alert, report) for alert in firing]
    if all(alert.metric != "precision" for alert in firing) and report.cause is not None:
        causes.append(report.cause.sentence)
    notified = " ".join(f"{capital(escaped(cause))}." for cause in dict.fromkeys(causes) if cause)
    return [f"**Against earlier rounds:** {notified}"] if notified else []


def _challenger(report: RoundReport) -> list[str]:
    sentence = sentence_of(report)
    return [] if sentence is None else [f"**Compared:** {escaped(sentence)}."]


def _challenger_table(report: RoundReport) -> list[str]:
    table = table_of(report)
    if table is None:
        return []
    return [f"Challenger, {table.title}: {ONE_ANALYSIS}.", table_text(table.head, table.rows)]


def _next_round(report: RoundReport) -> list[str]:
    """Describe when the next round is due and what it asks for; nothing in older reports."""
    sentences = next_round_sentences(report.next_round, {})
    return [f"**Next round:** {escaped(sentence)}." for sentence in sentences]


def _learning(report: RoundReport) -> list[str]:
    """Name the limits that this round has no evidence on, as there was nothing to compare with."""
    limits = [
        f"{row.metric} {bound_sign(row.side, row.limit)}"
        for row in report.evidence
        if row.state == EvidenceState.LEARNING
    ]
    return [f"**Limits {', '.join(limits)}:** {LEARNS}."] if limits else []


def _estimates_table(report: RoundReport) -> str:
    rows = [
        [
            metric.replace("_", " "),
            *(_estimate(report.estimate(metric, basis=b, estimand=e)) for b, e in BASES),
            _limit(report, metric),
        ]
        for metric in headline_metrics(report)
    ]
    return table_text(["metric", *(HEADS[basis] for basis, _ in BASES), "limit"], rows)


def _estimate(row: EstimateRow | None) -> str:
    if row is None:
        return "–"  # noqa: RUF001  a dash for "nothing here"
    if row.point is None or row.low is None or row.high is None:
        return f"{NOT_ESTIMABLE}: {escaped(row.reason or 'too few labels')}"
    return f"**{fixed_text(row.point)}** {range_text(row.low, row.high)}"


def _limit(report: RoundReport, metric: str) -> str:
    limits = [bound_sign(row.side, row.limit) for row in report.evidence if row.metric == metric]
    return ", ".join(limits) or "none"


def _missing(report: RoundReport) -> list[str]:
    """Return how many items have no answer, and how far they could move the intervals."""
    answers = None if report.answers is None else answers_sentence(report.answers)
    sentences = [] if answers is None else [f"{answers}."]
    bounds = _bounds(report)
    if bounds:
        missing = sum(row.unanswered + row.declined for row in report.strata)
        sentences.append(
            f"Whatever the {missing} missing answers are, this round has {', '.join(bounds)}."
        )
    answered = answered_texts(report.estimates)
    like_others = [f"{name} {answered[name]}" for name in FIRST if name in answered]
    sentences += [f"{capital('; '.join(like_others))}."] if like_others else []
    return [" ".join(sentences)] if sentences else []


def _bounds(report: RoundReport) -> list[str]:
    """Bounds of precision and recall of the first basis, where answers are missing."""
    basis, estimand = BASES[0]
    rows = [
        report.estimate(metric, basis=basis, estimand=estimand)
        for metric in ("precision", "recall")
    ]
    return [
        f"{row.metric} {range_text(row.bound_low, row.bound_high)}"
        for row in rows
        if row is not None and row.bound_low is not None and row.bound_high is not None
    ]


def _corrected(report: RoundReport) -> list[str]:
    """Describe what the audit of the labels makes of precision and recall."""
    basis, estimand = CORRECTED
    rows = [
        report.estimate(metric, basis=basis, estimand=estimand)
        for metric in ("precision", "recall")
    ]
    values = [f"{row.metric.replace('_', ' ')} {_estimate(row)}" for row in rows if row is not None]
    return [f"Corrected for label errors, this round has {', '.join(values)}."] if values else []


def _agreement(report: RoundReport) -> list[str]:
    return [] if report.agreement is None else [f"Labels: {agreement_sentence(report.agreement)}."]


def _proposal(report: RoundReport) -> list[str]:
    if not report.proposed_limits:
        return []
    limits = ", ".join(f"{metric} ≥ {at:.3g}" for metric, at in report.proposed_limits.items())
    return [f"Proposed limits, in force once they stand in the config: {limits}."]


def _segments(report: RoundReport) -> list[str]:
    """Write a table per segment column, of its largest values."""
    columns = list(dict.fromkeys(row.segment for row in report.segments))
    caution = [f"{missing_text(report.unlabeled)}."] if columns and report.unlabeled else []
    return caution + [
        _segment_table(
            [row for row in report.segments if row.segment == column],
            most=_MOST_SEGMENTS // len(columns),
        )
        for column in columns
    ]


def _segment_table(rows: list[SegmentRow], *, most: int) -> str:
    by_value: dict[str, list[SegmentRow]] = {}
    for row in rows:
        by_value.setdefault(row.value, []).append(row)
    shown = list(by_value.items())[:most]
    table = table_text(
        [escaped(rows[0].segment), "size", "labeled", *(row.metric for row in shown[0][1])],
        [cells for value, of_value in shown for cells in _segment_cells(value, of_value)],
    )
    remaining = len(by_value) - len(shown)
    return f"{table}\n\n{remaining} more segments are in segments.json." if remaining else table


def _segment_cells(value: str, rows: list[SegmentRow]) -> list[list[str]]:
    """Write a line of a segment, and one from its labels alone where the round kept them."""
    counts = (f"{rows[0].size:,}", f"{rows[0].labeled:,}")
    lines = [[escaped(value[:_LONGEST_VALUE]), *counts, *map(interval_text, rows)]]
    if any(row.alone.point is not None for row in rows):
        lines.append([OWN_LABELS, "", "", *(interval_text(row.alone) for row in rows)])
    return lines


def _strata_table(report: RoundReport) -> str:
    head = ["stratum", "scores", "size", "wanted", "labeled", "positive", "cannot tell"]
    rows = [
        [
            escaped(row.stratum),
            score_range_text(row.low, row.high),
            *(f"{value:,}" for value in (row.size, row.planned, row.labeled)),
            *(f"{value:,}" for value in (row.positive, row.declined)),
        ]
        for row in report.strata[:_MOST_STRATA]
    ]
    parts = ["**Labels by stratum:**", table_text(head, rows)] if rows else []
    remaining = len(report.strata) - _MOST_STRATA
    if remaining > 0:
        parts.append(f"{remaining} more strata are in counts.json.")
    if len(report.cells) > len(report.strata):
        parts.append(f"{capital(BANDS_OF_CELLS)}; counts.json has the cells.")
    return "\n\n".join(parts)


def _facts(report: RoundReport) -> str:
    facts = [
        f"Predictions from {minute(report.window_start)} to {minute(report.window_end)}: "
        f"{report.size:,}, of them {report.flagged:,} flagged and "
        f"{sum(row.labeled for row in report.strata):,} labeled",
        f"{report.level:.0%} intervals, per metric",
        pooled_intervals_text(report.pooled_coverage),
    ]
    if report.evidence:
        facts.append(f"at most one false alarm in {report.false_alarm_every:g} rounds")
    if report.partial:
        short = all(row.first_wave == row.planned for row in report.strata)
        why = "its second wave never went out" if short else "too many answers are missing"
        facts.append(f"partial: {why}")
    if report.bad_rows:
        counted = ", ".join(f"{escaped(why)} {n:,}" for why, n in report.bad_rows.items())
        facts.append(f"rows left out: {counted}")
    if report.version > 1:
        newest = report.restated[-1].version if report.restated else None
        why = "restated" if newest == report.version else "corrected by later labels"
        facts.append(f"version {report.version}: {why}, earlier ones are in report-v*.json")
    return "; ".join(facts) + "."
