"""How sure a plan is of its margins, and plans that are as sure as asked."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from monitor.stats.design.allocation import allocate
from monitor.stats.design.assurance import FutureWidths
from monitor.stats.design.neyman import AllocationProblem
from monitor.stats.design.notes import BudgetShort
from monitor.stats.design.planning import random_sampling_labels
from monitor.stats.design.prior import AnswersOfGroup, JointLogits, PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.estimation.posterior import estimates
from tests.stats.samples import of_strata

SIZES = np.array([8_000, 9_000, 700_000, 60_000, 20_000, 9_000])
UP = np.array([True, True, False, False, False, False])
RATES = np.array([0.6, 0.9, 0.0004, 0.01, 0.08, 0.35])
BOTH = {"precision": 0.05, "recall": 0.05}
KNOWN = PriorRates(200 * RATES + 0.3, 200 * (1 - RATES) + 0.3, "rounds")


def future(known: PriorRates) -> FutureWidths:
    problem, _ = AllocationProblem.of(Prospect.of(SIZES, UP, known), 0.95)
    return FutureWidths.of(problem, known)


def test_the_half_widths_foreseen_are_those_of_intervals_drawn_from_the_same_knowledge():
    labels = np.array([80, 60, 300, 120, 100, 90])
    rng = np.random.default_rng(4)
    found = []
    for _ in range(80):
        rates = rng.beta(KNOWN.alpha, KNOWN.beta)
        counts = of_strata(SIZES, labels, rng.binomial(labels, rates), UP)
        rows = estimates(counts, estimands=("window",), points=2**10)
        found.append([((row.high or 0) - (row.low or 0)) / 2 for row in rows])

    certain = PriorRates(KNOWN.alpha, KNOWN.beta, "reference")  # no doubt is added to these
    widths = future(certain).half_widths(labels)

    for metric, drawn in zip(("precision", "recall"), np.array(found).T, strict=True):
        for share in (0.5, 0.8):  # the whole prior count makes them rather too wide
            ratio = np.quantile(widths[metric], share) / np.quantile(drawn, share)
            assert 0.94 < ratio < 1.16


def test_a_plan_keeps_each_margin_with_the_probability_asked_for_by_as_few_labels_as_that_takes():
    sure = (0.5, 0.8, 0.95)

    plans = [allocate(Prospect.of(SIZES, UP, KNOWN), margins=BOTH, assurance=each) for each in sure]
    expected = allocate(Prospect.of(SIZES, UP, KNOWN), margins=BOTH)

    for assurance, plan in zip(sure, plans, strict=True):
        assert min(plan.assured.values()) >= assurance - 1 / 256
        assert plan.assured["recall"] <= assurance + 0.06
        assert plan.total == plan.needed
    totals = [plan.total for plan in plans]
    assert totals == sorted(set(totals))
    assert expected.total < totals[1]
    assert expected.margins["recall"] == pytest.approx(0.05, rel=0.01)


def test_the_budget_wins_and_the_plan_says_how_sure_it_is():
    plan = allocate(Prospect.of(SIZES, UP, KNOWN), margins=BOTH, max_labels=600, assurance=0.8)

    assert plan.total == 600 < (plan.needed or 0)
    [note] = [note for note in plan.notes if getattr(note, "metric", "") == "recall"]
    assert note == BudgetShort(
        "recall", 0.05, plan.margins["recall"], plan.assured["recall"], 0.8, plan.needed or 0
    )
    assert plan.assured["recall"] < 0.3


def test_a_census_keeps_every_margin():
    known = PriorRates(np.array([6.0, 1.0]), np.array([2.0, 20.0]), "rounds")

    plan = allocate(
        Prospect.of([40, 60], [True, False], known), margins={"recall": 0.001}, assurance=0.9
    )

    assert plan.labels.tolist() == [40, 60]
    assert plan.assured == {"recall": 1.0}


def test_random_sampling_is_asked_for_the_same_assurance():
    known = PriorRates.of_rates([0.79, 0.0178988])
    asked = Prospect.of([46e6, 1000e6], [True, False], known), {"recall": 0.05}

    expected, half, mostly = (
        random_sampling_labels(*asked, assurance=assurance) for assurance in (None, 0.5, 0.8)
    )

    assert expected == half == 6552
    assert 6700 < mostly < 7500


def test_rates_that_are_unsure_together_are_drawn_together():
    mean = np.array([0.5, 1.5, -8.0, -4.0, -2.0, -1.0])
    loadings = np.array([[0.3, 0.2, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.9, 0.5, 0.2, 0.1]]).T

    drawn = special.logit(future(replace(KNOWN, joint=JointLogits(mean, loadings))).rates)

    assert drawn.mean(axis=0) == pytest.approx(mean, abs=0.01)
    assert np.cov(drawn.T) == pytest.approx(loadings @ loadings.T, abs=0.02)


@pytest.mark.parametrize("positive", [6, 60])
def test_a_group_with_many_answers_has_its_own_rate_whatever_the_line_says(positive):
    mean = np.array([0.5, 1.5, -8.0, -7.0, -2.0, -1.0])
    line, labeled = special.expit(mean), np.array([300.0, 300])
    group = AnswersOfGroup(np.array([2, 3]), labeled, positive)
    law = JointLogits(mean, np.zeros((6, 1)), (group,))

    drawn = future(replace(KNOWN, joint=law)).rates

    expected = float(line[2:4].mean())  # the line is worth 50 labels beside 600
    rate = drawn[:, 2:4].mean(axis=1)
    own = stats.beta(positive + 50 * expected, 600 - positive + 50 * (1 - expected))
    assert rate.mean() == pytest.approx(own.mean(), rel=0.02)
    assert rate.std() == pytest.approx(own.std(), rel=0.06)
    assert drawn[:, [0, 1, 4, 5]] == pytest.approx(np.tile(line[[0, 1, 4, 5]], (len(drawn), 1)))
