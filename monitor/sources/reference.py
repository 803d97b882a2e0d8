"""A labeled file from before launch: scores, predicted classes and labels, item by item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused
from monitor.domain.values import DOUBTFUL, MISSING_MARKERS
from monitor.files.missing_markers import bare_text, quoted
from monitor.files.relations import (
    DataFiles,
    OpenTable,
    Scalar,
    all_texts,
    at_threshold,
    check_table,
    kind_of,
    opened,
)
from monitor.rounds.context import ReferenceItems

if TYPE_CHECKING:
    from monitor.domain.adapters import ItemFormat


_YES: tuple[Scalar, ...] = (1, True)
_NO: tuple[Scalar, ...] = (0, False)


def read_reference(
    path: str,
    base_folder: Path | str,
    items: ItemFormat,
    *,
    value: str = "label",
    positive: Scalar | Sequence[Scalar] | None = None,
    threshold: float | None = None,
) -> ReferenceItems:
    """Read a labeled reference; unlike a scan it refuses the file for any bad row.

    path: Parquet or CSV file; a relative one starts at ``base_folder``.
    items: Columns and classes as in the source of predictions. Where the file has the column of the
        id, each id must be unique. An item is flagged where its predicted class is, or where its
        score is at least ``threshold``.
    value, positive: Column of the label, and its values that mean 1. With the usual 1/true only
        0/false means 0; otherwise every other value does, but one that differs from a positive one
        in upper and lower case alone, or may say that there is no label yet (``unknown``), is
        refused. Rows without a value, or with a word for a missing one (``nan``, ``NULL``), are
        left out.
    """
    by_score = threshold is not None and items.score is not None
    _check_rule(path, by_column=items.predicted is not None, by_score=by_score)
    positives = all_texts(_YES if positive is None else positive)
    negatives = all_texts(_NO) if positives == all_texts(_YES) else None
    with opened(DataFiles((path,), Path(base_folder), None)) as data:
        values: dict[str, Any] = {
            "positive": positives,
            "missing": sorted(MISSING_MARKERS.difference(positives)),
        }
        label = _yes_or_no(data, value, values, "positive", negatives)
        if negatives is None:
            values["folded"] = [*DOUBTFUL, *(text.lower() for text in positives)]
            is_similar = f"not {label} and list_contains($folded::varchar[], lower({_text(value)}))"
            label = f"case when {is_similar} then null else {label} end"
        text = f"case when list_contains($missing::varchar[], {_text(value)}) then null else "
        text += f"{_text(value)} end"
        score_sql = at_threshold(_number(data, items.score), threshold, values, "threshold")
        if items.predicted is None:
            values["threshold"] = threshold
            flag = f"{score_sql} >= $threshold"
        else:
            data.need(items.predicted, "reference.predicted")
            values["flagged"] = all_texts(items.flagged)
            flag = _yes_or_no(data, items.predicted, values, "flagged", list(items.passed))
        _check_ids(data, items.id)
        rows = data.rows(
            f"select {score_sql}, {flag}, {label}, {text}, {_text(items.score)} "  # noqa: S608
            f"from {data.relation}",
            values,
        )
    read = [_ReferenceRow(*row) for row in rows]
    return _arrays(path, read, value, items)


def _check_ids(data: OpenTable, item_id: str) -> None:
    """Refuse a file that has items twice: they would count as so many more labels."""
    if item_id not in data.types:
        return
    text = _text(item_id)
    twice = data.rows(
        f"select {text}, count(*) from {data.relation} where {text} is not null "  # noqa: S608
        "group by 1 having count(*) > 1 order by 1"
    )
    if twice:
        more = f" and {len(twice) - 1} other ids" if len(twice) > 1 else ""
        message = (
            f"{data.place}: id {twice[0][0]!r} of column {item_id!r} is there {twice[0][1]} times"
            f"{more}; a reference has one row for each item"
        )
        raise SourceRefused(message)


def _check_rule(path: str, *, by_column: bool, by_score: bool) -> None:
    try:
        check_table(kind_of([path]), None)
    except ValueError as error:
        raise SourceRefused(str(error)) from error
    if by_column == by_score:
        message = (
            f"{path}: the reference needs either a predicted column or a score with a threshold"
        )
        raise SourceRefused(message)


def _text(column: str | None) -> str:
    if column is None:
        return "null"
    return f"nullif({bare_text(f'cast({quoted(column)} as varchar)')}, '')"


def _number(data: OpenTable, score: str | None) -> str:
    if score is None:
        return "cast(null as double)"
    data.need(score, "reference.score")
    return f"try_cast({quoted(score)} as double)"


def _yes_or_no(
    data: OpenTable, column: str, values: dict[str, Any], name: str, negatives: list[str] | None
) -> str:
    data.need(column, f"reference.{'value' if name == 'positive' else 'predicted'}")
    yes = f"list_contains(${name}::varchar[], {_text(column)})"
    if negatives is None:
        return yes
    values[f"not_{name}"] = negatives
    no = f"list_contains($not_{name}::varchar[], {_text(column)})"
    return f"case when {yes} then true when {no} then false end"


@dataclass(frozen=True, slots=True)
class _ReferenceRow:
    """A row as read: parsed values, and texts for errors."""

    score: float | None
    flagged: bool | None
    label: bool | None
    value_text: str | None
    score_text: str | None

    def problem(self, value: str, items: ItemFormat) -> str | None:
        """Describe why a labeled row cannot be used, or None if it can."""
        if self.label is None:
            return (
                f"column {value!r} holds {self.value_text!r}; a label is 1 or 0 (true or false), "
                "or written as reference.positive writes it"
            )
        needs_score = items.predicted is None
        unreadable = self.score is None and (needs_score or self.score_text is not None)
        if unreadable or not math.isfinite(self.score or 0.0):
            column = f"column {items.score!r} holds {self.score_text!r}"
            return f"{column} on a labeled row; wanted a number"
        if self.flagged is None:
            return (
                "a labeled row has no predicted class, or one that source.positive and "
                "source.negative do not name; fill it, list it, or take the row out"
            )
        return None


def _arrays(
    path: str, rows: Sequence[_ReferenceRow], value: str, items: ItemFormat
) -> ReferenceItems:
    import numpy as np  # noqa: PLC0415

    labeled = [row for row in rows if row.value_text is not None]
    problem = next(filter(None, (row.problem(value, items) for row in labeled)), None)
    if problem is not None:
        message = f"{path}: {problem}"
        raise SourceRefused(message)
    return ReferenceItems(
        score=np.array([row.score for row in labeled], dtype=float),  # None becomes NaN
        flagged=np.array([row.flagged for row in labeled], dtype=bool),
        positive=np.array([row.label for row in labeled], dtype=bool),
        unlabeled=len(rows) - len(labeled),
    )
