"""Figures of a version besides its numbers: cause of a change, curves, score order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from monitor.domain.curve_rows import FEWEST_FOR_CURVES, GRID_POINTS, CurvesRow
from monitor.domain.report import CauseRow, ReportedEstimate, find_row
from monitor.domain.round import Round
from monitor.presentation.alerts import cause_sentence, recall_sentence
from monitor.presentation.notices import THIS_ROUND, inverted_sentence, last_rounds
from monitor.rounds.estimation.curves import NoCurves, pooled_sample, scored_sample
from monitor.rounds.estimation.history import cells_to_pool
from monitor.rounds.estimation.label_errors import is_comparable
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.rounds.estimation.types import HistoryBatch
from monitor.rounds.parts.part import ReportedVersion, ReportPart
from monitor.stats.core.counts import Counts, Interval, side_by_side, summed
from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.core.metrics import Matrix
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.drift.attribution import PrecisionChange, Working, precision_change
from monitor.stats.estimation.cell_matrix import cell_posterior, class_sizes, weighted_matrix
from monitor.storage.database import Database
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.rounds import round_store

INVERTED = "inverted"
POINTS = 2**11  # a figure shows two digits, and so does an explanation


class CurvesPart(ReportPart):
    """Curves of this round alone, and why precision changed."""

    name = "curves"

    def fields(self, version: ReportedVersion) -> dict[str, Any]:
        """Compute them; None where the labels do not allow one."""
        round_, tally = version.round, version.tally
        seed, estimate = round_.sobol_seed, version.estimate
        by_class = cells_to_pool(tally.frame, round_.settings.sample) is not None
        return {
            # Labels that are still to come would look like a change of the classifier.
            "cause": precision_cause(
                tally, version.before, estimate.rows, seed=seed, cells=by_class
            )
            if is_comparable(estimate.arrived)
            else None,
            # No label changed: only earlier rounds did, and those curves still hold.
            "curves": _curves(round_, version.labels, seed) if round_.is_changed else None,
        }


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
    estimates = (find_row(rows, name, "round") for name in ("precision", "recall"))
    return {
        row.metric: Interval(row.point, row.low, row.high)
        for row in estimates
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


def inverted_order(database: Database, batch: HistoryBatch, curves: CurvesRow | None) -> str | None:
    """State that positives have lower scores than negatives, if the labels so far are sure of it.

    Where the due round has no curve, labels of the rounds before it are added, newest first.
    """
    if curves is not None:
        point, low, high = curves.roc_area
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
