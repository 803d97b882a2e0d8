"""The description of a run: a sentence for everyone, then small tables, in Markdown."""

from __future__ import annotations

import re

from monitor.domain.report import AlertRow, RoundReport, Status
from monitor.presentation.limit_comparisons import LimitState, comparisons_of
from monitor.presentation.numbers import NOT_ESTIMABLE, bound_sign, capital
from monitor.presentation.outcome import to_do_sentences, verdict_sentence
from monitor.presentation.restatements import restated_lines
from monitor.presentation.round_document import (
    URGENT,
    facts,
    next_round_section,
    pooled_lines,
    round_sections,
    row_notes,
)
from monitor.presentation.section import Section
from monitor.presentation.table import Table
from monitor.tracking.values import best_point, minute

_MOST_CHARACTERS = 7_900  # MLflow cuts a tag at 8,000
_MOST_ROWS = 16
_LONGEST_NAME = 40
_VERDICT = 64  # characters that a line has room for beside the links
_GAP = "&emsp;"
_OMITTED = "\n\nThe description of the round has more."
_MARKUP = re.compile(
    r"[\\`*\[\]<>|~]"  # wherever it stands
    r"|(?<!\w)_|_(?!\w)"  # not inside a name
    r"|:(?=//)|(?<=\bwww)\.|(?<!\S)@",
    re.IGNORECASE,
)


def describe(report: RoundReport, picture: str = "", links: str = "") -> str:
    """Write the whole description; ``picture`` and ``links`` are Markdown too."""
    sections, notes = round_sections(report), row_notes(report)
    parts = [
        escaped(verdict_sentence(report)),
        f"**What to do:** {escaped(' '.join(to_do_sentences(report)))}",
        *map(_sentence, restated_lines(report.restated)),
        *map(_alert, report.alerts),
        *(_section(section) for section in sections if section.kind in URGENT),
        " ".join(["**Notes:**", *map(_sentence, notes)]) if notes else "",
        _sentence("; ".join([*facts(report), *pooled_lines(report)])),
        _section(next_round_section(report)),
        picture,
        *(_section(section) for section in sections if section.kind not in URGENT),
    ]
    text = "\n\n".join(part for part in parts if part)
    room = _MOST_CHARACTERS - len(links)
    return "\n\n".join(part for part in (as_far_as_fits(text, room), links) if part)


def as_far_as_fits(text: str, room: int) -> str:
    """Drop the last paragraphs and tables of a description that is too long."""
    if len(text) <= room:
        return text
    retained = text[: room - len(_OMITTED)].rpartition("\n\n")[0]
    return retained + _OMITTED


def verdict(report: RoundReport) -> str:
    """Write the monitor's status in a line: ``**OK.** Precision 0.91, recall 0.67``."""
    firing = report.firing
    if not report.estimates:
        return f"**{report.status.upper()}.** No estimate in round {report.round}"
    if not firing:
        return _without_alert(report)
    since = f"ALERT since round {min(row.fired_in_round for row in firing)}."
    limits = [f"{_short(report, row.metric, row.limit)} (limit {row.limit:.3g})" for row in firing]
    return f"**{since}** {capital(_as_many(limits, _VERDICT - len(since) - 1))}"


def _without_alert(report: RoundReport) -> str:
    """Write ``OK`` only where every metric keeps its limit by the intervals that people see."""
    comparisons = comparisons_of(report) if report.status is Status.OK else []
    beyond = [each.evidence for each in comparisons if each.state is LimitState.BEYOND]
    if beyond:
        begin = "Beyond limit, not yet an alert."
        parts = [
            f"{_short(report, row.metric, row.limit)} (limit {row.limit:.3g})" for row in beyond
        ]
        return f"**{begin}** {capital(_as_many(parts, _VERDICT - len(begin) - 1))}"
    is_unclear = any(each.state is LimitState.UNCLEAR for each in comparisons)
    begin = "No alert, limits unclear" if is_unclear else report.status.upper()
    metrics = ", ".join(_short(report, metric) for metric in ("precision", "recall"))
    return f"**{begin}.** {capital(metrics)}"


def _as_many(parts: list[str], room: int) -> str:
    for shown in range(len(parts), 0, -1):
        more = len(parts) - shown
        text = ", ".join([*parts[:shown], *([f"{more} more"] if more else [])])
        if len(text) <= room:
            return text
    return text


def _short(report: RoundReport, metric: str, limit: float | None = None) -> str:
    point, name = best_point(report, metric), metric.replace("_", " ")
    if point is None:
        return f"{name} {NOT_ESTIMABLE}"
    return f"{name} {point:.{2 if limit is None or round(point, 2) != limit else 3}f}"


def escaped(text: str) -> str:
    """Keep text from starting markup; MLflow also makes links of addresses and ``@names``."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", " ".join(text.split()))


def table_text(head: list[str], rows: list[list[str]]) -> str:
    """Write a table; MLflow's page sets cells edge to edge and ignores alignment, hence _GAP."""
    if not rows:
        return ""
    lines = [f"{_GAP} | ".join(cells) for cells in [head, *rows]]
    lines.insert(1, " | ".join(["---"] * len(head)))
    return "\n".join(f"| {line} |" for line in lines)


def _alert(row: AlertRow) -> str:
    limit = f"{row.metric} {bound_sign(row.side, row.limit)}"
    return f"**Alert {row.state}:** limit {limit}, fired in round {row.fired_in_round}{_at(row)}."


def _at(row: AlertRow) -> str:
    """Describe when an alert fired and its window; empty for older reports."""
    if row.fired_at is None or row.window_start is None or row.window_end is None:
        return ""
    window = f"{minute(row.window_start)} to {minute(row.window_end)}"
    return f" on {minute(row.fired_at)}, by the predictions of {window}"


def _section(section: Section) -> str:
    lines = " ".join(map(_sentence, section.lines))
    if not section.tables:
        return f"**{escaped(section.title)}:** {lines}" if lines else ""
    parts = [f"**{escaped(section.title)}**", *map(_table, section.tables), lines]
    return "\n\n".join(part for part in parts if part)


def _table(table: Table) -> str:
    more = len(table.rows) - _MOST_ROWS
    rows = [
        [escaped(name[:_LONGEST_NAME]), *map(escaped, cells)]
        for name, *cells in table.rows[:_MOST_ROWS]
    ]
    below = [*table.lines, *([f"{more} more rows are in report.json"] if more > 0 else [])]
    parts = [
        _sentence(table.title) if table.title else "",
        table_text([escaped(cell) for cell in table.head], rows),
        " ".join(map(_sentence, below)),
    ]
    return "\n\n".join(part for part in parts if part)


def _sentence(line: str) -> str:
    text = escaped(capital(line))
    return text if text.endswith(".") else f"{text}."
