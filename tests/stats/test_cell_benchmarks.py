"""The benchmarks of score cells: the designs that they compare are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import cell_assurance, cell_waves
from benchmarks.cell_assurance import history
from benchmarks.cell_coverage import planned
from benchmarks.cell_delay import designs_of, found_by
from benchmarks.cell_pooling import changed, moved, played
from benchmarks.cell_pooling import planned as planned_by_rates
from benchmarks.cell_waves import first_round
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


@pytest.mark.parametrize("waves", ["one", "two", "naive"])
def test_every_way_to_spend_a_first_round_over_cells_spends_its_labels(waves):
    round_ = first_round("Phi3", "good", 450, waves)

    labeled, positive = round_.draw(60, np.random.default_rng(1))

    assert set(labeled.sum(axis=1)) == {450}
    assert labeled.min() >= 2
    assert (positive <= labeled).all()


def test_hidden_misses_take_ten_points_of_recall_and_none_of_precision():
    plain, hidden = (first_round("Phi1", score, 450, "two") for score in ("good", "hidden"))

    assert hidden.truth == pytest.approx((plain.truth[0], plain.truth[1] - 0.1))


def test_the_two_waves_of_cells_are_said_beside_those_of_bands(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["x", "--replicates", "20", "--classifiers", "Phi3"])
    monkeypatch.setattr(cell_waves, "SCORES", ("good",))

    cell_waves.main()

    said = capsys.readouterr().out
    assert "Phi3 good 450           bands, 2" in said
    assert "cells, 2  mean coverage" in said


def test_widths_drawn_at_the_line_ask_for_the_labels_that_cells_by_chance_poor_will_need():
    design = first_round("Phi1", "good", cell_assurance.MANY, "two")

    line, cells = (
        np.mean([history(design, method, seed, rounds=2)[1][0] for seed in range(8)])
        for method in ("line", "cells")
    )

    assert 1.05 * cells < line < 1.2 * cells


def test_the_assurance_of_plans_over_cells_is_said_for_each_case(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["x", "--histories", "1", "--cases", "Phi3 good"])
    monkeypatch.setattr(cell_assurance, "ROUNDS", 2)

    cell_assurance.main()

    said = capsys.readouterr().out
    assert "Phi3 good, seen; needed by the true rates" in said
    assert said.count(" mean") == 2
