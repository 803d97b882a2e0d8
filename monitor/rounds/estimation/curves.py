"""The labeled items of rounds as samples, with their scores or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.round import Round
from monitor.domain.sample_settings import Sample
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.estimation.grouped_cells import grouped_cells
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NoCurves(ValueError):
    """Why the labels of a round make no curve, in a sentence."""


def scored_sample(round_: Round, labels: RoundLabels) -> ScoredSample:
    """Return the labeled items of a round with their scores; see `pooled_sample`."""
    return pooled_sample([(round_, labels)])


def pooled_sample(rounds: Sequence[tuple[Round, RoundLabels]]) -> ScoredSample:
    """Return the scored items of rounds with the same strata as one sample of all windows.

    Raises `NoCurves` if items have no score, or a stratum with items has no label.
    """
    drawn = [item for _, labels in rounds for item in labels.labeled]
    scores = [item.score for item in drawn if item.score is not None]
    if len(scores) < len(drawn):
        message = "items of this round have no score"
        raise NoCurves(message)
    round_, first = rounds[0]
    items, group = _grouped([labels for _, labels in rounds], round_.settings.sample)
    low, high = _bounds(first.strata, round_.settings.threshold)
    by_group = len(items.size)
    lows, highs = np.full(by_group, np.inf), np.full(by_group, -np.inf)
    np.minimum.at(lows, group, low)
    np.maximum.at(highs, group, high)
    return ScoredSample(items, scores, low=lows, high=highs)


def labeled_sample(labels: RoundLabels, sample: Sample) -> LabeledSample:
    """Return the labeled items of a round, in the order of the draw.

    Raises `NoCurves` if a stratum (of score cells, a class) that holds items has no label.
    """
    return _grouped([labels], sample)[0]


def _grouped(
    rounds: Sequence[RoundLabels], sample: Sample
) -> tuple[LabeledSample, NDArray[np.int64]]:
    """Return the labeled items of rounds as a sample, and each stratum's group in it."""
    cells = sample.cells is not None
    for labels in rounds:
        _check_labeled(labels, cells=cells)
    strata = rounds[0].strata
    index = {part.stratum.name: h for h, part in enumerate(strata)}
    drawn = [item for labels in rounds for item in labels.labeled]
    stratum = np.array([index[item.stratum] for item in drawn], dtype=np.int64)
    positive = np.array([item.positive for item in drawn], dtype=np.bool_)
    size = np.sum([[part.size for part in labels.strata] for labels in rounds], axis=0)
    flagged = sum(part.stratum.flagged for part in strata)
    if cells:
        return grouped_cells(stratum, positive, size=size, flagged=flagged)
    return LabeledSample(stratum, positive, size=size, flagged=flagged), np.arange(len(size))


def _check_labeled(labels: RoundLabels, *, cells: bool) -> None:
    strata = labels.strata
    holding = {part.stratum.name for part in strata if part.size}
    answered = {item.stratum for item in labels.labeled}
    if cells:  # one without an answer is taken with its neighbours
        seen = {part.stratum.flagged for part in strata if part.stratum.name in answered}
        answered |= {part.stratum.name for part in strata if part.stratum.flagged in seen}
    if unlabeled := holding - answered:
        whole = unlabeled & {cell.stratum for cell in labels.census}
        names = ", ".join(sorted(whole or unlabeled))
        message = f"no item of {names} is labeled yet"
        if whole:
            message = f"items of {names} are counted whole, so they have no scores here"
        raise NoCurves(message)


def _bounds(
    strata: Sequence[StratumTally], threshold: float | None
) -> tuple[list[float], list[float]]:
    """Return the score range of each stratum; a class ends at the threshold, if there is one."""
    low, high = [], []
    for part in strata:
        stratum = part.stratum
        floor, ceiling = (threshold, None) if stratum.flagged else (None, threshold)
        lows = [bound for bound in (stratum.low, floor) if bound is not None]
        highs = [bound for bound in (stratum.high, ceiling) if bound is not None]
        low.append(max(lows, default=-np.inf))
        high.append(min(highs, default=np.inf))
    return low, high
