"""A labeled file from before launch: scores, predicted classes and labels, item by item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from monitor.domain.adapters import ItemFormat
from monitor.domain.errors import SourceRefused
from monitor.domain.values import DOUBTFUL, MISSING_MARKERS, rounded_below
from monitor.files.duckdb_sql import bare_text, quoted
from monitor.files.relations import (
    DataFiles,
    OpenTable,
    Scalar,
    all_texts,
    check_table,
    kind_of,
    opened,
)
from monitor.rounds.context import ReferenceItems

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
    named = {"value": value, "predicted": items.predicted, "score": items.score}
    with opened(DataFiles((path,), Path(base_folder), None)) as data:
        for setting, column in named.items():
            if column is not None:
                data.need(column, f"reference.{setting}")
        _check_ids(data, items.id)
        number = "null" if items.score is None else f"try_cast({quoted(items.score)} as double)"
        texts = ", ".join(map(_text, named.values()))
        rows = data.rows(f"select {number}, {texts} from {data.relation}")  # noqa: S608
    meanings = _LabelTexts(all_texts(_YES if positive is None else positive))
    below, flags = rounded_below(threshold), (all_texts(items.flagged), items.passed)
    read = []
    for score, text, predicted, score_text in rows:
        if text is None or text in meanings.missing:
            continue
        at = threshold if below is not None and score == below else score
        flagged = _class_of(predicted, *flags)
        if items.predicted is None:
            flagged = None if at is None or threshold is None else at >= threshold
        row = _ReferenceRow(at, flagged, meanings.of(text), text, score_text)
        if (problem := row.problem(value, items)) is not None:
            message = f"{path}: {problem}"
            raise SourceRefused(message)
        read.append(row)
    return _arrays(read, unlabeled=len(rows) - len(read))


class _LabelTexts:
    """What the texts of a label mean, as `read_reference` says."""

    def __init__(self, positives: Sequence[str]) -> None:
        self._positives = positives
        self._is_usual = positives == all_texts(_YES)
        self._doubtful = {*DOUBTFUL, *(text.lower() for text in positives)}
        self.missing = MISSING_MARKERS.difference(positives)

    def of(self, text: str) -> bool | None:
        if self._is_usual:
            return _class_of(text, self._positives, all_texts(_NO))
        is_doubtful = text not in self._positives and text.lower() in self._doubtful
        return None if is_doubtful else text in self._positives


def _class_of(text: str | None, yes: Sequence[str], no: Sequence[str]) -> bool | None:
    return True if text in yes else False if text in no else None


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


class _ReferenceRow(NamedTuple):
    """A row as read: parsed values, and texts for errors."""

    score: float | None
    flagged: bool | None
    label: bool | None
    value_text: str
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


def _arrays(labeled: Sequence[_ReferenceRow], unlabeled: int) -> ReferenceItems:
    import numpy as np  # noqa: PLC0415

    return ReferenceItems(
        score=np.array([row.score for row in labeled], dtype=float),  # None becomes NaN
        flagged=np.array([row.flagged for row in labeled], dtype=bool),
        positive=np.array([row.label for row in labeled], dtype=bool),
        unlabeled=unlabeled,
    )
