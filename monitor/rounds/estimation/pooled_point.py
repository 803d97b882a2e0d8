"""The confusion matrix of a round with earlier ones: every pooled point is read off it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.rounds.estimation.history import CLASSES, of_class
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.history.pooled_rates import pooled_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.rounds.estimation.history import HistoryState
    from monitor.stats.core.beta_mixture import BetaMixture
    from monitor.stats.core.counts import Counts
    from monitor.stats.core.metrics import Matrix

    Values = NDArray[np.float64]


def pooled_matrix(counts: Counts, known: HistoryState) -> Matrix:
    """Scale the round's rates, drawn toward its history, to the items of the window.

    Parameters
    ----------
    counts
        Sizes and labels of the round.
    known
        What was known before it and is with it.
    """
    labeled, positive = zip(
        *(_class_labels(counts, known, name, flagged=up) for name, up in CLASSES.items()),
        strict=True,
    )
    return scaled_matrix(
        counts.size, np.concatenate(labeled), np.concatenate(positive), counts.is_flagged
    )


def _class_labels(
    counts: Counts, known: HistoryState, name: str, *, flagged: bool
) -> tuple[Values, Values]:
    """Labels of a class, or rates as if one label stood for each stratum."""
    positive, labeled = of_class(counts, flagged=flagged)
    # A round's labels let a change enter unless nothing was known before: one component then.
    is_first = known.steps[name].mixture.weight.size == 1 and labeled.any()
    if known.before is None or is_first:
        return labeled.astype(np.float64), positive.astype(np.float64)
    before: BetaMixture = getattr(known.before, name)
    size = counts.size[counts.is_flagged == flagged]
    rates = pooled_rates((before.weight, before.alpha, before.beta), positive, labeled, size)
    return np.ones(size.shape), rates
