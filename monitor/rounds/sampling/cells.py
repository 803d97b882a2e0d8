"""What earlier rounds say of the score cells of a window, and the chance that rounds a plan."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from monitor.rounds.estimation.history import before_launch
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.detection.alternatives import decayed_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.domain.model import Stratum
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.estimation.tally import Counted
    from monitor.stats.design.prior import PriorRates

_BITS = 52  # a float holds so many after the point


def uniform_of(settings: RoundSettings, seed: str, *, wave: int = 1) -> float | None:
    """Make the one uniform by which a plan over cells becomes whole; None with bands.

    Wave 1 also rounds the plan of the whole round by it.
    """
    if settings.sample.cells is None:
        return None
    digest = hashlib.sha256(f"{seed}/cells/{wave}".encode()).digest()
    return math.ldexp(int.from_bytes(digest[:8]) >> (64 - _BITS), -_BITS)


def rates_of_cells(
    strata: Sequence[Stratum],
    sizes: Sequence[int],
    earlier: Sequence[Counted],
    reference: Mapping[str, tuple[int, int]] | None,
) -> PriorRates | None:
    """Smooth the rates of cells along the score; None without a label.

    strata, sizes: The cells, and how many items of the window each holds.
    earlier: Rounds of the same history in slot order; the newest weighs most, as in the detector's
        guess.
    reference: Positive and labeled per cell from before launch, or None.
    """
    launch = before_launch(strata, reference)
    existing = [*([] if launch is None else [launch]), *(each.counts for each in earlier)]
    if not any(counts.labeled.any() for counts in existing):
        return None
    positive, labeled = decayed_labels(existing)
    return recalibrated_prior(
        sizes,
        [stratum.flagged for stratum in strata],
        labeled,
        positive,
        [stratum.unscored for stratum in strata],
    )
