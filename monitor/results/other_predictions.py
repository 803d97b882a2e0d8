"""Predictions of another classifier, read from a file for the items that are labeled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from monitor.domain.errors import InputRefused
from monitor.domain.values import rounded_below
from monitor.files.duckdb_sql import quoted
from monitor.files.relations import DataFiles, OpenTable, all_texts, kind_of, opened, visible
from monitor.rounds.forecast.compare import Others, refuse_percent

_YES, _NO = all_texts([1, True]), all_texts([0, False])


class OtherColumns(NamedTuple):
    """The columns of a file of predictions: of ids, scores, predicted classes."""

    id: str | None = None
    score: str | None = None
    predicted: str | None = None

    @property
    def score_name(self) -> str:
        """The column of scores; ``score`` unless another one is named."""
        return self.score or "score"


def read_others(
    file: Path, ids: Sequence[str], columns: OtherColumns, threshold: float | None
) -> Others:
    """Read decisions on the labeled items, and count all that the file flags.

    ids: Of the labeled items; the file must have each of them once.
    columns: Of these, either ``score`` or ``predicted`` is read.
    """
    try:
        kind = kind_of([str(file)])
    except ValueError as error:
        message = f"other predictions: {error}"
        raise InputRefused(message) from error
    if kind == "duckdb":
        message = f"other predictions: {file} is a DuckDB file; give Parquet or CSV"
        raise InputRefused(message)
    files = DataFiles((str(file),), Path.cwd(), refused=InputRefused)
    with opened(files) as table:
        id_column = columns.id or ""
        table.need(id_column, "--id")
        item = f"nullif({visible(f'cast({quoted(id_column)} as varchar)')}, '')"
        values: dict[str, object] = {}
        flag, score = _decision_sql(table, columns, threshold, values)
        decisions = table.rows(
            f"select {item}, {flag}, {score} from {table.relation} where {item} in "  # noqa: S608
            "(select unnest($ids))",
            {"ids": list(ids), **values},
        )
        # Of all items, labeled or not: what the other classifier flags of the whole window.
        [(rows, flagged)] = table.rows(
            f"select count(distinct {item}), count(distinct {item}) filter ({flag}) "  # noqa: S608
            f"from {table.relation}",
            values,
        )
    _check(file, ids, decisions)
    scores = [float(number) for *_, number in decisions if number is not None]
    refuse_percent(f"{file}: column {columns.score_name!r} (--score)", scores, threshold)
    return Others({str(key): bool(up) for key, up, _ in decisions}, int(rows), int(flagged))


def _decision_sql(
    table: OpenTable, columns: OtherColumns, threshold: float | None, values: dict[str, object]
) -> tuple[str, str]:
    """Write the decision in SQL (true, false, or null without one) and the score; bind values."""
    if columns.predicted is not None:
        table.need(columns.predicted, "--predicted")
        value = f"cast({quoted(columns.predicted)} as varchar)"
        values |= {"yes": _YES, "no": _NO}
        return f"case when {value} in $yes then true when {value} in $no then false end", "null"
    table.need(columns.score_name, "--score")
    value = f"try_cast({quoted(columns.score_name)} as double)"
    # One that equals the threshold in 32 bits is at it, as in a scan.
    values |= {"threshold": threshold, "rounded": rounded_below(threshold) or threshold}
    is_flagged = f"{value} >= $threshold or {value} = $rounded"
    return f"case when not isnan({value}) then {is_flagged} end", value


def _check(file: Path, ids: Sequence[str], decisions: Sequence[tuple[object, ...]]) -> None:
    times = Counter(str(key) for key, *_ in decisions)
    missing = sorted(set(ids) - set(times))
    twice = sorted(key for key, count in times.items() if count > 1)
    undecided = sorted(str(key) for key, up, _ in decisions if up is None)
    for those, what in (
        (missing, "are not in it"),
        (twice, "are in it more than once"),
        (undecided, "have no decision in it that can be read"),
    ):
        if those:
            message = (
                f"{file}: {len(those)} of the {len(ids)} labeled items {what}, such as "
                f"{those[0]!r}; every one is needed, or the comparison would be biased"
            )
            raise InputRefused(message)
