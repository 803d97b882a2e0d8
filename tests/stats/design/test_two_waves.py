"""Two waves of a fixed total: sizes, the line behind them, and the bias that they leave."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from monitor.stats.design.logit_fit import SLOPE_PRECISION
from monitor.stats.design.two_waves import (
    FIT_WORTH,
    LEARNED_SHARE,
    first_wave,
    rates_without_own,
    second_wave,
    towards_optimum,
)

UP = np.array([True, True, True, False, False, False, False])
SIZE = np.array([500, 600, 900, 60_000, 5000, 2500, 1500])
CLAIM = np.array([0.55, 0.75, 0.93, 0.001, 0.02, 0.1, 0.3])
PLACE = special.logit(CLAIM)
PLAN = np.array([20, 24, 36, 300, 30, 20, 16])
FIRST = first_wave(PLAN)
MARGINS = {"precision": 0.05, "recall": 0.05}
LEARNED = np.full(7, LEARNED_SHARE)


def second(found, plan=PLAN, *, size=SIZE, up=UP, place=PLACE, **other):
    """Wave 2 after a first one that all answered."""
    first = other.pop("first", first_wave(plan))
    asked = {"plan": plan, "first": first, "labeled": first, "positive": found} | other
    return second_wave(size, up, place, **asked)


def simulated(rounds=200, rates=CLAIM):
    return np.random.default_rng(1).binomial(FIRST, rates, (rounds, len(SIZE)))


def test_both_waves_together_are_the_plan_whatever_the_first_found():
    found = np.concatenate([simulated(), [np.zeros(7, dtype=int), FIRST]])

    more = second(found)

    assert (more.sum(axis=1) == PLAN.sum() - FIRST.sum()).all()
    assert (more >= 0).all()
    assert (FIRST + more <= SIZE).all()


def test_no_stratum_falls_under_ten_labels_or_a_census():
    found = simulated(50)
    size = np.array([500, 600, 900, 60_000, 5000, 2500, 7])
    plan = np.array([10, 10, 10, 600, 10, 10, 7])
    first = first_wave(plan)

    more = second(np.minimum(found, first), plan, size=size)

    assert ((first + more) >= np.minimum(10, size)).all()
    assert (first + more)[:, -1].tolist() == [7] * 50


def test_a_good_score_moves_labels_from_the_pure_band_to_the_doubtful_ones():
    plan, first = 5 * PLAN, 5 * FIRST
    found = np.random.default_rng(1).binomial(first, CLAIM, (200, 7))

    more = second(found, plan, first=first)

    together = (first + more).mean(axis=0)
    assert together[3] < 0.8 * plan[3]
    assert (together[4:] > 1.6 * plan[4:]).all()


def test_a_class_without_one_positive_has_shown_nothing_so_that_the_plan_stays():
    more = second([4, 7, 14, 0, 0, 0, 0])

    assert (FIRST + more).tolist() == PLAN.tolist()


def test_where_only_precision_has_a_margin_labels_move_to_the_flagged_class():
    more = second([4, 7, 14, 0, 1, 1, 2], margins={"precision": 0.05})

    assert (FIRST + more)[UP].sum() > 2 * PLAN[UP].sum()


def test_a_heavy_band_that_is_nearly_pure_is_not_starved_of_the_labels_that_show_it():
    # recall .99: without the doubt the band would end with 230 of its 360 labels, and recall with
    # an interval wider by half than in one wave
    size = np.array([19_200, 15_600, 18_300, 246_900, 9_927_500, 22_500, 12_500, 20_000, 12_500])
    rate = np.array([0.24, 0.48, 0.73, 0.99, 1e-5, 0.006, 0.014, 0.036, 0.1])
    plan = np.array([10, 10, 10, 13, 360, 11, 11, 10, 10])

    more = towards_optimum(
        size,
        np.arange(9) < 4,
        np.broadcast_to(rate, (9, 9)),
        np.full(9, LEARNED_SHARE),
        plan=plan,
        first=first_wave(plan),
        margins=MARGINS,
    )

    assert first_wave(plan)[4] + more[4] > 0.85 * plan[4]


# scipy before 1.16 says so of its own search.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("margins", [MARGINS, {"recall": 0.1}])
def test_with_the_rates_known_the_widest_interval_is_as_narrow_as_a_numerical_search_makes_it(
    margins,
):
    total = 5_000_000  # so many that the prior's doubt, which the search leaves out, is nothing
    size = 10_000 * SIZE
    plan = np.round(total * PLAN / PLAN.sum()).astype(int)
    rates = np.broadcast_to(CLAIM, (7, 7))

    more = towards_optimum(
        size, UP, rates, LEARNED, plan=plan, first=np.zeros(7, int), margins=margins
    )

    share = (more / plan.sum() - (1 - LEARNED_SHARE) * plan / plan.sum()) / LEARNED_SHARE
    assert variances(share, margins).max() == pytest.approx(least_widest(margins), rel=1e-3)


def variances(share, margins):
    """Variance of each metric at these shares of the labels, with its margin as the unit."""
    tp, positives = SIZE[UP] @ CLAIM[UP], SIZE @ CLAIM
    recall = tp / positives
    gradient = {
        "precision": np.where(UP, SIZE / SIZE[UP].sum(), 0),
        "recall": SIZE / positives * np.where(UP, 1 - recall, -recall),
    }
    spread = CLAIM * (1 - CLAIM) / share
    return np.array([gradient[name] ** 2 @ spread / margins[name] ** 2 for name in margins])


def least_widest(margins):
    """Least t with all variances at most t, over shares that sum to 1; the last entry is log t."""
    share = PLAN / PLAN.sum()
    start: Any = np.append(share, np.log(variances(share, margins).max()))
    bounds: Any = optimize.Bounds([1e-4] * 7 + [-np.inf], [1.0] * 7 + [np.inf])
    constraints: Any = [
        optimize.NonlinearConstraint(lambda at: at[:-1].sum(), 1, 1),
        optimize.NonlinearConstraint(
            lambda at: at[-1] - np.log(variances(at[:-1], margins)), 0, np.inf
        ),
    ]

    def widest(at):
        return at[-1]

    found = optimize.minimize(
        widest, start, method="SLSQP", bounds=bounds, constraints=constraints, tol=1e-12
    )
    return np.exp(found.x[-1])


def test_the_line_is_the_maximum_of_its_penalised_likelihood():
    labeled, positive = FIRST.astype(float), np.array([4.0, 7, 14, 0, 1, 1, 2])
    left_out = 4

    row = rates_without_own(PLACE, UP, labeled, positive)[left_out]

    z = PLACE - np.where(UP, PLACE[UP].mean(), PLACE[~UP].mean())
    z /= z.std()
    half = np.where(UP, 0.5 / 3, 0.5 / 4)
    used = np.arange(7) != left_out

    def loss(at):
        p = special.expit(np.where(UP, at[0], at[1]) + at[2] * z)
        said = (positive + half) * np.log(p) + (labeled - positive + half) * np.log1p(-p)
        return -said[used].sum() + SLOPE_PRECISION * at[2] ** 2 / 2

    best = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    line = special.expit(np.where(UP, best[0], best[1]) + best[2] * z)
    own = (positive + FIT_WORTH * line) / (labeled + FIT_WORTH)
    assert row == pytest.approx(np.where(used, own, line), rel=1e-5)


def test_no_stratum_sees_its_own_answers():
    found = simulated(1)[0].astype(float)
    before = rates_without_own(PLACE, UP, FIRST.astype(float), found)

    for h in range(7):
        other = found.copy()
        other[h] = FIRST[h] if found[h] == 0 else 0
        after = rates_without_own(PLACE, UP, FIRST.astype(float), other)
        assert after[h] == pytest.approx(before[h], rel=1e-9)
        assert np.abs(after / before - 1).max() > 0.1  # the others do see them


def test_enumerated_bias_is_a_fraction_of_what_own_answers_would_leave():
    size, up = np.array([300, 300, 4000, 600]), np.array([True, True, False, False])
    rates, place = np.array([0.6, 0.9, 0.03, 0.3]), np.array([0.4, 2.2, -3.5, -0.8])
    plan = np.array([24, 24, 40, 24])
    first = first_wave(plan)
    found = np.array(list(itertools.product(*(range(n + 1) for n in first))))
    chance = np.prod(stats.binom.pmf(found, first, rates), axis=1)

    def bias(more):
        """E[y/n] - pi, in standard deviations of y/n were the sizes fixed at their mean."""
        n = first + more
        error = chance @ ((found - first * rates) / n)
        return error / np.sqrt(rates * (1 - rates) / (chance @ n))

    without = second(found, plan, size=size, up=up, place=place)
    own = np.repeat(((found + 0.5) / (first + 1))[:, np.newaxis], 4, axis=1)
    learned = np.full(found.shape, LEARNED_SHARE)
    naive = towards_optimum(size, up, own, learned, plan=plan, first=first, margins=MARGINS)

    assert np.abs(bias(naive)).max() > 0.1
    assert np.abs(bias(without)).max() < 0.05


def test_an_empty_stratum_and_one_without_a_score_change_nothing_for_the_others_but_their_part():
    found = simulated(1)[0]
    one_more = {"size": np.append(SIZE, 0), "up": np.append(UP, False)}

    more = second(
        np.append(found, 0), np.append(PLAN, 0), **one_more, place=np.append(PLACE, np.nan)
    )

    assert more[:7].tolist() == second(found).tolist()
    assert more[7] == 0
    unscored = second(found, place=np.where(np.arange(7) == 5, np.nan, PLACE))
    assert unscored.sum() == (PLAN - FIRST).sum()


def test_missing_answers_count_for_the_total_as_handed_out():
    more = second(np.zeros(7, dtype=int), labeled=np.zeros(7, dtype=int))

    assert more.sum() == (PLAN - FIRST).sum()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"positive": FIRST + 1}, "labeled is too small"),
        ({"labeled": FIRST + 1}, "first is too small"),
        ({"plan": FIRST - 1, "first": FIRST}, "plan is too small"),
        ({"positive": [1, 2]}, "must end in the shape of sizes"),
        ({"margins": {"f1": 0.1}}, "margins are of precision and recall"),
        ({"margins": {}}, "margins are of precision and recall"),
        *[({"uniform": chance}, "uniform must lie in") for chance in (-0.1, 1.0, np.nan)],
    ],
)
def test_impossible_numbers_are_refused_by_name(other, said):
    with pytest.raises(ValueError, match=said):
        second(FIRST - 1, **other)


def test_a_verdict_that_tells_the_positives_gets_its_items_more_of_the_second_wave():
    size = np.concatenate([np.tile([100, 200], 2), np.tile([9000, 400], 2)])
    up, verdict = np.arange(8) < 4, np.tile([-1.0, 1.0], 4)
    place = np.array([0.5, 0.5, 1.5, 1.5, -4.0, -4.0, -3.0, -3.0])
    rates = np.tile([0.02, 0.6], 4)
    plan = np.array([20, 20, 20, 20, 200, 20, 200, 20])
    first = first_wave(plan)
    found = np.random.default_rng(3).binomial(first, rates, (200, 8))
    window = {"size": size, "up": up, "place": place}

    blind = second(found, plan, **window).mean(axis=0)
    told = second(found, plan, **window, terms=verdict[:, np.newaxis]).mean(axis=0)

    assert told[[5, 7]].sum() > 1.3 * blind[[5, 7]].sum()
