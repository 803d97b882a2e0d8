"""How many items of each stratum a round labels, by the best prior rates there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.rounds.sampling.cells import uniform_of
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.score_bands import look_like_probabilities

if TYPE_CHECKING:
    from monitor.domain.model import Frame
    from monitor.domain.settings import RoundSettings


def plan_labels(
    frame: Frame, known: PriorRates | None, settings: RoundSettings, seed: str
) -> Allocation:
    """Plan a round within its margins and budget.

    Parameters
    ----------
    frame
        The counted window.
    known
        What the reference and the earlier rounds of the history say, or None before both. Then
        the launch matrix, then the scores, then nothing steers the plan.
    settings, seed
        Those of the round.
    """
    sizes = [part.size for part in frame.strata]
    is_flagged = [part.stratum.flagged for part in frame.strata]
    return allocate(
        sizes,
        is_flagged,
        prior_rates_of(frame, known, settings),
        margins=settings.sample.margin.wanted() or None,
        max_labels=settings.sample.max_labels,
        cost=label_cost(frame, settings),
        share_by_size=settings.sample.share_by_size,
        assurance=settings.sample.assurance,
        uniform=uniform_of(settings, seed),
    )


def label_cost(frame: Frame, settings: RoundSettings) -> list[float]:
    """Cost of one label of each stratum."""
    cost = settings.sample.cost
    return [cost.flagged if part.stratum.flagged else cost.passed for part in frame.strata]


def prior_rates_of(frame: Frame, known: PriorRates | None, settings: RoundSettings) -> PriorRates:
    """Choose the best that is known of the strata: see `plan_labels`."""
    is_flagged = [part.stratum.flagged for part in frame.strata]
    if known is not None:
        return known
    if settings.reference is not None:
        matrix = settings.reference
        return PriorRates.of_reference(
            tp=matrix.tp, fp=matrix.fp, fn=matrix.fn, tn=matrix.tn, is_flagged=is_flagged
        )
    means = _mean_scores(frame)
    return (
        PriorRates.nothing(is_flagged) if means is None else PriorRates.of_scores(means, is_flagged)
    )


def _mean_scores(frame: Frame) -> list[float] | None:
    """Average the scores of each stratum; None if they cannot be probabilities."""
    scores = [
        np.array([c.score for c in part.candidates if c.score is not None], dtype=np.float64)
        for part in frame.strata
    ]
    seen = np.concatenate(scores)
    if not seen.size or not look_like_probabilities(seen):
        return None
    return [float(s.mean()) if s.size else float("nan") for s in scores]
