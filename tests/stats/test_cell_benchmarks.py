"""The benchmarks of score cells: the same intervals as the monitor's, and designs as named."""

import numpy as np
import pytest

from benchmarks.cell_rounds import cut_into_cells, judged
from benchmarks.challenger import SETTINGS, chances, design_of, differences, window
from benchmarks.coverage_grid import Setting, class_probabilities
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import metric
from monitor.stats.estimation.posterior import estimates


@pytest.mark.parametrize("times", [None, 4], ids=["rates", "window"])
def test_ends_misses_and_points_are_those_of_the_monitors_estimate(times):
    names, points = ("precision", "recall", "f1"), 2**9
    setting = Setting(0.1, 0.9, 0.8, 120, times=times)
    claims = class_probabilities(setting.k, setting.precision, setting.recall)
    design = cut_into_cells(setting, [(claim, claim) for claim in claims])
    positive = design.answers(2, 8, np.random.default_rng(5))
    positive[0, ~design.is_flagged] = 0  # recall then reaches to 1

    found = judged(design, names, 2, positive, points=points)

    for index, answers in enumerate(positive):
        counts = Counts.of_arrays(
            size=design.size,
            labeled=design.plans[2],
            positive=answers,
            is_flagged=design.is_flagged,
        )
        rows = estimates(
            counts, metrics=names, estimands=(design.estimand,), points=points, cells=True
        )
        for place, row in enumerate(rows):
            truth = float(metric(row.metric)(design.truth))
            told = [found.point[place, index], found.low[place, index], found.high[place, index]]
            assert told == pytest.approx([row.point, row.low, row.high], abs=1e-6)
            assert row.interval is not None
            assert found.below[place, index] == (truth < row.interval.low)
            assert found.above[place, index] == (truth > row.interval.high)


@pytest.mark.parametrize("challenger", ["close", "better", "other"])
def test_a_simulated_challenger_is_the_one_of_its_name(challenger):
    design, rng = design_of(SETTINGS[0]), np.random.default_rng(2)
    chance = chances(design, challenger)

    round_, items = window(design, chance, 0, rng)

    labeled = np.bincount(round_.stratum, minlength=len(design.size))
    assert (labeled == design.plans[0]).all()
    assert (items.sum(axis=1) == round_.size).all()
    assert (items[:, [1, 3]].sum(axis=1) == round_.other_flagged).all()
    precision, recall = differences(design, [items])
    signs = {"close": (0, 0.03), "better": (0.02, 0.2), "other": (-0.1, 0.1)}[challenger]
    assert signs[0] <= recall <= signs[1]
    assert -0.15 <= precision <= 0.15
