"""Whether the labels of a round are sure that the threshold in use keeps its target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.report import NoticeRow
from monitor.presentation.notices import threshold_sentence
from monitor.stats.curves.thresholds import ScoreStrata, precision_p, recall_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.model import Stratum
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.estimation.tally import Counted, Tally
    from monitor.stats.core.arrays import Ints


def threshold_notices(
    now: Tally, earlier: Sequence[Counted], settings: RoundSettings
) -> list[NoticeRow]:
    """Note that the threshold in use is not allowed, by this round and those that its target pools.

    One threshold is tested, so its p-value needs no share of the error. Strata that have no order
    by score (a judge's, items without a score) are not tested, and the notice says so.
    """
    target = settings.threshold_target
    if target is None or settings.threshold is None:
        return []
    rounds = [*earlier, now][-target.rounds :]
    counts = np.sum([_counted(one) for one in rounds], axis=0)
    has_order = not now.is_judged and not any(
        part.unscored and size for part, size in zip(now.frame, counts[0], strict=True)
    )
    strata, _ = score_strata(now.frame, counts, settings.threshold) if has_order else (None, [])
    p = None
    if strata is not None:
        by_precision = target.precision is not None
        p_values = precision_p if by_precision else recall_p
        p = float(p_values(strata, target.value)[strata.current])
        if p <= 1 - target.confidence:
            return []
    sentence = threshold_sentence(settings.threshold, target, p, rounds=len(rounds))
    value = 1.0 if p is None else p
    return [NoticeRow(kind="threshold", subject=target.metric, value=value, sentence=sentence)]


def _counted(one: Counted) -> Ints:
    counts = one.counts
    return np.array([counts.size, counts.labeled, counts.positive])


def score_strata(
    frame: Sequence[Stratum], counts: Ints, threshold: float
) -> tuple[ScoreStrata | None, list[float]]:
    """Order strata from the highest score down; and give each one's lower edge.

    ``counts`` are size, labels and positives, shape ``(3, H)``. Strata without items are left out;
    None if those with some are all flagged or all passed.
    """
    parts = sorted(
        (h for h in range(len(frame)) if counts[0, h]),
        key=lambda h: (not frame[h].flagged, -_low(frame[h])),
    )
    flagged = sum(frame[h].flagged for h in parts)
    if not 0 < flagged < len(parts):
        return None, []
    edges = [_low(frame[h]) for h in parts]
    edges[flagged - 1] = threshold
    return ScoreStrata(*counts[:, parts], flagged=flagged), edges


def _low(stratum: Stratum) -> float:
    return -math.inf if stratum.low is None else stratum.low
