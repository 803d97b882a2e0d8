from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.design.cell_counts import (
    GROUP,
    PRIOR,
    PRIOR_OF_VERDICTS,
    cell_counts,
    groups_of_cells,
    rest_of_class,
    unseen_answers,
)
from monitor.stats.estimation.cell_matrix import cell_matrix, cell_posterior
from tests.stats.samples import of_matrix, of_strata

SIZE = np.array([9000.0, 900.0, 100.0])


@pytest.mark.parametrize(("labeled", "positive"), [(40, 10), (40, 0), (1, 1)])
def test_one_cell_per_class_is_the_round_without_cells(labeled, positive):
    counts = of_strata([500, 9000], [labeled, 80], [positive, 3], [True, False])

    found, expected = cell_posterior(counts), round_posterior(counts)

    assert found.flagged.alpha == pytest.approx(expected.flagged.alpha)
    assert found.flagged.beta == pytest.approx(expected.flagged.beta)
    assert found.passed.alpha == pytest.approx(expected.passed.alpha)


def test_the_rate_has_the_mean_of_the_truth_over_all_samples():
    labeled, rates = np.array([6, 5, 4]), np.array([0.02, 0.3, 0.8])
    samples = np.array(list(product(*(range(n + 1) for n in labeled))))
    probability = np.prod(stats.binom.pmf(samples, labeled, rates), axis=1)

    found = cell_counts(SIZE, labeled, samples)

    mean = probability @ (found.positive / found.labeled)[:, 0]
    assert mean == pytest.approx(SIZE @ rates / SIZE.sum(), rel=1e-9)


def test_many_labels_are_worth_what_the_variance_of_the_stratified_estimate_says():
    labeled = np.array([30_000.0, 50_000.0, 40_000.0])
    rates = np.array([0.002, 0.1, 0.6])

    found = cell_counts(SIZE * 10**7, labeled, labeled * rates)

    weight = SIZE / SIZE.sum()
    mean, variance = weight @ rates, weight**2 @ (rates * (1 - rates) / labeled)
    assert found.labeled[0] == pytest.approx(mean * (1 - mean) / variance, rel=1e-3)
    assert found.labeled[0] > 1.5 * labeled.sum()  # the cells are worth something


def test_a_window_of_counted_cells_knows_the_rate_as_well_as_all_of_its_items_at_most():
    labeled, rates = np.array([3e5, 5e5, 4e5]), np.array([0.0, 0.0, 1.0])

    result = cell_counts(SIZE, labeled, labeled * rates)

    assert result.labeled[0] == pytest.approx(SIZE.sum() - 1, rel=1e-2)


def test_groups_follow_the_numbers_of_answers_and_have_ten_at_least():
    labeled = np.random.default_rng(3).integers(0, 9, (200, 40))

    group = groups_of_cells(labeled)

    assert (np.diff(group, axis=1) >= 0).all()
    for cells, of in zip(group, labeled, strict=True):
        assert np.bincount(cells, weights=of).min() >= GROUP
    assert groups_of_cells([0, 3, 2]).tolist() == [0, 0, 0]


def test_a_group_ends_with_its_verdict_where_both_sides_have_answers_enough():
    two_verdicts = np.array([0, 1, 2, 0, 1, 2])

    enough = groups_of_cells([3, 2, 1, 2, 2, 2], cell=two_verdicts)
    too_few = groups_of_cells([6, 5, 4, 1, 1, 1], cell=two_verdicts)
    first_silent = groups_of_cells([0, 0, 0, 9, 9, 9], cell=two_verdicts)

    assert enough.tolist() == [0, 0, 0, 1, 1, 1]
    assert too_few.tolist() == [0, 0, 0, 0, 0, 0]
    assert first_silent.tolist() == [0, 0, 0, 0, 0, 0]


def test_two_verdicts_of_one_cell_are_worth_two_strata_of_plain_labels():
    size, n, y = np.array([60.0, 340.0]), np.array([8, 9]), np.array([2, 9])

    result = cell_counts(size, n, y, cell=np.array([0, 0]))

    weight, prior = size / size.sum(), PRIOR_OF_VERDICTS / n.sum()
    rate = (y / n + prior) / (1 + 2 * prior)
    variance = weight**2 @ (rate * (1 - rate) / (n - 1))
    # Items of the two verdicts are a draw too (Cochran 1977, section 12.2).
    variance += (weight @ rate**2 - (weight @ rate) ** 2) / (size.sum() - 1)
    mean = weight @ rate
    expected = mean * (1 - mean) * n.sum() / (n.sum() - 1) / variance
    assert result.labeled[0] == pytest.approx(expected)
    assert result.labeled[0] > 2 * cell_counts(size, n, y).labeled[0]


def test_a_cell_without_answers_is_like_its_group():
    found = cell_counts([500, 100, 200], [30, 0, 12], [3, 0, 6])
    alike = cell_counts([500, 300], [30, 12], [3, 6])

    assert found.positive / found.labeled == pytest.approx(alike.positive / alike.labeled)


def test_a_class_without_answers_is_worth_nothing():
    found = cell_counts(SIZE, [0, 0, 0], [0, 0, 0])

    assert found.labeled.tolist() == [0.0]
    assert found.positive.tolist() == [0.0]


def test_one_cell_per_class_is_the_window_without_cells():
    counts = of_matrix(11, 3, 2, 60, 20, 200)

    by_cells = cell_matrix(counts, "window")
    by_bands = draw(round_posterior(counts), seed=0).window_matrix(counts)

    assert by_cells.tp.tolist() == by_bands.tp.tolist()
    assert by_cells.fn.tolist() == by_bands.fn.tolist()


def test_the_cells_of_a_window_have_the_variance_of_a_sample_without_replacement():
    size, labeled = np.array([4000, 3000, 1000]), np.array([2000, 600, 900])
    positive = np.array([200, 240, 810])
    counts = of_strata([*size, 9000], [*labeled, 50], [*positive, 5], [True, True, True, False])

    found = cell_matrix(counts, "window").tp

    rate = positive / labeled  # Cochran, Sampling Techniques, 1977, theorem 5.3
    variance = size**2 * (1 - labeled / size) * rate * (1 - rate) / (labeled - 1)
    assert np.var(found) == pytest.approx(variance.sum(), rel=0.02)
    assert np.mean(found) == pytest.approx(size @ rate, rel=1e-3)


def test_the_rest_of_a_window_is_never_worth_more_than_it_can_be():
    nearly_all = rest_of_class([1, 1, 0], [300, 300, 300], [10, 150, 290]).counts
    nothing_left = rest_of_class([0, 0], [30, 30], [3, 9]).counts

    assert 0 < nearly_all.labeled[0] <= 1e6
    assert nothing_left.labeled.tolist() == [0.0]


def covered_share(size, labeled, rates):
    """Share of all rounds whose interval for the rate holds it, by enumeration."""
    samples = np.array(list(product(*(range(n + 1) for n in labeled))))
    chance = np.prod(stats.binom.pmf(samples, labeled, rates), axis=1)
    found = cell_counts(size, labeled, samples)
    alpha, beta = 0.5 + found.positive[:, 0], 0.5 + (found.labeled - found.positive)[:, 0]
    low, high = (special.betaincinv(alpha, beta, end) for end in (0.025, 0.975))
    truth = np.dot(size, rates) / np.sum(size)
    return float(chance @ ((low <= truth) & (truth <= high)))


@pytest.mark.parametrize("expected", [0.2, 0.5])
def test_a_cell_of_most_items_that_shows_no_positive_is_not_taken_to_be_pure(expected):
    covered = covered_share([9700, 300], np.array([200, 60]), np.array([expected / 200, 0.15]))

    assert covered > 0.95  # with a prior shared evenly over the groups it was .930 for .5


def test_what_the_prior_adds_is_its_share_of_the_variance_written_out():
    weight, n, rate = np.array([0.9, 0.1]), np.array([10, 200]), np.array([0.0, 0.3])
    doubted = (rate + PRIOR / 210) / (1 + 2 * PRIOR / 210)
    with_prior, without = (
        weight**2 * each * (1 - each) / (n - 1)  # the unbiased variance of a cell
        for each in (doubted, rate)
    )

    found = unseen_answers([900, 100], n, n * rate)

    assert found.share == pytest.approx(1 - without.sum() / with_prior.sum())
    assert found.moves == pytest.approx(0.9 / 10)  # by one positive of the cell that has none
    assert unseen_answers([900, 100], [0, 0], [0, 0]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("labeled", "positive", "said"),
    [([5, 5], [1, 1], "the shape"), ([5, 5, 5], [6, 0, 0], "0 <= positive <= labeled")],
)
def test_wrong_answers_are_refused(labeled, positive, said):
    with pytest.raises(ValueError, match=said):
        cell_counts(SIZE, labeled, positive)


def test_many_rounds_at_once_are_counted_as_one_by_one():
    rng = np.random.default_rng(5)
    size = rng.integers(0, 5000, 25)
    labeled = rng.integers(0, 12, (3, 4, 25))
    labeled[1, 2] = 0
    positive = rng.binomial(labeled, 0.3)

    found = cell_counts(size, labeled, positive)

    for place in product(range(3), range(4)):
        alone = cell_counts(size, labeled[place], positive[place])
        np.testing.assert_allclose(found.labeled[place], alone.labeled, rtol=1e-12)
        np.testing.assert_allclose(found.positive[place], alone.positive, rtol=1e-12)
