"""Which items a judge was asked about, as the statistics take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import FirstPhase

if TYPE_CHECKING:
    from monitor.domain.model import StratumFrame
    from monitor.storage.samples.frame_store import StratumTally


def first_phase_of(strata: Sequence[StratumTally | StratumFrame]) -> FirstPhase | None:
    """Take the items that a judge was asked about, by verdict; None where all sizes are counted.

    Strata of the same class and scores are cut from one score cell.
    """
    if all(part.judged is None for part in strata):
        return None
    cells: dict[tuple[object, ...], int] = {}
    parent = [
        cells.setdefault((of.flagged, of.low, of.high, of.unscored), len(cells))
        for of in (part.stratum for part in strata)
    ]
    judged = [part.size if part.judged is None else part.judged for part in strata]
    return FirstPhase(np.array(judged), np.array(parent))
