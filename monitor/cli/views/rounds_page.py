"""What `pr-monitor rounds` and `show` print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.domain.report import EstimateRow, RoundReport
from monitor.presentation.numbers import interval_text, plural
from monitor.presentation.parts.registry import NO_PARTS
from monitor.presentation.round_document import (
    answered_texts,
    caution_texts,
    fired_by,
    head_lines,
    page_sections,
)
from monitor.presentation.section import section_parts
from monitor.presentation.setting_changes import change_sentence, difference_text
from monitor.presentation.table import Table, table_lines
from monitor.results.result import dump

if TYPE_CHECKING:
    from monitor.domain.report import RoundPage
    from monitor.domain.round import Round
    from monitor.rounds.round_page import ListedRounds, Row

HEAD = ["due (UTC)", "round", "state"]
ORDER = [(metric, basis) for metric in ("precision", "recall") for basis in ("round", "pooled")]
_LONG_NAMES = [f"{metric} ({basis})" for metric, basis in ORDER]


_WITHOUT_REPORT: dict[str, Any] = {
    **{
        name: None if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in RoundReport.model_fields.items()
    },
    **{name: [] for name in ("estimates", "evidence", "alerts")},
    **NO_PARTS,
}
"""What a program reads of a report that is still to come."""
_UNCOUNTED = dict.fromkeys(("labeled", "positive", "declined"))


def page_document(page: RoundPage) -> Iterator[str | Table]:
    """Return a round's page: which round it is, its sections, and what happened to it."""
    yield from head_lines(page)
    yield from section_parts(page_sections(page))
    yield ""
    for event in page.events:
        yield f"{minute(event['at'])}  {event['after']}: {event['reason']}"


def page_json(page: RoundPage) -> dict[str, Any]:
    """Return a round's page for programs: its report, and what the page has besides."""
    own, report = dump(page), page.report
    of_report, drawn = own.pop("report"), own.pop("drawn")
    own |= _of_round(page.round) | {
        "latest_version": page.round.estimated_version,
        "snapshot": page.round.snapshot,
        "settings": page.round.settings.model_dump(mode="json"),
    }
    if report is None:
        strata = [row | _UNCOUNTED for row in drawn]
        return {**_WITHOUT_REPORT, **own, "strata": strata, "cautions": {}, "answered": {}}
    del own["provisional"]  # a report has what its round began with
    evidence = [dump(row) | {"fires": bool(fired_by(report, row))} for row in report.evidence]
    texts = {"cautions": caution_texts(report), "answered": answered_texts(report)}
    return {**NO_PARTS, **of_report, **own, "evidence": evidence, **texts}


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


def round_json(row: Row) -> dict[str, Any]:
    """Return a round for programs."""
    round_ = row.round
    return {
        **_of_round(round_),
        "version": round_.estimated_version,
        "restated": row.restated,
        "by_amount": round_.settings.by_amount,
        "history": round_.history_id,
        "begins": [
            {"what": change.begins, "settings": [*map(difference_text, change.differences)]}
            for change in row.changes
        ],
        "estimates": row.estimates,
    }


def rounds_document(listed: ListedRounds, columns: int | None) -> Iterator[str | Table]:
    """Return a line for each round; in ``columns``, a table for each monitor that fits into them.

    Then what changed between rounds, and what the list omits.
    """
    if not listed.any_rounds:
        yield "no rounds yet; pr-monitor run-once opens the one that is due"
        return
    if listed.rows:
        yield from _tables(listed.rows, columns)
    for row in listed.rows:
        for change in row.changes:
            yield f"{row.round.monitor}: round {row.round.number} {change_sentence(change)}"
    if listed.has_older:
        yield "older rounds not shown; --last NUMBER lists more of each monitor"
    if listed.hidden:
        yield f"{plural(listed.hidden, 'skipped round')} not shown; --skipped shows them too"


def _tables(rows: Sequence[Row], columns: int | None) -> Iterator[str | Table]:
    if columns is None:
        head = ["monitor", *HEAD, *_LONG_NAMES]
        yield Table(head, [[row.round.monitor, *_long_row(row)] for row in rows], right="2")
        return
    ordered = sorted(rows, key=lambda row: row.round.monitor)
    for index, (name, group) in enumerate(groupby(ordered, key=lambda row: row.round.monitor)):
        yield from ["", name] if index else [name]
        yield _fitting(list(group), columns)


def _fitting(rows: Sequence[Row], columns: int) -> Table:
    wide = Table([*HEAD, *_LONG_NAMES], [_long_row(row) for row in rows], right="1")
    if max(map(len, table_lines(wide.head, wide.rows))) <= columns:
        return wide
    head = [*HEAD, "basis", "precision", "recall"]
    return Table(head, [line for row in rows for line in _two_lines(row)], right="1")


def _long_row(row: Row) -> list[str]:
    round_, more = row.round, row.remarks
    state = f"{round_.state}, {more}" if more else str(round_.state)
    return [minute(round_.slot), str(round_.number), state, *_numbers(row.estimates).values()]


def _two_lines(row: Row) -> list[list[str]]:
    round_, numbers = row.round, _numbers(row.estimates)
    first = [minute(round_.slot), str(round_.number), str(round_.state)]
    if not row.estimates:
        return [[*first, "-", "-", "-"]]
    second = [row.remarks, "", ""]
    return [
        [*begin, basis, numbers["precision", basis], numbers["recall", basis]]
        for begin, basis in ((first, "round"), (second, "pooled"))
    ]


def _numbers(estimates: Sequence[EstimateRow]) -> dict[tuple[str, str], str]:
    result = {(row.metric, row.basis): interval_text(row, 2) for row in estimates}
    return {key: result.get(key, "-") for key in ORDER}
