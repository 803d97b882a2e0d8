"""The benchmarks of score cells: the designs that they compare are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cell_coverage import planned
from benchmarks.cell_delay import designs_of, found_by
from benchmarks.cell_pooling import changed, moved, played
from benchmarks.cell_pooling import planned as planned_by_rates
from benchmarks.cells import after_history, cut, low_misses, scored
from benchmarks.coverage_grid import grid


@pytest.mark.parametrize("setting", grid(6, seed=3))
def test_score_cells_spend_the_labels_of_their_setting(setting):
    design = planned(setting, bent=False)

    assert design.expected.sum() == pytest.approx(setting.labels)
    assert design.truth == pytest.approx((setting.precision, setting.recall), abs=1e-4)


def test_a_bent_truth_keeps_precision_and_recall():
    setting = grid(1, seed=4)[0]

    straight, bent = (planned(setting, bent=each) for each in (False, True))

    assert bent.truth == pytest.approx(straight.truth, abs=1e-4)
    assert np.abs(bent.rate / straight.rate - 1).max() > 0.1


def test_bands_and_cells_are_compared_at_the_same_labels_of_each_class():
    for name, design in designs_of((200, 1050)).items():
        up = design.scenario.is_flagged
        labels = design.scenario.labeled if design.expected is None else design.expected
        assert labels[up].sum() == pytest.approx(200, abs=4), name
        assert labels[~up].sum() == pytest.approx(1050, abs=10), name


def test_a_change_of_a_cell_design_moves_precision_or_recall_by_so_much():
    design = cut(scored("Phi1", "good"))
    precision, recall = design.truth

    assert changed(design, -0.05, 0.0).truth == pytest.approx((precision - 0.05, recall))
    assert changed(design, 0.0, 0.03).truth == pytest.approx((precision, recall + 0.03))


def test_scores_that_move_leave_what_cells_pool_covered_at_the_sizes_of_now():
    design = planned_by_rates(cut(scored("Phi1", "good")), 1250)
    after = moved(design)

    present, each = (
        float(played(design, after, 150, present=present).split()[4].split("/")[0])
        for present in (True, False)
    )

    assert (after.rate == design.rate).all()
    assert present > 0.93 > each


def test_each_replicate_of_a_history_has_its_own_plan_of_the_same_labels():
    design = after_history(cut(scored("Phi3", "good")), 0.25, 300, 3, seed=1)

    assert design.expected.sum(axis=1) == pytest.approx(np.full(3, 300.0))
    assert np.abs(design.expected[0] - design.expected[1]).max() > 0.1


def test_new_misses_in_the_lower_half_bias_no_point():
    found = low_misses(scored("Phi1", "good"), 0.25, 5000, 400)

    assert np.abs(found.bias).max() < 0.01


def test_a_larger_drop_is_found_sooner_with_cells():
    design = designs_of((60, 300))["20+40, 0.25 by size"]

    small, large = (float(found_by(design, "recall", by, 40).split()[0]) for by in (0.05, 0.15))

    assert small < 0.5 < large


def test_pooling_cells_is_narrower_than_the_round_alone_in_quiet_times():
    design = planned_by_rates(cut(scored("Phi3", "good")), 300)

    said = played(design, design, 40)

    widths = [float(width) for width in said.split()[1].split("/")]
    assert max(widths) < 0.9
