"""A labeled set as a table: `monitor.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.domain.errors import InputRefused
from monitor.evaluation.designs import EvaluationSample
from monitor.evaluation.result import Evaluation, evaluate_rows
from monitor.evaluation.rows import Column, read_rows

if TYPE_CHECKING:
    import pandas as pd


def evaluate_frame(
    frame: pd.DataFrame,
    *,
    label: str,
    predicted: str | None,
    score: str | None,
    threshold: float | None,
    weight: Any,
    stratum: Any,
    sizes: Mapping[str, int] | None,
    level: float,
    **drawn: Any,
) -> Evaluation:
    """Evaluate a table (`monitor.evaluate` has what is given)."""
    rows = read_rows(
        Column(f"column {label!r}", column_of(frame, label, "label")),
        predicted=_named(frame, predicted, "predicted"),
        score=_named(frame, score, "score"),
        threshold=threshold,
        weight=values_of(frame, weight, "weight"),
        stratum=values_of(frame, stratum, "stratum"),
    )
    answer = EvaluationSample(sizes=sizes, has_weights=weight is not None, **drawn)
    return evaluate_rows(rows, answer, level=level)


def column_of(frame: Any, name: str, setting: str) -> Any:
    """Find a column of a table."""
    columns = list(getattr(frame, "columns", ()))
    if columns.count(name) > 1:
        message = (
            f"{setting} names the column {name!r}, and the data has {columns.count(name)} columns "
            "of that name; rename all but one"
        )
        raise InputRefused(message)
    if name in columns:
        return frame[name]
    listed = f"the data has {', '.join(map(str, columns))}" if columns else "the data has no names"
    message = f"{setting} names the column {name!r}, but {listed}"
    raise InputRefused(message)


def values_of(frame: Any, column: Any, setting: str) -> Column | None:
    """Take values that are given by the name of their column, or themselves."""
    if column is None:
        return None
    if isinstance(column, str):
        return Column(f"column {column!r}", column_of(frame, column, setting))
    return Column(f"the {setting}s given", np.asarray(column))


def _named(frame: Any, name: str | None, setting: str) -> Column | None:
    return None if name is None else values_of(frame, str(name), setting)
