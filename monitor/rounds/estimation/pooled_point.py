"""The confusion matrix of a round with earlier ones: every pooled point is read off it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.rounds.estimation.history import CLASSES, HistoryState
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.history.pooled_rates import pooled_rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.stats.core.beta_mixture import BetaMixture
    from monitor.stats.core.metrics import Matrix

    Values = NDArray[np.float64]


def pooled_matrix(history_state: HistoryState) -> Matrix:
    """Scale the round's rates, drawn toward its history, to the items of the window.

    history_state: The labels of the round, and its prior.
    """
    labeled, positive = zip(
        *(_class_labels(history_state, name, flagged=up) for name, up in CLASSES.items()),
        strict=True,
    )
    now = history_state.now
    return scaled_matrix(
        now.size, np.concatenate(labeled), np.concatenate(positive), now.is_flagged
    )


def _class_labels(
    history_state: HistoryState, name: str, *, flagged: bool
) -> tuple[Values, Values]:
    """Labels of a class, or rates as if one label stood for each stratum."""
    positive, labeled = history_state.now.of_class(flagged=flagged)
    # A round's labels let a change enter unless nothing was known before: one component then.
    is_first = history_state.steps[name].mixture.weight.size == 1 and labeled.any()
    if history_state.before is None or is_first:
        return labeled, positive
    before: BetaMixture = getattr(history_state.before, name)
    size = history_state.now.size[history_state.now.is_flagged == flagged]
    rates = pooled_rates((before.weight, before.alpha, before.beta), positive, labeled, size)
    return np.ones(size.shape), rates
