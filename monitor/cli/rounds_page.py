"""What `pr-monitor rounds` lists."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.numbers import interval_text
from monitor.cli.printing import table_lines, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.report import EstimateRow
    from monitor.storage.round_store import Round

    Row = tuple[Round, Sequence[EstimateRow]]

HEAD = ["round", "due (UTC)", "state"]
ORDER = [(metric, basis) for metric in ("precision", "recall") for basis in ("round", "carried")]


def round_json(found: Round, estimates: Sequence[EstimateRow]) -> dict[str, Any]:
    """Tell a round as JSON."""
    return {
        "monitor": found.monitor,
        "round": found.number,
        "slot": found.slot,
        "window": [found.window.start, found.window.end],
        "state": found.state,
        "version": found.estimated_version,
        "partial": found.partial,
        "reason": found.reason,
        "estimates": [row.model_dump() for row in estimates],
    }


def say_rounds(rows: Sequence[Row]) -> None:
    """Print a line for each round; on a terminal, a table for each monitor that fits into it."""
    columns = width()
    if columns is None:
        head = ["monitor", *HEAD, *_long_names()]
        table = [[found.monitor, *_long_row(found, of)] for found, of in rows]
        print("\n".join(table_lines(head, table, right="1")))  # noqa: T201
        return
    ordered = sorted(rows, key=lambda row: row[0].monitor)
    tables = [
        "\n".join([name, *_fitting(list(group), columns)])
        for name, group in groupby(ordered, key=lambda row: row[0].monitor)
    ]
    print("\n\n".join(tables))  # noqa: T201


def _fitting(rows: Sequence[Row], columns: int) -> list[str]:
    wide = table_lines([*HEAD, *_long_names()], [_long_row(*row) for row in rows], right="0")
    if max(map(len, wide)) <= columns:
        return wide
    head = [*HEAD, "basis", "precision", "recall"]
    return table_lines(head, [line for row in rows for line in _two_lines(*row)], right="0")


def _long_names() -> list[str]:
    return [f"{metric} ({basis})" for metric, basis in ORDER]


def _long_row(found: Round, estimates: Sequence[EstimateRow]) -> list[str]:
    more = _more(found)
    state = f"{found.state}, {more}" if more else str(found.state)
    return [str(found.number), minute(found.slot), state, *_numbers(estimates).values()]


def _two_lines(found: Round, estimates: Sequence[EstimateRow]) -> list[list[str]]:
    numbers = _numbers(estimates)
    first = [str(found.number), minute(found.slot), str(found.state)]
    if not estimates:
        return [[*first, "-", "-", "-"]]
    second = ["", _more(found), ""]
    return [
        [*begin, basis, numbers["precision", basis], numbers["recall", basis]]
        for begin, basis in ((first, "round"), (second, "carried"))
    ]


def _more(found: Round) -> str:
    """Say what is special about a round's estimates."""
    newest = found.estimated_version
    version = f"version {newest}" if newest > 1 else ""
    return ", ".join(filter(None, [version, "partial" if found.partial else ""]))


def _numbers(estimates: Sequence[EstimateRow]) -> dict[tuple[str, str], str]:
    found = {(row.metric, row.basis): interval_text(row, 2) for row in estimates}
    return {key: found.get(key, "-") for key in ORDER}
