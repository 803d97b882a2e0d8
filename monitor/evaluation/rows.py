"""Labeled items as they are given, checked: labels, predictions, scores, weights, strata."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from monitor.domain.errors import InputRefused
from monitor.domain.values import rounded_below, zero_one
from monitor.files.csv_files import separator_of
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Values = NDArray[np.float64]

_MOST_SHOWN = 4  # Wrong values that a message lists


class Column(NamedTuple):
    """Values of one kind, and what messages call them: ``column 'label'``, ``the labels``."""

    name: str
    values: Any


class Terms(NamedTuple):
    """What messages call predictions, their two values, and the numbers that rest on them.

    ``by_predicted`` and ``by_actual`` describe what labels of a chosen balance would give.
    """

    flagged: str
    passed: str
    items: str
    value: str
    prediction: str
    metrics: str
    by_predicted: str
    by_actual: str


CLASSIFIER = Terms(
    flagged="flagged",
    passed="passed",
    items="items",
    value="predicted class",
    prediction="prediction",
    metrics="precision or recall",
    by_predicted="recall would be that of the set, not of the classifier's traffic",
    by_actual="precision would describe the set",
)
JUDGE = Terms(
    flagged="yes",
    passed="no",
    items="verdicts",
    value="verdict",
    prediction="verdict",
    metrics="agreement with people",
    by_predicted="tpr and tnr would be those of the set, not of all verdicts",
    by_actual="kappa and agreement would describe the set",
)


@dataclass(frozen=True, slots=True, eq=False)
class LabeledRows:
    """Labeled items, one place of each array per item; both answers and both classes occur.

    ``weight`` and ``amount`` are over 0. ``stratum`` is the name of each item's stratum. ``terms``
    name the predictions: an item is flagged where a judge says yes.
    """

    positive: Flags
    flagged: Flags
    score: Values | None
    threshold: float | None
    weight: Values | None
    stratum: NDArray[np.object_] | None
    terms: Terms = CLASSIFIER
    amount: Values | None = None

    def __len__(self) -> int:
        return len(self.positive)


def read_rows(
    labels: Column,
    *,
    predicted: Column | None = None,
    score: Column | None = None,
    threshold: float | None = None,
    weight: Column | None = None,
    stratum: Column | None = None,
    amount: Column | None = None,
    terms: Terms = CLASSIFIER,
) -> LabeledRows:
    """Check labeled items; they are flagged where ``predicted`` is 1, else from the threshold on.

    Raises `InputRefused` if a value cannot be used, one column is both label and prediction, a
    column has another length than the labels, or all items are of one actual or predicted class.
    """
    if labels.name in {column.name for column in (predicted, score) if column is not None}:
        message = f"{labels.name} is the label and the {terms.prediction}; name another for one"
        raise InputRefused(message)
    scores = _scores(score, threshold)
    positive = _zero_one(labels, "label")
    flagged = _flagged(predicted, scores, threshold, terms)
    _check_both(positive, labels.name, ("positive (1)", "negative (0)"), terms)
    deciding = predicted or score
    by = "the predictions" if deciding is None else deciding.name
    if predicted is None and scores is not None:
        by += f", {scores.min():g} to {scores.max():g}, and the threshold {threshold:g}"
    _check_both(flagged, by, terms[:2], terms, terms.items.removesuffix("s"))
    rows = LabeledRows(
        positive=positive,
        flagged=flagged,
        score=scores,
        threshold=threshold,
        weight=None if weight is None else _above_zero(weight, "weight", _WEIGHT),
        stratum=None if stratum is None else _names(stratum),
        terms=terms,
        amount=None if amount is None else _above_zero(amount, "amount", _AMOUNT),
    )
    for column in (predicted, score, weight, stratum, amount):
        _check_length(column, labels)
    return rows


def class_sizes(
    predicted: Column | None, score: Column | None, threshold: float | None
) -> dict[str, int]:
    """Count the flagged and the passed items, labeled or not; see `read_rows`."""
    flagged = _flagged(predicted, _scores(score, threshold), threshold)
    return {"flagged": int(flagged.sum()), "passed": int((~flagged).sum())}


def read_table(path: Path, what: str, *, text: str | None = None) -> pd.DataFrame:
    """Read a CSV or Parquet file; raises `InputRefused` if it cannot be read.

    text: A column that stays as it is written, such as ids.
    """
    types = {} if text is None else {text: str}
    try:
        is_parquet = path.suffix.lower() in {".parquet", ".pq"}
        if is_parquet:
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype=types, sep=separator_of(str(path)))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        message = f"{what} {path} cannot be read as CSV or Parquet: {reason}"
        raise InputRefused(message) from error


def column_of(frame: Any, name: str, setting: str, verb: str = "names") -> Any:
    """Find a column of a table, which a setting names or needs."""
    columns = list(getattr(frame, "columns", ()))
    if columns.count(name) > 1:
        message = (
            f"{setting} {verb} the column {name!r}, and the data has {columns.count(name)} columns "
            "of that name; rename all but one"
        )
        raise InputRefused(message)
    if name in columns:
        return frame[name]
    listed = f"the data has {', '.join(map(str, columns))}" if columns else "the data has no names"
    message = f"{setting} {verb} the column {name!r}, but {listed}"
    raise InputRefused(message)


def values_of(frame: Any, column: Any, setting: str) -> Column | None:
    """Take values that are given by the name of their column, or themselves."""
    if column is None:
        return None
    if isinstance(column, str):
        return Column(f"column {column!r}", column_of(frame, column, setting))
    return Column(f"the {setting}s given", np.asarray(column))


def holds_classes(values: Any) -> bool:
    """Return whether all values are 0 or 1 (or say so), as predicted classes are."""
    numbers = pd.to_numeric(pd.Series(_flat(values)).map(zero_one), errors="coerce")
    return bool(numbers.isin([0, 1]).all())


def _scores(score: Column | None, threshold: float | None) -> Values | None:
    scores, below = None if score is None else _finite(score, "score"), rounded_below(threshold)
    if scores is None or threshold is None or below is None:
        return scores
    return np.where(scores == below, threshold, scores)


def _flagged(
    predicted: Column | None,
    scores: Values | None,
    threshold: float | None,
    terms: Terms = CLASSIFIER,
) -> Flags:
    if threshold is not None and not math.isfinite(threshold):
        message = f"threshold is {threshold!r}; it is the score from which on an item is flagged"
        raise InputRefused(message)
    by_score = None if scores is None or threshold is None else scores >= threshold
    if predicted is None:
        if by_score is None:
            message = (
                "there are no predictions; name the column of predicted classes (0 or 1), or a "
                "score and the threshold from which on an item is flagged"
            )
            raise InputRefused(message)
        return by_score
    hint = "; give a threshold if it is a score" if terms is CLASSIFIER else ""
    flagged = _zero_one(predicted, terms.value, hint)
    if by_score is not None and len(by_score) == len(flagged) and np.any(by_score != flagged):
        differ = int(np.sum(by_score != flagged))
        message = (
            f"{predicted.name} and the threshold {threshold:g} disagree on {differ} of "
            f"{len(flagged)} items; leave one of the two out"
        )
        raise InputRefused(message)
    return flagged


def _flat(values: Any) -> Any:
    array = np.asarray(values)
    return array.ravel() if array.ndim > 1 and array.shape[1:] == (1,) else array


def _numbers(column: Column, what: str, expected: str | None = None) -> Values:
    """Read numbers; empty cells, NaN and texts are refused."""
    expected = expected or f"{what}s are numbers"
    series = pd.Series(_flat(column.values))
    if series.empty:
        message = f"{column.name}: it has no rows; expected labeled items"
        raise InputRefused(message)
    _check_filled(series, f"{column.name}: no {what}", "; leave such rows out of the data")
    numbers = pd.to_numeric(series, errors="coerce")
    if numbers.isna().any():
        first = _first(numbers.isna())
        message = f"{column.name}: {series.iloc[first]!r} at position {first}; {expected}"
        raise InputRefused(message)
    return numbers.to_numpy(dtype=np.float64)


def _check_filled(series: pd.Series[Any], nothing: str, hint: str = "") -> None:
    if series.isna().any():
        message = (
            f"{nothing} in {series.isna().sum()} of {plural(len(series), 'row')}, first at "
            f"position {_first(series.isna())}{hint}"
        )
        raise InputRefused(message)


def _first(wrong: pd.Series[bool]) -> int:
    return int(np.flatnonzero(wrong.to_numpy())[0])


def _zero_one(column: Column, what: str, hint: str = "") -> Flags:
    parsed = pd.Series(_flat(column.values)).map(zero_one)
    expected = (
        f"a {what} is 1 or 0, yes or no, true or false. In other words, say which of them is "
        "positive, such as frame['label'] = (frame['label'] == 'fraud').astype(int)"
    )
    numbers = _numbers(Column(column.name, parsed), what, expected)
    distinct = np.unique(numbers)
    if np.isin(distinct, [0, 1]).all():
        return np.asarray(numbers == 1)
    shown = ", ".join(f"{value:g}" for value in distinct[:_MOST_SHOWN])
    more = f" and {len(distinct) - _MOST_SHOWN} more" if len(distinct) > _MOST_SHOWN else ""
    message = (
        f"{column.name}: the values {shown}{more}; a {what} is 1 or 0, of a binary "
        f"classifier{hint}. Of several classes, make the one that is looked for 1 and all others 0"
    )
    raise InputRefused(message)


def _finite(column: Column, what: str) -> Values:
    numbers = _numbers(column, what)
    if not np.isfinite(numbers).all():
        first = int(np.flatnonzero(~np.isfinite(numbers))[0])
        message = (
            f"{column.name}: {numbers[first]:g} at position {first}; {what}s are finite numbers"
        )
        raise InputRefused(message)
    return numbers


_WEIGHT = "a weight says for how many items of the population the row stands, so it is more than 0"
_AMOUNT = "an amount is more than 0; remove rows without one, as they count for nothing"


def _above_zero(column: Column, what: str, expected: str) -> Values:
    numbers = _finite(column, what)
    if not np.all(numbers > 0):
        first = int(np.flatnonzero(numbers <= 0)[0])
        message = f"{column.name}: {numbers[first]:g} at position {first}; {expected}"
        raise InputRefused(message)
    return numbers


def _names(column: Column) -> NDArray[np.object_]:
    series = pd.Series(_flat(column.values))
    _check_filled(series, f"{column.name}: no stratum")
    return series.astype(str).to_numpy(dtype=object)


def _check_both(
    flags: Flags, name: str, kinds: Sequence[str], terms: Terms, noun: str = "item"
) -> None:
    if flags.all() or not flags.any():
        missing = kinds[bool(flags.all())]
        message = (
            f"none of the {plural(len(flags), noun)} is {missing} by {name}, so {terms.metrics} "
            "cannot be known; label items of both kinds"
        )
        raise InputRefused(message)


def _check_length(column: Column | None, labels: Column) -> None:
    expected = len(_flat(labels.values))
    if column is not None and len(_flat(column.values)) != expected:
        message = (
            f"{column.name}: {plural(len(_flat(column.values)), 'value')} for {expected} labels; "
            "give one for each"
        )
        raise InputRefused(message)
