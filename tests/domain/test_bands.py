"""The bands that people see over score cells."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.bands import bands_of
from monitor.domain.model import BandEdges
from monitor.domain.sample_settings import Bands, Cells, Sample

inner = st.lists(st.floats(0, 1), max_size=30, unique=True).map(sorted).map(tuple)
edges = st.builds(BandEdges, flagged=inner, passed=inner, unscored=st.booleans())
some_bands = st.builds(Bands, flagged=st.integers(1, 8), passed=st.integers(1, 8))


@given(edges=edges, bands=some_bands)
def test_each_band_is_an_unbroken_run_of_cells_of_one_class_that_spans_their_scores(edges, bands):
    cells = edges.strata()

    found = bands_of(cells, Sample(cells=Cells(), bands=bands))

    runs = [(found[0], [cells[0]])]
    for (_, before), (cell, band) in pairwise(zip(cells, found, strict=True)):
        if band != before:
            runs.append((band, []))
        runs[-1][1].append(cell)
    names = [band.name for band, _ in runs]
    assert len(set(names)) == len(names)
    for band, members in runs:
        assert {(cell.flagged, cell.unscored) for cell in members} == {
            (band.flagged, band.unscored)
        }
        assert (members[0].low, members[-1].high) == (band.low, band.high)


@pytest.mark.parametrize(
    ("cells", "bands", "lengths"),
    [(20, 4, [5, 5, 5, 5]), (7, 3, [3, 2, 2]), (3, 4, [1, 1, 1]), (1, 4, [1])],
)
def test_the_runs_are_of_equal_length_as_nearly_as_they_can(cells, bands, lengths):
    cut = BandEdges(flagged=tuple(range(1, cells)))
    sample = Sample(cells=Cells(), bands=Bands(flagged=bands))

    found = [band.name for band in bands_of(cut.strata(), sample) if band.flagged]

    assert [found.count(name) for name in dict.fromkeys(found)] == lengths


def test_without_cells_the_strata_are_the_bands():
    strata = BandEdges(flagged=(0.7,), passed=(0.1, 0.3), unscored=True).strata()

    assert bands_of(strata, Sample()) == list(strata)
