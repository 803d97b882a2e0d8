"""Compare a round's classifier with another threshold, or with another classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.errors import InputRefused
from monitor.domain.implausible_scores import percent_fault
from monitor.domain.report import find_row
from monitor.domain.round import Round
from monitor.domain.values import rounded_below
from monitor.rounds.estimation.curves import NoCurves, labeled_sample, scored_sample
from monitor.stats.core.counts import Interval
from monitor.stats.core.sample import LabeledSample
from monitor.stats.estimation.paired import Comparison, PairedMetric, compare, compare_threshold
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.results.estimate_store import read_estimates

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Others:
    """The decisions of another classifier on the labeled items."""

    flags: Mapping[str, bool]  # Its decision by item id, for every labeled item.
    rows: int  # How many predictions it made.
    flagged: int  # How many of them it flags.


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison, and the numbers of its labels.

    ``counted`` is true if the other classifier's flagged items were counted in the whole window.
    ``missing`` is the number of items of the round without a label.
    """

    comparison: Comparison
    labeled: int
    positive: int
    counted: bool
    missing: int


def labeled_ids(connection: Connection, round_: Round) -> list[str]:
    """Read the ids of the items that are labeled 1 or 0 now."""
    return [item.id for item in _labels(connection, round_).labeled]


def _labels(connection: Connection, round_: Round) -> RoundLabels:
    labels = read_labels(connection, round_)
    if not labels.labeled:
        message = f"round {round_.number} of {round_.monitor} has no labels to compare by"
        raise InputRefused(message)
    return labels


def at_threshold(connection: Connection, round_: Round, threshold: float) -> Compared:
    """Compare the classifier with itself at another threshold.

    Raises `InputRefused` if items have no score, or scores in percent, or a stratum has no label.
    """
    labels = _labels(connection, round_)
    try:
        sample = scored_sample(round_, labels)
    except NoCurves as error:
        raise _refused(round_, error) from error
    title = f"{round_.monitor}, round {round_.number}"
    refuse_percent(title, sample.score.tolist(), threshold)
    below = rounded_below(threshold)
    if below is not None and below in sample.score:
        threshold = below  # as a model that writes 32-bit scores has it
    comparison = compare_threshold(sample, threshold, estimand="window", rng=_rng(round_))
    as_stored = _as_stored(connection, round_, comparison)
    return _compared(as_stored, labels, sample.items, counted=False)


def with_others(connection: Connection, round_: Round, others: Others) -> Compared:
    """Compare the classifier with another one, by its decisions on the labeled items.

    Raises `InputRefused` if a stratum has no label, or the counted flagged items contradict the
    labels.
    """
    labels = _labels(connection, round_)
    try:
        sample = labeled_sample(labels, round_.settings.sample)
    except NoCurves as error:
        raise _refused(round_, error) from error
    # Its flagged items count for the window only if it decided on every item there.
    counted = others.rows == sum(part.size for part in labels.strata)
    try:
        comparison = compare(
            sample,
            sample.is_flagged,
            np.array([others.flags[item.id] for item in labels.labeled]),
            second_flagged=others.flagged if counted else None,
            estimand="window",
            rng=_rng(round_),
        )
    except ValueError as error:
        raise _refused(round_, error) from error
    as_stored = _as_stored(connection, round_, comparison)
    return _compared(as_stored, labels, sample, counted=counted)


def _as_stored(connection: Connection, round_: Round, comparison: Comparison) -> Comparison:
    """Replace the first classifier's intervals with the stored estimates of the round.

    Keeps an interval if the stored one is a worst-case bound, or if labels came since.
    """
    rows = read_estimates(connection, round_.id, round_.estimated_version)

    def stored(paired: PairedMetric) -> PairedMetric:
        row = find_row(rows, paired.metric, "round")
        if row is None or row.ends is None or row.is_worst_case or paired.first is None:
            return paired
        interval = Interval(*row.ends)
        same = isclose(interval.point, paired.first.point, rel_tol=1e-9)
        return replace(paired, first=interval) if same else paired

    return replace(comparison, metrics=tuple(map(stored, comparison.metrics)))


def _compared(
    comparison: Comparison, labels: RoundLabels, sample: LabeledSample, *, counted: bool
) -> Compared:
    labeled = len(labels.labeled)
    missing = len(labels.items) - labeled
    return Compared(comparison, labeled, int(sample.positive.sum()), counted, missing)


def refuse_percent(what: str, scores: Sequence[float], threshold: float | None) -> None:
    """Refuse scores in percent with a threshold that is a share, and the reverse."""
    if threshold is None:
        return
    fault = percent_fault(scores, threshold)
    if fault is not None:
        message = (
            f"{what}, of the labeled items: {fault} ({threshold:g}), or give --threshold for such "
            "scores"
        )
        raise InputRefused(message)
    if scores and threshold > 1 and min(scores) >= 0 and max(scores) <= 1:
        message = (
            f"{what}, of the labeled items: all scores are shares, up to {max(scores):.3g}, and "
            f"the threshold is {threshold:g}: nothing would be flagged; give it as a share too"
        )
        raise InputRefused(message)


def _refused(round_: Round, error: Exception) -> InputRefused:
    message = f"round {round_.number} of {round_.monitor} cannot be compared: {error}"
    return InputRefused(message)


def _rng(round_: Round) -> np.random.Generator:
    return np.random.default_rng(round_.sobol_seed)
