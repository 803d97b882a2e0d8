"""Curves of a round, and whether its scores order items the wrong way."""

from __future__ import annotations

import numpy as np

from monitor.domain.curve_rows import FEWEST_FOR_CURVES, GRID_POINTS, CurvesRow
from monitor.domain.round import Round
from monitor.presentation.notices import THIS_ROUND, inverted_sentence, last_rounds
from monitor.rounds.estimation.curves import NoCurves, pooled_sample, scored_sample
from monitor.rounds.estimation.types import HistoryBatch
from monitor.rounds.parts.part import ReportedVersion, ReportPart
from monitor.stats.curves.curve_draws import curve_bands
from monitor.storage.database import Database
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.rounds import round_store

INVERTED = "inverted"


class CurvesPart(ReportPart):
    """Curves of this round alone."""

    name = "curves"

    def row(self, version: ReportedVersion) -> CurvesRow | None:
        """Compute the curves; None if no label changed, or the labels do not allow them."""
        round_ = version.round
        # If no label changed, only earlier rounds did, and the last version's curves are valid.
        return _curves(round_, version.labels, round_.sobol_seed) if round_.is_changed else None


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


ROUNDS = 26
"""Most rounds to read for ten positives and ten negatives: half a year of weeks."""

_CHANCE = 0.5


def inverted_order(database: Database, batch: HistoryBatch, curves: CurvesRow | None) -> str | None:
    """Report that positives have lower scores than negatives, if the interval excludes chance.

    If the due round has no curve, adds labels of the rounds before it, newest first.
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
    """Read scored labels from the due round backwards; empty if they are too few."""
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
