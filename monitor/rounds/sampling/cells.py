"""What earlier rounds say of the score cells of a window, and the chance that rounds a plan."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import BandEdges, Stratum
from monitor.rounds.estimation.history import before_launch
from monitor.rounds.estimation.judge import cut_of
from monitor.stats.design import score_bands
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.detection.alternatives import decayed_labels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.domain.sample_settings import Sample
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.estimation.tally import Counted
    from monitor.stats.design.prior import PriorRates

_ALL = 10**9  # labels, where there is one for each item
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
        cut_of(strata),
    )


def edges_of(
    flagged: ArrayLike,
    passed: ArrayLike,
    sample: Sample,
    *,
    unscored: bool,
    judged: bool = False,
    few_flagged: bool = False,
) -> BandEdges:
    """Cut the scores of both classes as finely as the settings ask and the labels allow.

    flagged, passed: Scores of each class; NaN without one.
    sample: The settings of the history's first round.
    unscored: Whether items without a score are to have their own band.
    few_flagged: Whether the flagged scores are of all items of the class that can be labeled.
    judged: Whether a judge's verdict cuts them as well, so that the scores are cut half as finely.
    """
    cut, cutting, each = (
        (sample.bands, score_bands.band_edges, score_bands.LABELS_PER_BAND)
        if sample.cells is None
        else (sample.cells, score_bands.cell_edges, score_bands.LABELS_PER_CELL)
    )
    verdicts, labels = 2 if judged else 1, _ALL if sample.max_labels == "all" else sample.base
    up, down = score_bands.affordable_bands(
        max(1, cut.flagged // verdicts),
        max(1, cut.passed // verdicts),
        labels // verdicts,
        each,
    )
    if few_flagged:
        up = max(1, min(up, np.size(flagged) // each))
    return BandEdges(cutting(flagged, up), cutting(passed, down), unscored=unscored, judged=judged)
