"""Score bands as shown to people; if the strata are score cells, a band is a run of cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from monitor.domain.model import BandEdges, Stratum, Verdict
from monitor.domain.sample_settings import Sample


def bands_of(strata: Sequence[Stratum], sample: Sample) -> list[Stratum]:
    """Return the band of each stratum of a round; a stratum that is a band maps to itself.

    The cells of a class (with a judge: of each verdict on it) are split into runs of nearly equal
    length. Items without a score form a separate band.
    """
    if sample.cells is None:
        return list(strata)
    unscored = any(one.unscored for one in strata)
    judged = any(one.verdict is not None for one in strata)
    cells = {up: [one for one in strata if one.flagged == up and not one.unscored] for up in _BOTH}
    if judged:  # each verdict has the same cells
        cells = {up: [one for one in cells[up] if one.verdict is Verdict.NO] for up in _BOTH}
    most_bands = (sample.bands.flagged, sample.bands.passed)
    runs = {
        up: _runs(len(cells[up]), max(1, most // 2) if judged else most)
        for up, most in zip(_BOTH, most_bands, strict=True)
    }
    flagged, passed = (_inner_edges(cells[up], runs[up]) for up in _BOTH)
    bands = BandEdges(flagged, passed, unscored=unscored, judged=judged).strata()
    result: dict[str, Stratum] = {}
    for up in _BOTH:
        for verdict in Verdict if judged else (None,):
            own, of = (
                [one for one in each if (one.flagged, one.verdict) == (up, verdict)]
                for each in (bands, strata)
            )
            scored = [one for one in of if not one.unscored]
            result |= {cell.name: own[run] for cell, run in zip(scored, runs[up], strict=True)}
        last = [band for band in bands if band.flagged == up][-1]
        result |= {one.name: last for one in strata if one.flagged == up and one.unscored}
    return [result[one.name] for one in strata]


_BOTH = (True, False)


def _runs(cells: int, bands: int) -> list[int]:
    """Return the index of the band of each cell."""
    return [index * min(bands, cells) // cells for index in range(cells)]


def _inner_edges(cells: Sequence[Stratum], runs: Sequence[int]) -> tuple[float, ...]:
    """Return the lower end of each cell that begins a band, except the first."""
    return tuple(
        cell.low
        for cell, (before, here) in zip(cells[1:], pairwise(runs), strict=True)
        if here != before and cell.low is not None
    )
