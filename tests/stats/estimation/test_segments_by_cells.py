"""Segments of a round that was labeled by score cells."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.cells import cut, planned, scored
from monitor.stats.core.counts import Counts
from monitor.stats.design.cell_sizes import systematic_sizes
from monitor.stats.estimation.segment_labels import more_labels
from monitor.stats.estimation.segments import segment_estimates, segment_posterior

WHOLE = Counts.of_matrix(tp=80, fp=20, fn=10, tn=290, flagged_size=900, passed_size=9000)
PART = Counts.of_matrix(tp=2, fp=8, fn=1, tn=29, flagged_size=90, passed_size=900)


def rates(segment, whole, *, cells):
    return segment_estimates(segment, whole, estimands=("rate",), cells=cells, points=2**12)


def test_one_cell_a_class_is_as_one_band_a_class():
    by_cells, by_bands = (rates(PART, WHOLE, cells=cells) for cells in (True, False))

    for ours, theirs in zip(by_cells, by_bands, strict=True):
        found, wanted = ((e.point, e.low, e.high) for e in (ours, theirs))
        assert found == pytest.approx(wanted, abs=5e-3)  # the same law, other draws of it
    for metric in ("precision", "recall"):
        assert more_labels(PART, WHOLE, metric, 0.1, cells=True) == more_labels(
            PART, WHOLE, metric, 0.1
        )


def test_the_rest_counts_at_the_scores_of_the_segment():
    """The segment lies in the upper cell, where few of the flagged are wrong."""
    whole = Counts.of_arrays(
        size=[1000, 1000, 9000], labeled=[200, 200, 100], positive=[60, 190, 1],
        is_flagged=[True, True, False],
    )  # fmt: skip
    part = Counts.of_arrays(
        size=[5, 100, 300], labeled=[1, 2, 4], positive=[0, 2, 0],
        is_flagged=[True, True, False],
    )  # fmt: skip

    found = rates(part, whole, cells=True)[0]

    one = Counts.of_matrix(tp=190, fp=10, fn=1, tn=99, flagged_size=1000, passed_size=9000)
    of_upper = Counts.of_matrix(tp=2, fp=0, fn=0, tn=4, flagged_size=100, passed_size=300)
    law = segment_posterior(of_upper, one).flagged
    wanted = float(law.mean()[0])
    assert found.point == pytest.approx(wanted, abs=0.06)
    assert found.point is not None
    assert found.point > 0.8 > 250 / 400


@pytest.mark.simulation
def test_intervals_of_a_segment_that_is_worse_hold_the_truth():
    design = planned(cut(scored("Phi1", "good")), 1250)
    up, size = design.is_flagged, np.rint(design.size / design.size.sum() * 100_000).astype(int)
    odds = design.rate / (1 - design.rate) * np.where(up, 0.5, 2.0)
    worse, rng, rounds = odds / (1 + odds), np.random.default_rng(5), 60
    held = np.zeros(2)
    for seed in range(rounds):
        mine = rng.binomial(size, 0.2)
        positive, others = rng.binomial(mine, worse), rng.binomial(size - mine, design.rate)
        labeled = np.minimum(systematic_sizes(design.expected, float(rng.random())), size)
        kinds = np.stack([positive, mine - positive, others, size - mine - others])
        found = [rng.multivariate_hypergeometric(kinds[:, h], n) for h, n in enumerate(labeled)]
        y, x, z, _ = np.array(found).T
        part = Counts.of_arrays(size=mine, labeled=y + x, positive=y, is_flagged=up)
        whole = Counts.of_arrays(size=size, labeled=labeled, positive=y + z, is_flagged=up)
        tp, fn = positive[up].sum(), positive[~up].sum()
        rows = segment_estimates(part, whole, seed=seed, cells=True)
        for i, (row, truth) in enumerate(
            zip(rows, (tp / mine[up].sum(), tp / (tp + fn)), strict=True)
        ):
            assert row.low is not None and row.high is not None  # noqa: PT018
            held[i] += row.low <= truth <= row.high

    assert stats.binom(rounds, 0.92).cdf(held).min() > 0.01
