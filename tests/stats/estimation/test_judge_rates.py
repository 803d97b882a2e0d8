"""A judge's rates by the labels of people, in strata that its verdicts cut."""

import numpy as np
import pytest

from monitor.stats.estimation.judge_rates import judge_rates
from tests.stats.samples import of_strata

UP = np.array([True, True, True, False, False, False])
YES = np.array([False, True, False, False, True, False])
JUDGED = np.array([True, True, False, True, True, False])
SIZE = np.array([400, 1600, 50, 90_000, 2000, 900])
RATE = np.array([0.3, 0.95, 0.8, 0.001, 0.5, 0.02])


def counts(labeled, positive):
    return of_strata(SIZE, labeled, positive, UP)


def true_rates(size=SIZE, rate=RATE, yes=YES, judged=JUDGED):
    """By hand, over the items with a verdict."""
    tp, fp = (float((size * of)[yes].sum()) for of in (rate, 1 - rate))
    no = judged & ~yes
    fn, tn = (float((size * of)[no].sum()) for of in (rate, 1 - rate))
    total = tp + fp + fn + tn
    expected = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / total**2
    kappa = ((tp + tn) / total - expected) / (1 - expected)
    tpr, fpr = tp / (tp + fn), fp / (fp + tn)
    return {"tpr": tpr, "fpr": fpr, "youden_j": tpr - fpr, "kappa": kappa}


def test_with_every_item_labeled_the_points_are_the_shares_and_agreement_by_hand():
    found = judge_rates(counts(SIZE, np.rint(SIZE * RATE).astype(int)), YES, JUDGED)

    for name, value in true_rates().items():
        assert getattr(found, name).point == pytest.approx(value, abs=1e-9)


def test_intervals_hold_the_rates_of_a_process_whose_windows_have_more_or_fewer_verdicts():
    up, yes = np.array([True, False, False, False]), np.array([True, True, False, False])
    judged, rate = np.array([True, True, True, False]), np.array([0.7, 0.2, 0.002, 0.3])
    chance = np.array([0.012, 0.003, 0.935, 0.05])
    truth = true_rates(chance, rate, yes, judged)
    rng, held, rounds = np.random.default_rng(3), dict.fromkeys(truth, 0), 150
    for seed in range(rounds):
        size = rng.multinomial(20_000, chance)
        labeled = np.minimum(size, [200, 60, 200, 100])
        counts = of_strata(size, labeled, rng.binomial(labeled, rate), up)
        found = judge_rates(counts, yes, judged, seed=seed)
        for name, value in truth.items():
            held[name] += getattr(found, name).low <= value <= getattr(found, name).high

    assert all(0.9 < each / rounds < 0.995 for each in held.values()), held


def test_what_nothing_is_known_of_has_a_wide_interval_and_what_is_never_said_none():
    unlabeled = judge_rates(counts(np.zeros(6, dtype=int), np.zeros(6, dtype=int)), YES, JUDGED)
    size = np.where(YES, 0, SIZE)
    never = judge_rates(
        of_strata(size, np.minimum(size, 40), np.zeros(6, dtype=int), UP),
        YES,
        JUDGED,
    )

    assert unlabeled.tpr is not None
    assert unlabeled.tpr.high - unlabeled.tpr.low > 0.8
    assert never.tpr is not None
    assert (never.tpr.low, never.tpr.high) == (0, 0)
