"""Runs of equal labels: the exact distribution, and the design effect of labels in runs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.sandbox.stats.runs import runstest_1samp

from monitor.stats.labels.label_runs import label_runs


def runs_of(positive):
    return label_runs(np.array(positive, dtype=bool))


def orders(ones, zeros):
    """All orders of some labels."""
    for places in combinations(range(ones + zeros), ones):
        labels = np.zeros(ones + zeros, dtype=bool)
        labels[list(places)] = True
        yield labels


@pytest.mark.parametrize(("ones", "zeros"), [(1, 1), (1, 6), (3, 4), (5, 5), (7, 2)])
def test_the_probability_is_the_share_of_orders_with_as_few_runs(ones, zeros):
    counted = [runs_of(labels) for labels in orders(ones, zeros)]
    numbers = np.array([each.runs for each in counted])

    for each in counted:
        assert each.probability == pytest.approx(np.mean(numbers <= each.runs))
        assert each.expected == pytest.approx(numbers.mean())


def test_of_many_labels_it_is_that_of_the_normal_test_of_statsmodels():
    rng = np.random.default_rng(4)
    labels = rng.random(3_000) < 0.3

    z, _ = runstest_1samp(labels.astype(float), cutoff=0.5, correction=False)

    assert runs_of(labels).probability == pytest.approx(stats.norm.cdf(z), abs=0.01)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_labels_and_their_opposites_tell_the_same(positive):
    ours, opposite = runs_of(positive), runs_of([not each for each in positive])

    assert 0 <= ours.probability <= 1 <= ours.effect
    assert ours.runs == opposite.runs
    assert ours.probability == pytest.approx(opposite.probability)
    assert ours.effect == pytest.approx(opposite.effect)


def test_labels_without_two_kinds_or_in_turn_tell_of_no_groups():
    assert runs_of([True] * 50).probability == 1
    assert runs_of([True, False] * 50).probability == pytest.approx(1)
    assert runs_of([True, False] * 50).effect == 1


def test_the_effect_of_groups_of_equal_labels_is_nearly_their_size():
    rng = np.random.default_rng(5)
    effects = [runs_of(np.repeat(rng.random(400) < 0.6, 5)).effect for _ in range(200)]

    assert 4 < np.mean(effects) < 5.1


def test_without_any_label_there_are_no_runs():
    with pytest.raises(ValueError, match="no label"):
        runs_of([])
