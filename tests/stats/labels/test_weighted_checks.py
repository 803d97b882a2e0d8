"""Checks weighted by the items they stand for, and the last change of a column's errors."""

import numpy as np
import pytest

from monitor.stats.labels.weighted_checks import plain_checks, quality_change, weighted_audit

# Checks far from the threshold, in the middle and near it; the items that each stands for.
COUNTS = np.array([[11, 1, 148, 2], [16, 4, 150, 10], [45, 5, 130, 20]])
WEIGHT = np.array([4.0, 1.5, 0.4])
ITEMS = COUNTS * WEIGHT[:, np.newaxis]


def test_shares_are_those_of_the_items_that_checks_stand_for():
    audit = weighted_audit(COUNTS, ITEMS)

    tp, fn, tn, fp = ITEMS.sum(axis=0)
    assert audit.tp / (audit.tp + audit.fn) == pytest.approx(tp / (tp + fn))
    assert audit.tn / (audit.tn + audit.fp) == pytest.approx(tn / (tn + fp))


def test_they_are_worth_as_much_as_a_bootstrap_of_the_checked_items_says():
    rng, replicates = np.random.default_rng(4), 4000
    drawn = [rng.multinomial(n.sum(), n / n.sum(), replicates) for n in COUNTS]
    items = sum(weight * each for weight, each in zip(WEIGHT, drawn, strict=True))

    audit = weighted_audit(COUNTS, ITEMS)

    for right, wrong, first in ((audit.tp, audit.fn, 0), (audit.tn, audit.fp, 2)):
        share = items[:, first] / (items[:, first] + items[:, first + 1])
        both = right + wrong
        assert share.std() == pytest.approx(np.sqrt(right * wrong / both**3), rel=0.15)


def test_one_stratum_is_worth_its_checks():
    assert plain_checks([[19, 3, 100, 8]], [[1.0, 1.0, 1.0, 1.0]]) == (19, 3, 100, 8)


def test_strata_that_nobody_checked_count_for_nothing():
    more = np.vstack([COUNTS[:1], np.zeros((1, 4)), COUNTS[1:]])
    items = np.vstack([ITEMS[:1], np.zeros((1, 4)), ITEMS[1:]])

    assert plain_checks(more, items) == pytest.approx(plain_checks(COUNTS, ITEMS))


GOOD, WORSE, LESS_SPECIFIC = (97, 3, 40, 1), (85, 15, 40, 1), (97, 3, 30, 11)


@pytest.mark.parametrize(
    ("rounds", "newest"),
    [
        ([GOOD] * 5 + [WORSE], 1),
        ([GOOD] * 5 + [WORSE] * 3, 3),
        ([WORSE] * 4 + [GOOD] * 2, 2),
        ([GOOD] * 5 + [LESS_SPECIFIC], 1),
    ],
)
def test_a_change_is_dated_in_either_direction_and_of_either_share(rounds, newest):
    change = quality_change(rounds)

    assert change is not None
    assert change.newest == newest


def test_a_single_round_or_rounds_alike_show_no_change():
    assert quality_change([]) is quality_change([WORSE]) is quality_change([GOOD] * 12) is None


def test_the_probability_is_near_that_of_two_chi_square_tests_without_correction():
    from scipy.stats import chi2_contingency  # noqa: PLC0415

    expected = chi2_contingency([[970, 30], [940, 60]], correction=False).pvalue

    change = quality_change([(970, 30, 40, 1), (940, 60, 40, 1)])

    assert change is not None
    assert change.probability == pytest.approx(2 * expected, abs=6e-4)
