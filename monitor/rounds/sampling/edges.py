"""Where the scores of each predicted class are cut when a history opens: into cells or bands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.model import BandEdges
from monitor.stats.design.score_bands import (
    LABELS_PER_CELL,
    affordable_bands,
    band_edges,
    cell_edges,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.domain.sample_settings import Sample


def edges_of(flagged: ArrayLike, passed: ArrayLike, sample: Sample, *, unscored: bool) -> BandEdges:
    """Cut the scores of both classes as finely as the settings ask and the labels allow.

    flagged, passed: Scores of each class; NaN without one.
    sample: The settings of the history's first round.
    unscored: Whether items without a score are to have their own band.
    """
    bands, cells = sample.bands, sample.cells
    if cells is None:
        up, down = affordable_bands(bands.flagged, bands.passed, sample.max_labels)
        inner = band_edges(flagged, up), band_edges(passed, down)
    else:
        up, down = affordable_bands(cells.flagged, cells.passed, sample.max_labels, LABELS_PER_CELL)
        inner = cell_edges(flagged, up), cell_edges(passed, down)
    return BandEdges(*inner, unscored=unscored)
