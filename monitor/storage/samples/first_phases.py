"""How a judge's verdicts cut score cells, and which items it was asked about, for statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import FirstPhase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.domain.model import Stratum, StratumFrame
    from monitor.storage.samples.frame_store import StratumTally


def first_phase_of(strata: Sequence[StratumTally | StratumFrame]) -> FirstPhase | None:
    """Take the items that a judge was asked about, by verdict; None where all sizes are counted."""
    if all(part.judged is None for part in strata):
        return None
    judged = [part.size if part.judged is None else part.judged for part in strata]
    return FirstPhase(np.array(judged), score_cells([part.stratum for part in strata]))


def score_cells(strata: Sequence[Stratum]) -> NDArray[np.int64]:
    """Return the number of the score cell, of a class and scores, that each stratum is cut from."""
    cells: dict[tuple[object, ...], int] = {}
    return np.array(
        [cells.setdefault((of.flagged, of.low, of.high, of.unscored), len(cells)) for of in strata],
        dtype=np.int64,
    )
