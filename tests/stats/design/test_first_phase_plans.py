"""Plans and judges' rates where a judge was asked about a sample only."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.stats.core.counts import Counts, FirstPhase, side_by_side
from monitor.stats.design.allocation import allocate
from monitor.stats.design.notes import OutOfReach
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.estimation.judge_rates import judge_rates
from monitor.stats.estimation.posterior import estimates
from monitor.stats.labels.agreement import disagreement
from tests.stats.samples import known, of_strata

PARENT = np.array([0, 1, 0, 1, 2, 3, 2, 3])  # two cells a class, no before yes
UP = np.arange(8) < 4
SIZE = np.array([60, 40, 240, 360, 9_500, 700, 500, 300])
RATE = np.array([0.2, 0.5, 0.9, 0.97, 0.0005, 0.01, 0.6, 0.9])
YES = np.array([False, False, True, True] * 2)
SAMPLE = FirstPhase(np.array([30, 20, 120, 180, 380, 140, 20, 60]), PARENT)


def planned(first_phase, **asked):
    rates = PriorRates.of_rates(RATE)
    window = Prospect.of(SIZE, UP, rates, uniform=0.5, first_phase=first_phase)
    return allocate(window, **asked)


def widths_that_come(plan, rounds, seed):
    """Half-widths of precision and recall in rounds labeled by a plan, a row each."""
    rng, halves = np.random.default_rng(seed), []
    for _ in range(rounds):
        counts = of_strata(SIZE, plan.labels, rng.binomial(plan.labels, RATE), UP, SAMPLE)
        rows = estimates(
            counts, metrics=("precision", "recall"), estimands=("window",), cells=True, points=2**9
        )
        halves.append([(known(row).high - known(row).low) / 2 for row in rows])
    return np.array(halves)


def test_a_plan_labels_only_what_was_judged_and_expects_the_widths_that_come():
    plan = planned(SAMPLE, max_labels=300)

    assert (plan.labels <= SAMPLE.judged).all()
    found = np.mean(widths_that_come(plan, rounds=60, seed=2), axis=0)
    assert found == pytest.approx(list(plan.margins.values()), rel=0.15)
    counted = planned(None, max_labels=300)
    assert plan.margins["recall"] > 1.2 * counted.margins["recall"]


def test_a_margin_within_reach_takes_no_more_labels_than_it_needs():
    both = {"precision": 0.15, "recall": 0.15}

    plan = planned(SAMPLE, margins=both, assurance=0.8)

    assert plan.total < 110  # all 950 judged items: recall .075
    halves = widths_that_come(plan, rounds=150, seed=3)
    assert np.mean(halves <= 0.15, axis=0).min() >= 0.7  # s.e. .03, and that of the plan


def test_a_margin_that_the_shares_put_out_of_reach_is_named():
    wide, narrow = (planned(SAMPLE, margins={"recall": each}) for each in (0.1, 0.03))

    assert wide.margins["recall"] == pytest.approx(0.1, rel=0.06)  # labels are whole
    [note] = narrow.notes
    assert isinstance(note, OutOfReach)
    assert note.metric == "recall"
    assert narrow.margins["recall"] > 0.05
    assert (narrow.labels <= SAMPLE.judged).all()


def test_a_judges_rates_hold_the_truth_where_it_was_asked_about_a_sample():
    rng, labeled = np.random.default_rng(4), np.array([30, 20, 80, 80, 300, 120, 20, 60])
    share = SIZE / SAMPLE.summed(SIZE)
    positive = SIZE * RATE
    truth = [
        positive[YES].sum() / positive.sum(),
        (SIZE - positive)[YES].sum() / (SIZE - positive).sum(),
    ]
    held, held_if_known = np.zeros(2), np.zeros(2)
    for _ in range(100):
        yes = rng.binomial(SAMPLE.of_parent[YES], share[YES])
        judged = SAMPLE.of_parent.copy()
        judged[YES] = yes
        judged[~YES] -= yes
        items = SAMPLE.summed(SIZE)
        n = np.minimum(labeled, judged)
        columns = np.rint(items * judged / SAMPLE.of_parent), n, rng.binomial(n, RATE), UP
        for held_by, sample in ((held, FirstPhase(judged, PARENT)), (held_if_known, None)):
            found = judge_rates(Counts(*columns, sample), YES, np.ones(8, dtype=bool))
            ends = [(each.low, each.high) for each in found[:2] if each is not None]
            held_by += [low <= true <= high for (low, high), true in zip(ends, truth, strict=True)]

    assert (held / 100 > 0.9).all()
    assert (held_if_known / 100).min() < 0.9


def test_first_phases_of_windows_side_by_side_do_not_mix():
    counts = of_strata(SIZE, 0 * SIZE, 0 * SIZE, UP, SAMPLE)

    both = side_by_side([counts, replace(counts, first_phase=None)]).first_phase

    assert both is not None
    assert both.of_parent[:8].tolist() == SAMPLE.of_parent.tolist()
    assert both.of_parent[8:].tolist() == SIZE.tolist()  # counted, each by itself


def test_how_often_people_disagree_is_known_less_well_by_estimated_sizes():
    answers = [20] * 8, [9, 8, 1, 0, 0, 1, 9, 8]

    asked = disagreement(SIZE, *answers, cells=True, first_phase=SAMPLE)

    counted = disagreement(SIZE, *answers, cells=True)
    assert asked.point == counted.point  # type: ignore[union-attr]
    assert asked.high - asked.low > counted.high - counted.low  # type: ignore[union-attr]


def test_a_prospect_of_an_asked_judge_needs_more_labels_than_one_of_a_column():
    rates = PriorRates.of_rates([0.76, 0.92, 0.03, 0.28])
    window = Prospect.of([300, 400, 10_000, 1000], [True, True, False, False], rates, uniform=0.5)

    asked, column = window.judged(0.8, 0.02, items=400), window.judged(0.8, 0.02)

    assert asked.size.tolist() == column.size.tolist()
    assert asked.first_phase.of_parent.max() <= 401  # type: ignore[union-attr]
    widths = [allocate(each, max_labels=300).margins["recall"] for each in (asked, column)]
    assert widths[0] > 1.1 * widths[1]
