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


def true_rates():
    """By hand, over the items with a verdict."""
    tp, fp = (float((SIZE * of)[YES].sum()) for of in (RATE, 1 - RATE))
    silent_no = JUDGED & ~YES
    fn, tn = (float((SIZE * of)[silent_no].sum()) for of in (RATE, 1 - RATE))
    total = tp + fp + fn + tn
    expected = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / total**2
    kappa = ((tp + tn) / total - expected) / (1 - expected)
    tpr, fpr = tp / (tp + fn), fp / (fp + tn)
    return {"tpr": tpr, "fpr": fpr, "youden_j": tpr - fpr, "kappa": kappa}


def test_with_every_item_labeled_the_points_are_the_shares_and_agreement_by_hand():
    found = judge_rates(counts(SIZE, np.rint(SIZE * RATE).astype(int)), YES, JUDGED)

    for name, value in true_rates().items():
        assert getattr(found, name).point == pytest.approx(value, abs=1e-9)


def test_intervals_hold_the_truth_of_a_process_whose_windows_vary():
    rng, rounds = np.random.default_rng(7), 150
    labeled = np.array([40, 60, 30, 500, 80, 100])
    held = dict.fromkeys(true_rates(), 0)
    for seed in range(rounds):
        size = rng.multinomial(SIZE.sum(), SIZE / SIZE.sum())
        drawn = np.minimum(labeled, size)
        counts = of_strata(size, drawn, rng.binomial(drawn, RATE), UP)
        found = judge_rates(counts, YES, JUDGED, seed=seed)
        for name, value in true_rates().items():
            held[name] += getattr(found, name).low <= value <= getattr(found, name).high

    assert all(0.9 <= each / rounds <= 0.995 for each in held.values()), held


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
