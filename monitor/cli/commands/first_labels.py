"""Labels that a file of predictions already has, and the estimate from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

import monitor as functions
from monitor.config.column_guess import Chosen, Described
from monitor.domain.errors import InputRefused
from monitor.domain.values import rounded_below, zero_one
from monitor.evaluation.designs import EvaluationSample
from monitor.evaluation.result import labeled_set_warnings
from monitor.evaluation.rows import Column, read_rows
from monitor.presentation.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.domain.model import Frame
    from monitor.results.estimates import Estimates

_MOST = 1_000_000  # labels that are read
_SHOWN = ("precision", "recall", "prevalence")
_LEAST_CHANCE = 1e-3  # Below this labeled scores are not believed to be a random sample
_FEWEST = 20


class _Rows(NamedTuple):
    """Labeled rows: whether they are positive, whether flagged, and scores (NaN: none)."""

    positive: NDArray[np.bool_]
    flagged: NDArray[np.bool_]
    score: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClassLabels:
    """Items of a predicted class, how many have a label, and how many of these are positive."""

    size: int
    labeled: int
    positive: int


@dataclass(frozen=True, slots=True)
class FirstLabels:
    """Labels in a column, the estimate from them, and warnings about it.

    ``is_named`` is whether the user named the column, so that rounds take their labels from it.
    """

    column: str
    is_named: bool
    flagged: ClassLabels
    passed: ClassLabels
    result: Estimates
    warnings: tuple[str, ...]

    @property
    def points(self) -> dict[str, float]:
        """Return the points of precision and recall that exist and that a plan can use."""
        points = {name: self.result.estimate(name)["point"] for name in _SHOWN[:2]}
        return {
            name: point for name, point in points.items() if point is not None and 0 < point < 1
        }

    def document(self) -> Iterator[str | Table]:
        """Return the document: the labels, their estimate, and the warnings."""
        yield (
            f"By the labels in column {self.column!r} ({self.flagged.labeled:,} of "
            f"{self.flagged.size:,} flagged items, {self.passed.labeled:,} of "
            f"{self.passed.size:,} passed ones):"
        )
        yield Table(
            ["metric", "estimate"], [[name, self.result.metric_text(name)] for name in _SHOWN]
        )
        for warning in self.warnings:
            yield f"WARNING: {warning}"
        if not self.is_named:
            yield (
                "Rounds ask people for labels; written with --label "
                f"{self.column}, the config takes them from this column."
            )


def first_labels(
    described: Described, columns: Chosen, label: str, frame: Frame
) -> FirstLabels | None:
    """Estimate by the labels that are in a column of the predictions; None if there are none.

    Raises `InputRefused` if the named column holds anything but yes or no.
    """
    rows = _read(described, columns, label)
    if rows is None or not len(rows.positive):
        return None
    sizes = {"flagged": frame.flagged_size, "passed": frame.size - frame.flagged_size}
    parts = [
        ClassLabels(size, int(of.sum()), int(rows.positive[of].sum()))
        for size, of in zip(sizes.values(), (rows.flagged, ~rows.flagged), strict=True)
    ]
    flagged, passed = parts
    result = functions.estimate(
        tp=flagged.positive,
        fp=flagged.labeled - flagged.positive,
        fn=passed.positive,
        tn=passed.labeled - passed.positive,
        flagged_size=flagged.size,
        passed_size=passed.size,
    )
    warnings = (*_swapped(rows, sizes), *_drawn_warnings(rows, frame, parts))
    return FirstLabels(label, columns.label is not None, flagged, passed, result, warnings)


def _read(described: Described, columns: Chosen, label: str) -> _Rows | None:
    """Read the rows with a label whose predicted class is known; None without a rule for that."""
    names = [name for name in (label, columns.score, columns.predicted) if name is not None]
    types = described.columns()
    read = described.first_values(
        {name: types[name] for name in names}, filled=label, at_most=_MOST
    )
    answers = [zero_one(_plain(value)) for value in read[label]]
    if wrong := next((each for each in answers if each not in {0, 1, None}), None):
        message = (
            f"column {label!r} (--label) holds {wrong!r}; only yes and no, true and false, 1 and 0 "
            "can be read here; in the config, labeling.positive names another value"
        )
        raise InputRefused(message)
    flags = _flags(read, columns)
    scores = [None] * len(answers) if columns.score is None else read[columns.score]
    if flags is None:
        return None
    rows = [
        (answer, flag, score)
        for answer, flag, score in zip(answers, flags, scores, strict=True)
        if answer is not None and flag is not None
    ]
    return _Rows(
        np.array([answer == 1 for answer, _, _ in rows], dtype=np.bool_),
        np.array([flag for _, flag, _ in rows], dtype=np.bool_),
        np.array([np.nan if score is None else score for *_, score in rows], dtype=np.float64),
    )


def _plain(value: object) -> object:
    return str(value) if isinstance(value, bool) else value


def _flags(read: dict[str, list[Any]], columns: Chosen) -> list[bool | None] | None:
    """Decide which rows are flagged, as the config will; None for a row without a value."""
    if columns.predicted is not None:
        values = read[columns.predicted]
        if columns.positive is not None:
            return [None if v is None else str(v).strip() == columns.positive for v in values]
        return [None if v is None else zero_one(_plain(v)) == 1 for v in values]
    at = columns.threshold
    if columns.score is None or at is None:
        return None
    below = rounded_below(at)
    scores = [None if v is None or isnan(v) else float(v) for v in read[columns.score]]
    return [None if score is None else score >= at or score == below for score in scores]


def _swapped(rows: _Rows, sizes: dict[str, int]) -> Sequence[str]:
    try:
        checked = read_rows(Column("labels", rows.positive), predicted=Column("", rows.flagged))
        return labeled_set_warnings(checked, EvaluationSample(sizes=sizes))
    except InputRefused:  # of one class only, which the estimate says
        return ()


def _drawn_warnings(rows: _Rows, frame: Frame, parts: Sequence[ClassLabels]) -> Iterator[str]:
    """Describe what an estimate by some labels assumes, and what contradicts it."""
    if all(part.labeled >= part.size for part in parts):
        return
    yield (
        "each label counts as drawn at random from the flagged or from the passed items. Labels "
        "that were picked in another way, such as complaints or reviewed cases, give wrong numbers"
    )
    for name, of, part in zip(("flagged", "passed"), (True, False), parts, strict=True):
        scores = [
            each.score
            for stratum in frame.strata
            if stratum.stratum.flagged == of
            for each in stratum.candidates
            if each.score is not None
        ]
        own = rows.score[(rows.flagged == of) & ~np.isnan(rows.score)]
        if part.labeled >= part.size or min(len(own), len(scores)) < _FEWEST:
            continue
        if stats.ks_2samp(own, scores).pvalue < _LEAST_CHANCE:
            yield (
                f"the {name} items with a label have other scores than the {name} items (median "
                f"{np.median(own):.2g}, all {np.median(scores):.2g}), so they were not drawn at "
                "random"
            )
