r"""Half-widths of precision and recall by score cells, for many outcomes of a round at once.

As ``cell_matrix`` has them, by the delta method: each class is one stratum of the plain labels that
its cells are worth (``cell_counts``), with Jeffreys' prior. It is the items left that
are uncertain, a Beta-binomial number of positives among them (``counts_of_the_rest``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.design.cell_counts import counts_of_the_rest, items_by_chance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.counts import FirstPhase


class _Positives(NamedTuple):
    """Positives of a class by its labels: expected number and variance, shape ``(...)``."""

    mean: Floats
    variance: Floats


def cell_half_widths(
    size: ArrayLike,
    is_flagged: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    *,
    z: float,
    first_phase: FirstPhase | None = None,
) -> dict[str, Floats]:
    """Half-widths of precision and recall, shape ``(...)``, that these answers would give.

    1 where a class with items has no answer. Sizes, classes and numbers of answers, which may be
    expected ones, have the shape ``(H,)``, the cells of a class in order of score; positives
    ``(..., H)``. ``z`` is the standard errors in a half-width.
    """
    items, n, y = (np.asarray(each, dtype=np.float64) for each in (size, labeled, positive))
    up = np.asarray(is_flagged, dtype=np.bool_)
    hits, missed = (
        _positives(
            items[members], n[members], y[..., members], first_phase and first_phase.taken(members)
        )
        for members in (up, ~up)
    )
    flagged, all_positive = float(items[up].sum()), hits.mean + missed.mean
    recall = hits.mean / np.maximum(all_positive, 1e-9)
    spread = (1 - recall) ** 2 * hits.variance + recall**2 * missed.variance
    blind = [bool(items[members].sum() > 0 and n[members].sum() == 0) for members in (up, ~up)]
    widths = {
        "precision": z * np.sqrt(hits.variance) / max(flagged, 1.0),
        "recall": z * np.sqrt(spread) / np.maximum(all_positive, 1e-9),
    }
    unknown = {"precision": blind[0], "recall": any(blind)}
    return {
        name: np.ones_like(half) if unknown[name] else np.minimum(half, 1.0)
        for name, half in widths.items()
    }


def _positives(
    size: Floats, labeled: Floats, positive: Floats, first_phase: FirstPhase | None
) -> _Positives:
    prior, unlabeled = prior_count(1), size - labeled
    worth = counts_of_the_rest(unlabeled, labeled, positive, first_phase)
    counted, items = positive.sum(axis=-1), float(unlabeled.sum())
    by_chance = items_by_chance(unlabeled, labeled, positive, first_phase)
    alpha = prior + worth.positive[..., 0]
    beta = prior + (worth.labeled - worth.positive)[..., 0]
    both = alpha + beta
    variance = (items**2 + by_chance * both) * alpha * beta / (both**2 * (both + 1))
    return _Positives(counted + items * alpha / both, variance)
