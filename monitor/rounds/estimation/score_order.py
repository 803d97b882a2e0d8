"""Whether labels order the scores the right way round: this round's, or as many as it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.curve_rows import FEWEST_FOR_CURVES
from monitor.presentation.notices import THIS_ROUND, inverted_sentence, last_rounds
from monitor.rounds.estimation.curves import NoCurves, Pictures, pooled_sample, scored_sample
from monitor.stats.curves.curve_draws import curve_bands
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from monitor.rounds.estimation.batch import HistoryBatch
    from monitor.storage.database import Database
    from monitor.storage.rounds.round_store import Round

ROUNDS = 26
"""Rounds that are looked back at for ten positives and ten negatives: half a year of weeks."""

_CHANCE = 0.5


def inverted_order(
    database: Database, batch: HistoryBatch, pictures: Pictures | None
) -> str | None:
    """State that positives have lower scores than negatives, if the labels so far are sure of it.

    Where the round that is due has a curve, that decides; else the labels of the rounds
    before it in its history are pooled, newest first, until there are ten of each kind.
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
