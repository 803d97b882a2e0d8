"""What `pr-monitor rounds` lists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.views.printing import echo, echo_table, width
from monitor.domain.report import EstimateRow, RoundReport
from monitor.presentation.numbers import interval_text, plural
from monitor.presentation.round_document import (
    answered_texts,
    caution_texts,
    fired_by,
    head_lines,
    page_sections,
)
from monitor.presentation.rounds import remarks_text
from monitor.presentation.section import Section
from monitor.presentation.setting_changes import change_sentence, difference_text
from monitor.presentation.table import table_lines

if TYPE_CHECKING:
    from monitor.domain.report import RoundPage
    from monitor.domain.round import Round
    from monitor.rounds.round_page import ListedRounds, Row

HEAD = ["due (UTC)", "round", "state"]
ORDER = [(metric, basis) for metric in ("precision", "recall") for basis in ("round", "pooled")]


_UNCOUNTED = dict.fromkeys(("labeled", "positive", "declined"))
_WITHOUT_REPORT: dict[str, Any] = {
    **{name: [] for name in ("estimates", "segments", "evidence", "alerts", "notices")},
    **{name: [] for name in ("cells", "checks")},
    **dict.fromkeys(("pooled_coverage", "answers", "agreement", "cause", "challenger", "judge")),
    "program": None,
    "recurring": 0,
}


def echo_round(page: RoundPage) -> None:
    """Print a round's page."""
    for line in head_lines(page):
        echo(line, indent="  ")
    for section in page_sections(page):
        _echo_section(section)
    echo()
    for event in page.events:
        echo(f"{minute(event['at'])}  {event['after']}: {event['reason']}", indent=" " * 18)


def page_json(page: RoundPage) -> dict[str, Any]:
    """Give a round's page to a program."""
    plain = ("version", "restated_since", "concerns", "bad_rows", "notes", "events")
    return {
        **_of_round(page.round),
        "latest_version": page.round.estimated_version,
        "snapshot": page.round.snapshot,
        "settings": page.round.settings.model_dump(mode="json"),
        **{name: getattr(page, name) for name in plain},
        "restated": [row.model_dump() for row in page.restated],
        "provisional": page.provisional and page.provisional.model_dump(),
        "strata": [row.model_dump() | _UNCOUNTED for row in page.drawn],
        "classes": page.classes and page.classes.model_dump(),
        **_report_json(page.report),
    }


def _of_round(round_: Round) -> dict[str, Any]:
    return {
        "monitor": round_.monitor,
        "round": round_.number,
        "slot": round_.slot,
        "window": [round_.window.start, round_.window.end],
        "state": round_.state,
        "partial": round_.partial,
        "reason": round_.reason,
    }


def _report_json(report: RoundReport | None) -> dict[str, Any]:
    if report is None:
        return _WITHOUT_REPORT | {"cautions": {}, "answered": {}}
    names = set(EstimateRow.model_fields)
    return {
        **report.model_dump(include={*_WITHOUT_REPORT, "strata", "provisional"}),
        "estimates": [row.model_dump(include=names) for row in report.estimates],
        "evidence": [
            row.model_dump() | {"fires": bool(fired_by(report, row))} for row in report.evidence
        ],
        "cautions": caution_texts(report),
        "answered": answered_texts(report),
    }


def _echo_section(section: Section) -> None:
    echo()
    echo(section.title)
    for at, table in enumerate(section.tables):
        if at:
            echo()
        if table.title:
            echo(f"  {table.title}", indent="  ")
        echo_table(table.head, table.rows, right=table.numbers)
        for line in table.lines:
            echo(line, indent="  ")
    for line in section.lines:
        echo(line, indent="  ")


def round_json(row: Row) -> dict[str, Any]:
    """Return a round for programs."""
    round_ = row.round
    return {
        **_of_round(round_),
        "version": round_.estimated_version,
        "restated": row.restated,
        "history": round_.history_id,
        "begins": [
            {"what": change.begins, "settings": [*map(difference_text, change.differences)]}
            for change in row.changes
        ],
        "estimates": [estimate.model_dump() for estimate in row.estimates],
    }


def echo_rounds(listed: ListedRounds) -> None:
    """Print a line for each round; on a terminal, a table for each monitor that fits into it.

    Then what changed between rounds, and what the list omits.
    """
    if not listed.any_rounds:
        echo("no rounds yet; pr-monitor run-once opens the one that is due")
        return
    if listed.rows:
        _echo_tables(listed.rows)
    for row in listed.rows:
        for change in row.changes:
            name, number = row.round.monitor, row.round.number
            echo(f"{name}: round {number} {change_sentence(change)}", indent="  ")
    if listed.has_older:
        echo("older rounds not shown; --last NUMBER lists more of each monitor")
    if listed.hidden:
        echo(f"{plural(listed.hidden, 'skipped round')} not shown; --skipped shows them too")


def _echo_tables(rows: Sequence[Row]) -> None:
    columns = width()
    if columns is None:
        head = ["monitor", *HEAD, *_long_names()]
        table = [[row.round.monitor, *_long_row(row)] for row in rows]
        print("\n".join(table_lines(head, table, right="2")))  # noqa: T201
        return
    ordered = sorted(rows, key=lambda row: row.round.monitor)
    tables = [
        "\n".join([name, *_fitting(list(group), columns)])
        for name, group in groupby(ordered, key=lambda row: row.round.monitor)
    ]
    print("\n\n".join(tables))  # noqa: T201


def _fitting(rows: Sequence[Row], columns: int) -> list[str]:
    wide = table_lines([*HEAD, *_long_names()], [_long_row(row) for row in rows], right="1")
    if max(map(len, wide)) <= columns:
        return wide
    head = [*HEAD, "basis", "precision", "recall"]
    return table_lines(head, [line for row in rows for line in _two_lines(row)], right="1")


def _long_names() -> list[str]:
    return [f"{metric} ({basis})" for metric, basis in ORDER]


def _long_row(row: Row) -> list[str]:
    round_, more = row.round, _more(row)
    state = f"{round_.state}, {more}" if more else str(round_.state)
    return [minute(round_.slot), str(round_.number), state, *_numbers(row.estimates).values()]


def _two_lines(row: Row) -> list[list[str]]:
    round_, numbers = row.round, _numbers(row.estimates)
    first = [minute(round_.slot), str(round_.number), str(round_.state)]
    if not row.estimates:
        return [[*first, "-", "-", "-"]]
    second = [_more(row), "", ""]
    return [
        [*begin, basis, numbers["precision", basis], numbers["recall", basis]]
        for begin, basis in ((first, "round"), (second, "pooled"))
    ]


def _more(row: Row) -> str:
    version, partial = row.round.estimated_version, row.round.partial
    worst_case = any(one.is_worst_case for one in row.estimates)
    return remarks_text(version, partial=partial, worst_case=worst_case, restated=row.restated)


def _numbers(estimates: Sequence[EstimateRow]) -> dict[tuple[str, str], str]:
    result = {(row.metric, row.basis): interval_text(row, 2) for row in estimates}
    return {key: result.get(key, "-") for key in ORDER}
