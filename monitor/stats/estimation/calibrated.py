r"""Move items drawn for a comparison to a number of flagged items that was counted.

Shares of "flagged by the second" move on the logit scale, those of stratum h by a common factor
times :math:`N_h/n_h`, until the total fits. This is the conditional draw to first order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats
    from monitor.stats.core.sample import LabeledSample


_HALVINGS = 60  # of a bracket of 400: no float is left between its ends


def flagged_range(items: Floats, flags: Bools) -> tuple[Floats, Floats]:
    """Fewest and most items that can be flagged in each draw: strata that do both may move.

    Items of actual classes and cells have the shape ``(draws, H, 2, K)``, ``flags`` ``(K,)``.
    """
    flagged, passed = (items[..., side].sum(axis=(2, 3)) for side in (flags, ~flags))
    least = np.where(passed == 0, flagged, 0).sum(axis=1)
    most = np.where(flagged > 0, flagged + passed, 0).sum(axis=1)
    return least, most


def calibrated(items: Floats, sample: LabeledSample, flags: Bools, total: int) -> Floats:
    """Move each draw to the counted number of flagged items, one in its ``flagged_range``."""
    flagged, passed = (items[..., side].sum(axis=(2, 3)) for side in (flags, ~flags))
    # The fewer of its items are labeled, the less sure a stratum is, and the further it moves.
    pull = sample.size / np.maximum(sample.labeled, 1)
    moved = _tilted(flagged, passed, pull / pull.max(), total)
    scale = np.ones_like(items)
    for now, then, side in (
        (flagged, moved, flags),
        (passed, flagged + passed - moved, ~flags),
    ):
        ratio = np.divide(then, now, out=np.ones_like(now), where=now > 0)
        scale[..., side] = ratio[:, :, np.newaxis, np.newaxis]
    return items * scale


def _tilted(flagged: Floats, passed: Floats, pull: Floats, total: int) -> Floats:
    """Tilt the flagged items per stratum until their sum is ``total``, by bisection."""
    size = flagged + passed
    # exp(200) moves any share to 0 or 1 as far as a float can, and does not overflow.
    low, high = np.full(len(flagged), -200.0), np.full(len(flagged), 200.0)

    def at(tilt: Floats) -> Floats:
        factor = np.exp(np.clip(tilt[:, np.newaxis] * pull, -200, 200))
        top = flagged * factor
        return np.divide(size * top, top + passed, out=np.zeros_like(size), where=size > 0)

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = at(middle).sum(axis=1) < total
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return at((low + high) / 2)
