"""Labels per stratum: published sizes, other solvers, invariants, refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from monitor.stats.design.allocation import allocate
from monitor.stats.design.blended import BLENDS, LEAST_PASSED
from monitor.stats.design.neyman import FLOOR, AllocationProblem, coefficients_of, optimum
from monitor.stats.design.notes import FloorsLowered, Remark
from monitor.stats.design.planning import random_sampling_labels
from monitor.stats.design.prior import JointLogits, PriorRates
from monitor.stats.design.prospect import SHARE_BY_SIZE, Prospect
from monitor.stats.design.rounding import at_most_total, rounded_up
from tests.stats.samples import reference

SEED = reference("seed_formulas")
TABLE_4 = {case["name"]: case for case in SEED["sample_size_margin_0_05"]}
UP = np.array([True, False])
Z = float(special.ndtri(0.975))
BOTH = {"precision": 0.05, "recall": 0.05}

# Three flagged and five passed bands of a classifier like the first of Table 4.
SIZES = np.array([20_000, 14_000, 12_000, 600_000, 220_000, 100_000, 50_000, 30_000])
FLAGGED_OF_8 = np.arange(8) < 3
RATES = np.array([0.96, 0.8, 0.55, 0.0005, 0.006, 0.03, 0.09, 0.2])
BANDED = Prospect.of(SIZES, FLAGGED_OF_8, PriorRates.of_rates(RATES))


def problem(sizes, is_flagged, prior_rates, floor=10.0):
    """The inner problem without rounding."""
    coefficients, _ = coefficients_of(sizes, is_flagged, prior_rates)
    low, size = np.minimum(floor, sizes), sizes.astype(float)
    one, none = np.ones(len(sizes)), np.zeros(len(sizes))
    return AllocationProblem(size, is_flagged, low, size, coefficients, none, one, Z)


def two_strata(k, prior_rates):
    """Two strata of a window so large that no size binds."""
    return problem(np.array([round(k * 10**16), 10**16]), UP, prior_rates)


@st.composite
def windows(draw):
    """Sizes, classes and knowledge of up to nine strata, some of them empty or tiny."""
    flagged, passed = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    is_flagged = np.arange(flagged + passed) < flagged
    size = st.integers(0, 30) | st.integers(0, 10**6)
    sizes = np.array(draw(st.lists(size, min_size=len(is_flagged), max_size=len(is_flagged))))
    labeled = draw(st.lists(st.integers(0, 300), min_size=len(sizes), max_size=len(sizes)))
    positive = [draw(st.integers(0, n)) for n in labeled]
    prior = PriorRates.nothing(is_flagged)
    missed = np.array(labeled) - positive
    rounds = PriorRates(prior.alpha + positive, prior.beta + missed, "rounds")
    scores = PriorRates.of_scores(rounds.rate, is_flagged)
    return sizes, is_flagged, draw(st.sampled_from([rounds, scores]))


margin_sets = st.fixed_dictionaries(
    {}, optional={name: st.floats(0.005, 0.3) for name in ("precision", "recall")}
).filter(bool)


# --- published sizes and other solvers ------------------------------------------------------


@pytest.mark.parametrize("name", ["phi1", "phi2", "phi3"])
def test_two_strata_get_the_published_sizes_where_recall_binds_and_for_precision_alone(name):
    case = TABLE_4[name]  # Shang et al. 2023, Table 4, by Eq. 10 and 11
    rates = PriorRates.of_rates([case["precision"], case["pi0"]])

    both, alone = (
        optimum(two_strata(case["k"], rates), margins) for margins in (BOTH, {"precision": 0.05})
    )

    assert alone == pytest.approx([case["n1_precision"], 10], rel=1e-10)
    if name == "phi3":  # the paper floors its ratio at 1 and pays for it
        assert both[0] == pytest.approx(case["n1_precision"], rel=1e-10)  # precision binds too
        assert both.sum() <= case["n1"] + case["n0"]
    else:
        assert both == pytest.approx([case["n1"], case["n0"]], rel=1e-10)


@pytest.mark.parametrize("case", SEED["optimal_ratio_bayes"], ids=lambda case: f"w={case['w']}")
def test_beta_knowledge_gives_the_ratio_of_theorem_2(case):
    a1, b1, a0, b0 = case["zeta"]  # Shang et al. 2023, Theorem 2
    prior_rates = PriorRates(np.array([a1, a0]), np.array([b1, b0]), "rounds")

    labels = optimum(two_strata(case["k"], prior_rates), {"recall": 0.01})

    assert labels[0] / labels[1] == pytest.approx(case["k"] * case["s"], rel=1e-12)


def test_random_sampling_needs_what_its_binomial_variance_says_and_no_more_than_the_window():
    case = TABLE_4["phi1"]
    found, sizes = case["precision"] * case["k"], [46_000_000, 1_000_000_000]
    prevalence = found / case["recall"] / (1 + case["k"])
    expected = case["recall"] * (1 - case["recall"]) * (Z / 0.05) ** 2 / prevalence

    labels = random_sampling_labels(
        Prospect.of(sizes, UP, PriorRates.of_rates([case["precision"], case["pi0"]])), BOTH
    )

    assert labels == pytest.approx(expected, abs=1)
    rates = PriorRates.of_rates([0.5, 0.2])
    assert 48 <= random_sampling_labels(Prospect.of([30, 20], UP, rates), {"recall": 0.001}) <= 50


# --- invariants -----------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(windows(), margin_sets)
def test_a_plan_keeps_its_margins(window, margins):
    sizes, is_flagged, prior_rates = window

    plan = allocate(Prospect.of(sizes, is_flagged, prior_rates), margins=margins)

    assert np.all(plan.labels >= np.minimum(FLOOR, sizes))
    assert np.all(plan.labels <= sizes)
    assert plan.total <= (plan.needed or 0)
    assert plan.total == plan.needed or prior_rates.source == "scores"
    for name in set(margins) & set(plan.margins):
        assert (plan.later or plan.margins)[name] <= margins[name] * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(windows(), margin_sets | st.none(), st.integers(0, 5000))
@example(([0, 0], UP, PriorRates(np.ones(2), np.ones(2), "scores")), None, 10)
def test_a_budget_is_never_passed_and_never_left_without_need(window, margins, budget):
    sizes, is_flagged, prior_rates = window

    plan = allocate(Prospect.of(sizes, is_flagged, prior_rates), margins=margins, max_labels=budget)

    assert np.all((plan.labels >= 0) & (plan.labels <= sizes))
    assert plan.total <= budget
    enough = plan.needed is not None and plan.needed <= budget
    assert enough or plan.total == budget or plan.notes


def test_margins_beyond_the_budget_all_grow_by_one_factor():
    margins = {"precision": 0.02, "recall": 0.03}

    free = allocate(BANDED, margins=margins)
    bound = allocate(BANDED, margins=margins, max_labels=800)

    assert free.total == free.needed == bound.needed
    assert bound.total == 800 < free.total
    growth = [bound.margins[name] / margins[name] for name in margins]
    assert growth[0] == pytest.approx(growth[1], rel=0.01)
    assert growth[0] > 1


def test_a_budget_alone_aims_at_equal_margins():
    plan = allocate(BANDED, max_labels=1200)

    assert plan.total == 1200
    assert plan.asked == {}
    assert plan.needed is None
    assert plan.margins["precision"] <= plan.margins["recall"] * 1.01


def test_a_budget_of_the_whole_window_is_a_census():
    plan = allocate(Prospect.of([30, 200], UP, PriorRates.of_rates([0.8, 0.1])), max_labels=500)

    assert plan.labels.tolist() == [30, 200]
    assert plan.margins == {"precision": 0, "recall": 0}
    assert plan.notes == (Remark.WHOLE_WINDOW,)


@pytest.mark.parametrize(
    ("budget", "labels", "notes"),
    [(24, [5, 5, 4, 5, 5], (FloorsLowered(budget=24, floors=44),)), (44, [10, 10, 4, 10, 10], ())],
)
def test_a_budget_below_the_floors_lowers_them_alike_and_says_so(budget, labels, notes):
    rates = PriorRates.of_rates([0.9, 0.7, 0.5, 0.01, 0.1])

    plan = allocate(Prospect.of([50, 40, 4, 900, 800], np.arange(5) < 3, rates), max_labels=budget)

    assert (plan.labels.tolist(), plan.notes) == (labels, notes)


def test_a_class_without_items_is_said_and_leaves_what_can_be_planned_for():
    rates = PriorRates.of_rates([0.9, 0.1])

    nothing, one, everything = (
        allocate(Prospect.of(sizes, UP, rates), margins=BOTH)
        for sizes in ([0, 900], [1, 900], [900, 0])
    )

    assert (nothing.labels.tolist(), nothing.notes) == ([0, 10], (Remark.NOTHING_FLAGGED,))
    assert one.margins.keys() == {"precision", "recall"}
    assert everything.margins.keys() == {"precision"}
    assert everything.margins["precision"] <= 0.05
    assert everything.notes == (Remark.EVERYTHING_FLAGGED,)


# --- what is known --------------------------------------------------------------------------


def test_with_nothing_known_each_class_gets_half_of_the_budget_by_size():
    unknown = replace(BANDED, prior_rates=PriorRates.nothing(FLAGGED_OF_8))

    plan = allocate(unknown, max_labels=1000)

    assert plan.labels[:3].sum() == plan.labels[3:].sum() == 500
    assert plan.labels[0] > plan.labels[1] > plan.labels[2] >= FLOOR
    assert plan.margins == {}
    assert plan.notes == (Remark.NO_PRIOR,)


def test_with_nothing_known_a_class_too_small_for_half_leaves_the_rest_to_the_other():
    plan = allocate(Prospect.of([30, 9000], UP, PriorRates.nothing(UP)), max_labels=200)

    assert plan.labels.tolist() == [30, 170]


# --- refused inputs -------------------------------------------------------------------------


def plan_of(sizes=(100, 1000), known=None, **asked):
    known = known or PriorRates.of_rates([0.8, 0.1])
    names = {"cost", "uniform", "share_by_size"} & set(asked)
    window = Prospect.of(sizes, UP, known, **{name: asked.pop(name) for name in names})
    return allocate(window, **asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "give margins, max_labels or both"),
        ({"margins": {}}, "give margins, max_labels or both"),
        ({"margins": {"f1": 0.05}}, "got f1=0.05"),
        ({"margins": {"recall": 5}}, "between 0 and 1; got recall=5"),
        ({"max_labels": -1}, "max_labels must be 0 or more, got -1"),
        ({"max_labels": 10, "level": 0}, "level must lie strictly between 0 and 1, got 0"),
        ({"known": PriorRates.nothing(UP), "margins": BOTH}, "give max_labels, a reference m"),
        ({"sizes": [1, 2, 3]}, r"sizes \(3,\), is_flagged \(2,\) and prior_rates \(2,\)"),
        ({"sizes": [-1, 5]}, r"sizes must be 0 or more, got \[-1, 5\]"),
        *[
            ({"cost": cost}, "cost must be one positive number, or one for each")
            for cost in (0.0, [1.0, 1.0, 1.0], np.inf)
        ],
        *[
            ({"margins": BOTH, "assurance": share}, "assurance must lie strictly between 0 and 1")
            for share in (0, 1, -0.2, np.nan)
        ],
        *[
            ({"max_labels": 100, "uniform": chance}, "uniform must lie in")
            for chance in (-0.1, 1.0, np.nan)
        ],
        *[
            ({"max_labels": 100, "share_by_size": share}, "share_by_size must lie in")
            for share in (-0.1, 0.51, np.nan)
        ],
    ],
)
def test_an_impossible_request_is_refused_with_what_was_given(asked, message):
    with pytest.raises(ValueError, match=message):
        plan_of(**asked)


def test_a_plan_a_hair_off_a_whole_number_is_that_number_and_nothing_is_added_to_one():
    plan, up = np.array([2 - 1e-12, 3.0, 1.5, 4.0]), np.array([True, True, False, False])

    assert at_most_total(plan, up, 100).tolist() == [2, 3, 2, 4]
    assert rounded_up(np.array([2 + 1e-12]), np.array([9.0])).tolist() == [2]


# --- what the prior adds --------------------------------------------------------------------


@pytest.mark.parametrize(
    "margins", [BOTH, {"precision": 0.035, "recall": 0.1}, {"recall": 0.1}, {"precision": 0.1}]
)
@pytest.mark.parametrize("doubts", [False, True])
def test_a_general_solver_finds_nothing_cheaper(margins, doubts):
    sizes = np.array([400, 60, 30, 9000, 800, 40])
    rates = PriorRates.of_rates([0.9, 0.6, 0.5, 1e-5 if doubts else 0.004, 0.03, 0.4])
    ours = problem(sizes, np.arange(6) < 3, rates)
    if doubts:
        cost, doubt = [1.0, 1, 1, 2, 2, 2], [0.4, 0.2, 0.2, 900.0, 1.5, 0.3]
        ours = replace(ours, cost=np.array(cost), doubt=np.array(doubt))

    def room(log_labels, name):
        width = ours.half_width(name, np.exp(log_labels))
        return 1 - (width / margins[name]) ** 2

    def total_cost(log_labels: Any) -> float:
        return float(ours.cost @ np.exp(log_labels)) / 1000

    solver: dict[str, Any] = {
        "method": "SLSQP",
        "bounds": optimize.Bounds(np.log(ours.low), np.log(sizes)),
        "constraints": [{"type": "ineq", "fun": room, "args": (name,)} for name in margins],
        "options": {"maxiter": 500, "ftol": 1e-12},
    }

    found = optimize.minimize(total_cost, np.log(np.sqrt(ours.low * sizes)), **solver)
    labels = optimum(ours, margins)

    assert found.success
    assert ours.cost @ labels == pytest.approx(1000 * found.fun, rel=1e-5)
    assert all(ours.half_width(name, labels) <= margins[name] * (1 + 1e-9) for name in margins)


def test_the_variance_with_doubt_is_the_expected_variance_of_the_posterior():
    # E over answers of Var(pi | y) = (a^2 + a n + n (n-1) v) / ((n+2a)^2 (n+2a+1)), v = pi(1-pi).
    pi, n, a = 0.001, 400.0, 0.1
    v = pi * (1 - pi)
    exact = (a**2 + a * n + n * (n - 1) * v) / ((n + 2 * a) ** 2 * (n + 2 * a + 1))
    one = problem(np.array([10**12, 10**12]), UP, PriorRates.of_rates([pi, 0.5]))
    doubting = replace(one, doubt=np.array([a / v, 0.0]))

    width = doubting.half_width("precision", np.array([n, 10.0]))

    assert (width / Z) ** 2 == pytest.approx(exact, rel=0.01)
    assert one.half_width("precision", np.array([n, 10.0])) == pytest.approx(Z * np.sqrt(v / n))


def test_a_census_has_no_width_and_no_labels_all_of_it():
    ours = problem(np.array([50, 200]), UP, PriorRates.of_rates([0.8, 0.1]))
    doubting = replace(ours, doubt=np.array([3.0, 7.0]))

    assert doubting.half_width("recall", np.array([50.0, 200.0])) == 0
    assert doubting.half_width("recall", np.array([50.0 * (1 + 1e-15), 200.0])) == 0
    assert doubting.half_width("recall", np.array([0.0, 200.0])) == 1


# --- what the prior and wrong scores cost ---------------------------------------------------


def test_a_heavy_stratum_that_is_known_to_be_pure_still_gets_labels():
    sizes = np.array([40_000, 12_000, 850_000, 98_000])
    pure = PriorRates.of_rates([0.9, 0.6, 1e-7, 0.2])

    plan = allocate(Prospect.of(sizes, np.array([True, True, False, False]), pure), margins=BOTH)

    # Its variance alone asks for the floor. The prior of the estimate leaves it open to a rate
    # near 1/n, and 1 % of it would be half as many positives as there are.
    assert plan.labels[2] > 5 * FLOOR


def test_wrong_scores_take_at_most_a_twentieth_of_the_labels_that_no_bands_would_give():
    claimed = PriorRates.of_scores(RATES, FLAGGED_OF_8)
    turned = PriorRates(claimed.alpha[::-1], claimed.beta[::-1], claimed.source)
    by_size = np.where(FLAGGED_OF_8, SIZES / SIZES[:3].sum(), SIZES / SIZES[3:].sum())
    totals = np.array([SIZES[:3].sum(), SIZES[3:].sum()])

    plan = allocate(Prospect.of(SIZES[::-1], FLAGGED_OF_8[::-1], turned), max_labels=3000)
    without = allocate(
        Prospect.of(totals, UP, claimed.pooled(SIZES, FLAGGED_OF_8)), max_labels=3000
    )

    least = np.where(FLAGGED_OF_8, without.labels[0], without.labels[1]) * by_size
    assert np.all(plan.labels[::-1] >= 0.95 * least - 1)


def test_a_pilot_asks_for_no_more_than_later_rounds_are_to_need_and_shows_both_widths():
    margins = {"precision": 0.05, "recall": 0.05}
    window = Prospect.of(SIZES, FLAGGED_OF_8, PriorRates.of_scores(RATES, FLAGGED_OF_8))
    believed = replace(window, prior_rates=replace(window.prior_rates, source="rates"))

    plan, short = (allocate(window, margins=margins, max_labels=most) for most in (None, 300))
    later, later_short = (
        allocate(believed, margins=margins, max_labels=most) for most in (None, 300)
    )

    assert (plan.total, plan.needed) == (later.total, later.total)
    assert (short.total, short.needed) == (300, later.total)
    assert (dict(plan.later), dict(short.later)) == (later.margins, later_short.margins)
    assert plan.margins["recall"] > 1.1 * plan.later["recall"]


def test_scores_that_claim_a_low_recall_leave_the_passed_a_quarter_of_the_labels():
    up = np.array([True, True, False, False])
    claimed = PriorRates.of_scores([0.6, 0.7, 0.01, 0.5], up)
    sizes = np.array([100, 100, 5000, 4000])

    plan = allocate(Prospect.of(sizes, up, claimed), max_labels=500)

    assert plan.total == 500
    assert plan.labels[~up].sum() >= LEAST_PASSED * 500 - 2


def test_a_budget_follows_what_the_passed_class_may_hold_and_not_its_mean():
    size, up = np.array([300, 300, 8000, 8000]), np.array([True, True, False, False])
    mean = special.logit(np.array([0.3, 0.3, 0.05, 0.05]))
    loadings = np.zeros((4, 1))
    plans = []
    for doubt in (0.01, 1.5):
        loadings[2:, 0] = doubt  # of the passed class's rate
        known = PriorRates(
            np.full(4, 3.0), np.full(4, 50.0), "cells", JointLogits(mean, loadings.copy())
        )
        plans.append(allocate(Prospect.of(size, up, known, uniform=0.5), max_labels=400).labels)

    assert plans[1][~up].sum() > 1.1 * plans[0][~up].sum()


@pytest.mark.parametrize("uniform", [None, 0.3])
@pytest.mark.parametrize(
    "prior_rates",
    [
        PriorRates.of_rates(RATES),
        PriorRates.of_scores(RATES, FLAGGED_OF_8),
        PriorRates.nothing(FLAGGED_OF_8),
    ],
    ids=["rates", "scores", "nothing"],
)
def test_free_strata_are_labeled_whole_and_the_budget_is_for_the_others(prior_rates, uniform):
    sizes = np.array([200, 140, 120, 6_000, 2_200, 1_000, 500, 300])
    window = Prospect.of(sizes, FLAGGED_OF_8, prior_rates, uniform=uniform, is_free=FLAGGED_OF_8)

    plan = allocate(window, max_labels=400)

    assert plan.labels[FLAGGED_OF_8].tolist() == [200, 140, 120]
    assert plan.labels[~FLAGGED_OF_8].sum() == 400
    assert plan.margins.get("precision", 0.0) == 0


# --- the share of the passed labels that is spread over the passed strata by size -----------------

SIX = np.array([8_000, 9_000, 700_000, 60_000, 20_000, 9_000])
UP_OF_SIX = np.arange(6) < 2
SIX_RATES = np.array([0.6, 0.9, 0.0004, 0.01, 0.08, 0.35])
PASSED_SHARE = SIX[~UP_OF_SIX] / SIX[~UP_OF_SIX].sum()


def shared_plan(share_by_size: float = SHARE_BY_SIZE, **asked: Any) -> Any:
    known = PriorRates.of_rates(SIX_RATES)
    return allocate(Prospect.of(SIX, UP_OF_SIX, known, share_by_size=share_by_size), **asked)


@pytest.mark.parametrize(
    "asked", [{"max_labels": 1200}, {"margins": BOTH}, {"margins": {"recall": 0.04}}]
)
def test_a_quarter_of_the_passed_labels_goes_by_size_and_the_rest_as_the_optimum_has_it(asked):
    plan, passed = shared_plan(**asked), slice(2, None)

    rest = plan.labels[passed] - 0.25 * plan.labels[passed].sum() * PASSED_SHARE

    # The rest is shared out as the plan without the share shares out the same number of labels.
    without = shared_plan(**asked, share_by_size=0).labels[passed]
    assert rest / rest.sum() == pytest.approx(without / without.sum(), abs=0.02)


def test_a_stratum_that_the_optimum_labels_whole_stays_whole():
    sizes = np.array([160, 4_500, 250, 60, 30])
    up = np.array([True, False, False, False, False])
    known = PriorRates.of_rates([0.86, 0.001, 0.05, 0.3, 0.5])

    plans = [
        allocate(Prospect.of(sizes, up, known, share_by_size=share), margins={"recall": 0.03})
        for share in (0, 0.25)
    ]

    assert plans[0].labels[3:].tolist() == plans[1].labels[3:].tolist() == [60, 30]


def test_a_blend_with_less_by_size_is_filled_up_to_the_share_and_one_with_more_is_left(monkeypatch):
    claimed, plans = PriorRates.of_scores(SIX_RATES, UP_OF_SIX), {}
    for blend in (0.1, 0.3):
        monkeypatch.setitem(BLENDS, "scores", blend)
        for share in (0, 0.25):
            window = Prospect.of(SIX, UP_OF_SIX, claimed, share_by_size=share)
            plans[blend, share] = allocate(window, max_labels=2000).labels[2]

    assert plans[0.1, 0.25] > 1.04 * plans[0.1, 0]
    assert plans[0.3, 0.25] == plans[0.3, 0]
