"""What a version shows besides its numbers: cause of a change, curves, score order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.curve_rows import FEWEST_FOR_CURVES, GRID_POINTS, CurvesRow
from monitor.domain.report import CauseRow, ReportedEstimate, find_row
from monitor.domain.sample_settings import Sample
from monitor.presentation.alerts import cause_sentence, recall_sentence
from monitor.presentation.notices import THIS_ROUND, inverted_sentence, last_rounds
from monitor.rounds.estimation.history import cells_to_pool
from monitor.rounds.estimation.label_errors import is_comparable
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.rounds.estimation.types import Estimates, HistoryBatch, Member, Pictures, RoundEstimate
from monitor.stats.core.counts import Counts, Interval, side_by_side, summed
from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.core.metrics import Matrix
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.drift.attribution import PrecisionChange, Working, precision_change
from monitor.stats.estimation.cell_matrix import cell_posterior, class_sizes, weighted_matrix
from monitor.stats.estimation.grouped_cells import grouped_cells
from monitor.storage.database import Database
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.rounds import round_store
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from numpy.typing import NDArray


POINTS = 2**11  # a figure shows two digits, and so does an explanation


class NoCurves(ValueError):
    """Why the labels of a round make no curve, in a sentence."""


def with_pictures(batch: HistoryBatch, estimates: Estimates) -> Estimates:
    """Add them to the estimate of each affected round."""
    return {
        member.round.id: replace(
            estimates[member.round.id],
            pictures=_pictures(
                member,
                batch.labels[member.round.id],
                batch.before(index),
                estimates[member.round.id],
            ),
        )
        for index, member in enumerate(batch.affected)
    }


def _pictures(
    member: Member, labels: RoundLabels, earlier: Sequence[Counted], estimate: RoundEstimate
) -> Pictures:
    round_ = member.round
    seed = round_.sobol_seed
    by_class = cells_to_pool(member.tally.frame, round_.settings.sample) is not None
    return Pictures(
        # Labels that are still to come would look like a change of the classifier.
        cause=precision_cause(member.tally, earlier, estimate.rows, seed=seed, cells=by_class)
        if is_comparable(estimate.arrived)
        else None,
        # No label changed: only earlier rounds did, and curves are of this round alone.
        curves=_curves(round_, labels, seed) if round_.is_changed else None,
    )


def _curves(round_: Round, labels: RoundLabels, seed: int) -> CurvesRow | None:
    try:
        sample = scored_sample(round_, labels)
    except NoCurves:
        return None
    positive = int(sample.items.positive.sum())
    if min(positive, len(sample.score) - positive) < FEWEST_FOR_CURVES:
        return None
    bands = curve_bands(sample, points=GRID_POINTS, rng=np.random.default_rng(seed))
    return CurvesRow.of(bands, sample.items)


def scored_sample(round_: Round, labels: RoundLabels) -> ScoredSample:
    """Take the labeled items of a round with their scores; see `pooled_sample`."""
    return pooled_sample([(round_, labels)])


def pooled_sample(rounds: Sequence[tuple[Round, RoundLabels]]) -> ScoredSample:
    """Take the scored items of rounds with the same strata as one sample, of all their windows.

    Raises `NoCurves` if items have no score, or a stratum that holds items no label.
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
    """Take the labeled items of a round, in the order of the draw.

    Raises `NoCurves` if a stratum (of score cells, a class) that holds items has no label.
    """
    return _grouped([labels], sample)[0]


def _grouped(
    rounds: Sequence[RoundLabels], sample: Sample
) -> tuple[LabeledSample, NDArray[np.int64]]:
    """Take the labeled items of rounds with the same strata; and the sample's stratum of each."""
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
    """Scores that each stratum can hold; a class ends at the threshold, where there is one."""
    low, high = [], []
    for part in strata:
        stratum = part.stratum
        floor, ceiling = (threshold, None) if stratum.flagged else (None, threshold)
        lows = [bound for bound in (stratum.low, floor) if bound is not None]
        highs = [bound for bound in (stratum.high, ceiling) if bound is not None]
        low.append(max(lows, default=-np.inf))
        high.append(min(highs, default=np.inf))
    return low, high


def precision_cause(
    now: Tally,
    earlier: Sequence[Counted],
    rows: Sequence[ReportedEstimate] = (),
    *,
    seed: int,
    cells: bool = False,
) -> CauseRow | None:
    """Explain precision in this round alone against all earlier rounds of its history, pooled.

    None without labels on both sides. ``rows`` are the round's estimates, of which "in this round
    alone" repeats the numbers. ``cells``: each class is one rate (`cells_to_pool`).
    """
    if not earlier:
        return None
    before, after = _together(earlier, now), now.counts
    if not (_is_labeled(before) and _is_labeled(after)):
        return None
    # Seeds of their own: from one both windows would draw alike, and differ too little.
    works = [
        _working(counts, seed=seed + i, cells=cells) for i, counts in enumerate((before, after))
    ]
    scale = weighted_matrix if cells else _scaled
    scaled = Working.of_matrix(scale(before)), Working.of_matrix(scale(after))
    change = precision_change(*works, scaled=scaled)
    own = _own_intervals(rows)
    shown = replace(
        change,
        after=own.get("precision", change.after),
        recall_after=own.get("recall", change.recall_after),
    )
    return _row(shown, len(earlier))


def _own_intervals(rows: Sequence[ReportedEstimate]) -> dict[str, Interval]:
    found = (find_row(rows, name, "round") for name in ("precision", "recall"))
    return {
        row.metric: Interval(row.point, row.low, row.high)
        for row in found
        if row is not None
        and row.point is not None
        and row.low is not None
        and row.high is not None
    }


def _together(earlier: Sequence[Counted], now: Tally) -> Counts:
    """Return rounds as one window; where a judge cut them, no strata are added up."""
    rounds = [counted.counts for counted in earlier]
    if not now.is_judged:
        return summed(rounds)
    return side_by_side(rounds)


def _working(counts: Counts, *, seed: int, cells: bool) -> Working:
    if cells:
        posterior, size = cell_posterior(counts), class_sizes(counts)
    else:
        posterior, size = round_posterior(counts), counts.size
    drawn = draw(posterior, seed=seed, points=POINTS, size=size)
    return Working.of_matrix(drawn.rate_matrix(size))


def _scaled(counts: Counts) -> Matrix:
    return scaled_matrix(counts.size, counts.labeled, counts.positive, counts.is_flagged)


def _is_labeled(counts: Counts) -> bool:
    return all(counts.labeled[chosen].any() for chosen in (counts.is_flagged, ~counts.is_flagged))


def _row(change: PrecisionChange, rounds: int) -> CauseRow:
    intervals = {
        name: _triple(interval)
        for name in CauseRow.model_fields
        if isinstance(interval := getattr(change, name, None), Interval)
    }
    return CauseRow(
        rounds=rounds,
        level=change.level,
        sentence=cause_sentence(change, rounds),
        recall_sentence=recall_sentence(change, rounds),
        **intervals,
    )


def _triple(interval: Interval) -> tuple[float, float, float]:
    point, low, high = (round(each, 6) for each in (interval.point, interval.low, interval.high))
    return point, low, high


ROUNDS = 26
"""Rounds that are looked back at for ten positives and ten negatives: half a year of weeks."""

_CHANCE = 0.5


def inverted_order(
    database: Database, batch: HistoryBatch, pictures: Pictures | None
) -> str | None:
    """State that positives have lower scores than negatives, if the labels so far are sure of it.

    Where the due round has no curve, labels of the rounds before it are added, newest first.
    """
    if pictures is not None and pictures.curves is not None:
        point, low, high = pictures.curves.roc_area
        labels = THIS_ROUND
    else:
        rounds = _labeled_rounds(database, batch)
        if not rounds:
            return None
        rng = np.random.default_rng(batch.affected[0].round.sobol_seed)
        area = curve_bands(pooled_sample(rounds), points=3, rng=rng).roc_area
        point, low, high = area.point, area.low, area.high
        labels = last_rounds(len(rounds))
    return inverted_sentence(labels, (point, low, high)) if high < _CHANCE else None


def _labeled_rounds(database: Database, batch: HistoryBatch) -> list[tuple[Round, RoundLabels]]:
    """Read scored labels back from the round that is due; none if they are too few."""
    rounds: list[tuple[Round, RoundLabels]] = []
    positive = negative = 0
    with database.read() as connection:
        ids = [batch.affected[0].round.id, *(each.id for each in batch.earlier[::-1])]
        for round_ in reversed(round_store.read_rounds(connection, ids[:ROUNDS])):
            # The batch has the labels of the due round and later ones; earlier ones are read here.
            labels = batch.labels.get(round_.id) or read_labels(connection, round_)
            try:
                sample = scored_sample(round_, labels)
            except NoCurves:
                continue
            rounds.append((round_, labels))
            positive += int(sample.items.positive.sum())
            negative += int((~sample.items.positive).sum())
            if min(positive, negative) >= FEWEST_FOR_CURVES:
                return rounds
    return []
