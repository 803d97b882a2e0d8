"""The benchmarks of score cells: the designs that they compare are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import heavy_cell
from benchmarks.cell_delay import designs_of
from benchmarks.cell_pooling import changed, played
from benchmarks.cell_pooling import planned as planned_by_rates
from benchmarks.cell_rounds import cut_into_cells, first_rounds, judged
from benchmarks.cell_waves import first_round
from benchmarks.cells import after_history, cut, scored
from benchmarks.challenger import SETTINGS, chances, design_of, differences, ever_without_0, window
from benchmarks.challenger import run as run_challenger
from benchmarks.coverage_grid import Setting, class_probabilities
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import metric
from monitor.stats.estimation.posterior import estimates


@pytest.mark.parametrize("design", first_rounds(6, seed=3), ids=lambda design: design.name)
def test_rounds_of_cells_spend_the_labels_of_their_setting(design):
    setting, precision, recall = design.setting, metric("precision"), metric("recall")

    assert (design.plans.sum(axis=1) == setting.labels).all()
    if design.positive is None:
        assert precision(design.truth) == pytest.approx(setting.precision, abs=1e-3)
        assert recall(design.truth) == pytest.approx(setting.recall, abs=1e-3)


def test_a_bent_truth_keeps_precision_and_recall():
    straight, bent = (first_rounds(1, seed=4, bent=each)[0] for each in (False, True))

    for name in ("precision", "recall"):
        of = metric(name)
        assert of(bent.truth) == pytest.approx(of(straight.truth), abs=1e-4)
    assert np.abs(bent.rate / straight.rate - 1).max() > 0.1


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


def test_each_replicate_of_a_history_has_its_own_plan_of_the_same_labels():
    design = after_history(cut(scored("Phi3", "good")), 0.25, 300, 3, seed=1)

    assert design.expected.sum(axis=1) == pytest.approx(np.full(3, 300.0))
    assert np.abs(design.expected[0] - design.expected[1]).max() > 0.1


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


def test_a_challenger_is_compared_as_in_a_round_and_by_its_total():
    design = design_of(SETTINGS[0])

    mine, total = (
        run_challenger(design, "better", replicates=6, rounds=2, total=each)
        for each in (False, True)
    )

    assert (mine.covered >= 0.5).all()
    assert (mine.half < total.half).all()
    assert (mine.saved > 1).all()


def test_more_looks_find_by_chance_what_is_not_there():
    shares = ever_without_0((1, 4, 12), 20_000)

    assert shares == pytest.approx([0.05, 0.126, 0.206], abs=0.01)


@pytest.mark.parametrize("case", list(heavy_cell.CASES))
def test_a_heavy_cell_that_holds_most_misses_gets_labels_whatever_the_scores_claim(case):
    design = heavy_cell.heavy(case)
    most_misses = (design.size * design.rate)[-1] / (design.size * design.rate)[20:].sum()

    first, second = (
        np.array([heavy_cell.history(design, seed)[number][0] for seed in range(2)])
        for number in (0, 1)
    )

    assert most_misses > 0.5
    assert (first.sum(axis=1) == heavy_cell.LABELS).all()
    assert (first[:, -1] >= 30).all()  # 2 of 500 in each of nine rounds of ten
    assert (second[:, ~design.is_flagged].sum(axis=1) >= 45).all()


@pytest.mark.simulation
def test_recall_is_covered_where_most_misses_share_one_score(monkeypatch, capsys):
    monkeypatch.setattr(heavy_cell, "CASES", {"claims": heavy_cell.CASES["claims"]})
    monkeypatch.setattr(heavy_cell, "ROUNDS", 1)

    heavy_cell.main(histories=150)

    line = capsys.readouterr().out.splitlines()[-1].split()
    assert float(line[-3]) >= 0.91 - 0.05
    assert float(line[-1]) < 0.05  # .15 with two labels in the tied cell
