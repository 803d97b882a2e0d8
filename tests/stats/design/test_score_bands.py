"""Score bands: equal parts, invariants, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.design.score_bands import (
    LABELS_PER_CELL,
    PASSED_BANDS,
    affordable_bands,
    band_edges,
    band_of,
    cell_edges,
    resemble_probabilities,
)

probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=60)
any_scores = probabilities | st.lists(
    st.floats(-50, 50) | st.just(math.nan), min_size=0, max_size=60
)


@pytest.mark.parametrize(
    ("edges_of", "bands", "power"),
    [(band_edges, 2, 0.65), (band_edges, PASSED_BANDS, 0.65), (cell_edges, 40, 0.5)],
)
def test_every_band_holds_its_part_of_the_sum_of_p_times_one_minus_p_to_the_power(
    edges_of, bands, power
):
    scores = np.random.default_rng(1).beta(0.3, 2, size=20_000)

    edges = edges_of(scores, bands)

    weight = (scores * (1 - scores)) ** power
    parts = np.bincount(band_of(scores, edges), weights=weight)
    assert parts == pytest.approx([weight.sum() / bands] * bands, abs=weight.max())


def test_scores_that_are_no_probabilities_are_cut_into_equal_counts():
    scores = np.random.default_rng(2).permutation(np.arange(100.0) - 50)

    edges = band_edges(scores, 5)

    assert list(edges) == [-30, -10, 10, 30]
    assert list(cell_edges(scores, 5)) == list(edges)


@settings(deadline=None)
@given(any_scores, st.integers(1, 8))
def test_edges_rise_are_scores_and_leave_no_band_empty(scores, bands):
    edges = band_edges(scores, bands)

    present = [score for score in scores if not math.isnan(score)]
    assert len(edges) < bands
    assert list(edges) == sorted(set(edges))
    assert set(edges) <= set(present)
    if present:
        bands_of_present = band_of(sorted(present), edges)
        assert set(bands_of_present) == set(range(len(edges) + 1))
        assert list(bands_of_present) == sorted(bands_of_present)


def test_equal_edges_merge_into_fewer_bands():
    assert band_edges([0.5] * 98 + [0.1, 0.9], 5) == (0.5, 0.9)
    assert band_edges([0.5] * 100, 5) == ()


def test_an_infinite_score_has_a_band_and_is_never_an_edge():
    scores = [-math.inf, -1.0, 2.0, math.inf, math.inf, math.inf]

    edges = band_edges(scores, 3)

    assert all(math.isfinite(edge) for edge in edges)
    assert band_of(scores, edges)[-1] == len(edges)


@pytest.mark.parametrize(
    ("scores", "answer"),
    [
        ([0.2, 1.0, 0.0], True),
        ([0.2, math.nan], True),
        ([0.2, 1.1], False),
        ([-0.1, 0.5], False),
        ([0.0, 1.0, 1.0], False),
        ([math.nan], False),
        ([], False),
    ],
)
def test_probabilities_lie_in_zero_one_and_not_only_on_its_ends(scores, answer):
    assert resemble_probabilities(scores) is answer


@pytest.mark.parametrize("edges", [(0.5, 0.5), (0.7, 0.2), (math.nan,)])
def test_fewer_than_one_band_and_edges_that_do_not_rise_are_refused(edges):
    with pytest.raises(ValueError, match="1 band or more, got 0"):
        band_edges([0.1, 0.9], 0)
    with pytest.raises(ValueError, match="edges must rise strictly"):
        band_of([0.1], edges)


@pytest.mark.parametrize(
    ("wanted", "labels", "bands"),
    [
        ((4, 10, 350), (), (4, 10)),
        ((4, 10, 349), (), (3, 9)),
        ((4, 10, 10), (), (1, 1)),
        ((4, 10, 10**6), (), (4, 10)),
        ((20, 40, 360), (LABELS_PER_CELL,), (20, 40)),
        ((20, 40, 359), (LABELS_PER_CELL,), (19, 39)),
    ],
)
def test_bands_are_cut_down_to_25_labels_each_and_cells_to_6(wanted, labels, bands):
    assert affordable_bands(*wanted, *labels) == bands
