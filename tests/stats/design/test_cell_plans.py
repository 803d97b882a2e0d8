"""Plans over score cells: against the closed form, whole numbers, the widths that they promise."""

import numpy as np
import pytest

from benchmarks.cells import cut
from benchmarks.strata import population
from monitor.stats.core.metrics import metric
from monitor.stats.design.allocation import allocate
from monitor.stats.design.assurance import cell_half_widths
from monitor.stats.design.cell_sizes import expected_sizes
from monitor.stats.design.notes import FloorsLowered, Remark
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.estimation.cell_matrix import cell_matrix
from tests.stats.samples import of_strata

DESIGN = cut(population("Phi1", "good"))
SIZE = np.rint(DESIGN.size / 1e6).astype(np.int64)  # a window of 100,000
UP = DESIGN.is_flagged
RATES = np.clip(DESIGN.rate, 1e-9, 1 - 1e-9)
KNOWN = PriorRates.of_rates(RATES)
U = (np.arange(24) + 0.5) / 24
CUT = np.array([0, 0, 1, 1])  # one score cell a class, cut by a verdict


def test_cells_in_a_large_window_get_the_labels_of_the_closed_form():
    size = SIZE * 10_000
    wanted = expected_sizes(size, UP, RATES, labels=1000, share=0.25)

    plans = [allocate(Prospect.of(size, UP, KNOWN, uniform=u), max_labels=1000).labels for u in U]

    assert np.mean(plans, axis=0) == pytest.approx(wanted, rel=0.03, abs=0.15)


@pytest.mark.parametrize("budget", [131, 140])
def test_a_budget_is_spent_to_the_label_whatever_the_chance(budget):
    plans = [allocate(Prospect.of(SIZE, UP, KNOWN, uniform=u), max_labels=budget) for u in U]

    assert {plan.total for plan in plans} == {budget}
    assert all(np.all(plan.labels <= SIZE) for plan in plans)
    lowered = [any(isinstance(note, FloorsLowered) for note in plan.notes) for plan in plans]
    assert all(lowered) if budget < 132 else not any(lowered)


def test_every_cell_has_two_labels_and_small_ones_are_labeled_whole():
    size = SIZE.copy()
    size[[3, 30]] = [1, 0]

    plans = np.array(
        [allocate(Prospect.of(size, UP, KNOWN, uniform=u), max_labels=500).labels for u in U]
    )

    assert np.all(plans[:, 3] == 1)
    assert np.all(plans[:, 30] == 0)
    assert np.all(np.delete(plans, [3, 30], axis=1) >= 2)


def test_a_window_of_one_class_is_planned_for_precision_or_looked_at_in_every_cell():
    flagged, passed = (
        allocate(
            Prospect.of(SIZE[of], UP[of], PriorRates.of_rates(RATES[of]), uniform=0.5),
            max_labels=200,
        )
        for of in (UP, ~UP)
    )

    assert (flagged.total, list(flagged.margins)) == (200, ["precision"])
    assert np.all(passed.labels >= 2)
    assert passed.notes == (Remark.NOTHING_FLAGGED, Remark.NO_NARROWER)  # as with bands


def test_half_widths_are_those_of_the_draws():
    labeled = allocate(Prospect.of(SIZE, UP, KNOWN, uniform=0.3), max_labels=1000).labels
    positive = np.random.default_rng(1).binomial(labeled, RATES)

    widths = cell_half_widths(SIZE, UP, labeled, positive, z=1.96)

    for name, half in drawn_widths(labeled, positive).items():
        assert widths[name] == pytest.approx(half, rel=0.04)


def test_a_window_that_a_verdict_cuts_is_planned_by_the_groups_of_its_round():
    size, rates = [40, 360, 9000, 600], [0.2, 0.95, 0.001, 0.05]
    prior, up = PriorRates.of_rates(rates), [True, True, False, False]
    columns = [Prospect.of(size, up, prior, uniform=0.5, cell=cell) for cell in (None, CUT)]

    one_group, by_verdict = (allocate(each, margins={"precision": 0.12}).total for each in columns)

    assert by_verdict < 0.8 * one_group
    [half] = cell_half_widths(size, np.array(up), [6, 6, 6, 6], [[1, 6, 0, 0]], z=2, cell=CUT)[
        "precision"
    ]
    assert half < cell_half_widths(size, np.array(up), [6, 6, 6, 6], [1, 6, 0, 0], z=2)["precision"]


def test_nothing_is_known_of_a_class_without_answers():
    labeled = np.where(UP, 5, 0)

    widths = cell_half_widths(SIZE, UP, labeled, 0 * labeled, z=1.96)

    assert widths["recall"] == 1
    assert widths["precision"] < 1


@pytest.mark.parametrize("margin", [0.03, 0.1, 0.15])
def test_margins_without_an_assurance_are_kept_on_average(margin):
    plan = allocate(Prospect.of(SIZE, UP, KNOWN, uniform=0.3), margins={"recall": margin})

    found = widths_that_come(plan, seed=5)["recall"]
    assert np.mean(found) == pytest.approx(margin, rel=0.05)
    assert plan.notes == ()


def test_margins_are_kept_as_often_as_asked():
    margins = {"precision": 0.07, "recall": 0.07}

    plan = allocate(Prospect.of(SIZE, UP, KNOWN, uniform=0.3), margins=margins, assurance=0.8)

    found = widths_that_come(plan, seed=2)
    kept = {name: np.mean(halves <= 0.07) for name, halves in found.items()}
    assert min(kept.values()) == pytest.approx(0.8, abs=0.08)  # s.e. .04, and that of the plan
    assert plan.assured == pytest.approx(kept, abs=0.08)


@pytest.mark.parametrize("assurance", [None, 0.8])
@pytest.mark.parametrize("uniform", [0.1, 0.37])
def test_margins_that_only_all_items_keep_take_all_items(uniform, assurance):
    known = PriorRates(np.array([8.5, 1.5]), np.array([2.5, 9.5]), "rounds")
    window = Prospect.of([10, 10], [True, False], known, uniform=uniform)

    plan = allocate(window, margins={"precision": 0.05, "recall": 0.05}, assurance=assurance)

    assert plan.labels.tolist() == [10, 10]
    assert plan.notes == ()


@pytest.mark.parametrize(
    ("size", "scores", "uniform"),
    [([30, 10, 40], [0.68, 0.31, 0.05], 0.2), ([10, 390, 180], [0.82, 0.31, 0.22], 0.8)],
)
def test_a_search_that_leaps_over_a_margin_ends_with_a_plan_that_keeps_it(size, scores, uniform):
    up = np.array([True, False, False])
    window = Prospect.of(size, up, PriorRates.of_scores(scores, up), uniform=uniform)

    plan = allocate(window, margins={"precision": 0.1, "recall": 0.05})

    assert plan.later["precision"] <= 0.1  # a pilot asks for what later rounds need
    assert plan.later["recall"] <= 0.05
    assert plan.total < sum(size)


def widths_that_come(plan, seed):
    """Half-widths of each metric in a hundred rounds labeled by a plan."""
    answers = np.random.default_rng(seed).binomial(plan.labels, RATES, size=(100, len(SIZE)))
    found = [drawn_widths(plan.labels, y, points=2**9) for y in answers]
    return {name: np.array([each[name] for each in found]) for name in ("precision", "recall")}


def drawn_widths(labeled, positive, points=2**12):
    counts = of_strata(SIZE, labeled, positive, UP)
    draws = cell_matrix(counts, "window", points=points)
    ends = {
        name: np.quantile(metric(name)(draws), [0.025, 0.975]) for name in ("precision", "recall")
    }
    return {name: (high - low) / 2 for name, (low, high) in ends.items()}
