import numpy as np
import pytest
from scipy import special

from monitor.stats.design.recalibration import Cut, recalibrated_prior, recalibrated_rates

SIZE = np.array([100.0, 200.0, 300.0, 400.0, 9000.0, 4000.0, 2000.0, 1000.0])
UP = np.array([True, True, True, True, False, False, False, False])


def normal_scores():
    """Middle ranks from the lowest passed cell to the highest flagged one."""
    rising = np.concatenate([SIZE[~UP], SIZE[UP]])
    score = special.ndtri((np.cumsum(rising) - rising / 2) / rising.sum())
    return np.concatenate([score[4:], score[:4]])


def test_a_cell_without_labels_has_its_rate_from_a_logistic_regression_on_the_others():
    sm = pytest.importorskip("statsmodels.api")
    labeled = 1e5 * np.array([1, 0, 1, 1, 1, 0, 1, 1])
    positive = 1e5 * np.array([0.5, 0, 0.9, 0.95, 0.01, 0, 0.05, 0.2])
    score = normal_scores()

    rates = recalibrated_rates(SIZE, UP, labeled, positive)

    for members in (UP, ~UP):
        seen = members & (labeled > 0)
        answers = np.stack([positive[seen], labeled[seen] - positive[seen]], axis=1)
        fitted = sm.GLM(answers, sm.add_constant(score[seen]), sm.families.Binomial()).fit()
        empty = members & (labeled == 0)
        expected = fitted.predict(np.stack([np.ones(empty.sum()), score[empty]], axis=1))
        assert rates[empty] == pytest.approx(expected, rel=2e-3)


def test_misses_where_the_line_expects_none_are_soon_believed():
    labeled = np.array([50, 50, 50, 50, 1000, 1e5, 1e5, 1e5])
    quiet = np.array([25, 40, 45, 48, 0, 0.001 * 1e5, 0.02 * 1e5, 0.15 * 1e5])
    after = quiet + np.array([0, 0, 0, 0, 6, 0, 0, 0])

    before, then = recalibrated_rates(SIZE, UP, labeled, np.stack([quiet, after]))

    assert before[4] < 1e-4
    assert then[4] > 0.004


def test_without_labels_of_a_class_nothing_is_claimed():
    rates = recalibrated_rates(SIZE, UP, np.zeros(8), np.zeros(8))

    assert rates == pytest.approx(np.full(8, 0.5))


def test_shapes_that_disagree_are_refused():
    with pytest.raises(ValueError, match="the shape"):
        recalibrated_rates(SIZE, UP, np.zeros(7), np.zeros(8))


def test_items_without_a_score_move_no_other_rate_and_have_that_of_their_class():
    labeled = np.array([50.0, 50, 50, 50, 100, 100, 100, 100])
    positive = np.array([25.0, 40, 45, 48, 0, 1, 2, 9])
    size, up = np.append(SIZE, 500.0), np.append(UP, False)

    for own in (0, 10_000):
        more = np.append(labeled, own), np.append(positive, own / 2)
        rates = recalibrated_rates(size, up, *more, unscored=np.arange(9) == 8)

        assert rates[:8] == pytest.approx(recalibrated_rates(SIZE, UP, labeled, positive))
        passed = (12 + own / 2 + 0.5) / (400 + own + 1)
        worth = min(2 / min(passed, 1 - passed), 200)
        assert rates[8] == pytest.approx((own / 2 + worth * passed) / (own + worth))


def test_what_is_known_of_a_cell_is_as_sure_as_its_labels_and_those_of_the_line():
    labeled = np.array([50.0, 50, 50, 50, 100, 100, 100, 5000])
    positive = np.array([25.0, 40, 45, 48, 0, 1, 2, 450])

    known = recalibrated_prior(SIZE, UP, labeled, positive)

    assert known.rate == pytest.approx(recalibrated_rates(SIZE, UP, labeled, positive))
    sureness = known.alpha + known.beta - labeled
    assert np.all((sureness >= 4) & (sureness <= 200))
    assert (known.source, sureness[4]) == ("cells", pytest.approx(200))


def test_the_doubt_about_a_line_is_that_of_a_logistic_regression():
    sm = pytest.importorskip("statsmodels.api")
    labeled = np.array([5e4, 3e4, 6e4, 5e4, 1e5, 2e5, 1e5, 1e5])
    positive = np.rint(labeled * [0.5, 0.7, 0.9, 0.95, 0.01, 0.02, 0.05, 0.2])
    score = normal_scores()

    joint = joint_of(recalibrated_prior(SIZE, UP, labeled, positive))

    found = joint.loadings @ joint.loadings.T
    for members in (UP, ~UP):
        answers = np.stack([positive[members], labeled[members] - positive[members]], axis=1)
        x = sm.add_constant(score[members])
        fit = sm.GLM(answers, x, sm.families.Binomial()).fit()
        assert found[np.ix_(members, members)] == pytest.approx(
            x @ fit.cov_params() @ x.T, rel=5e-3
        )
        assert joint.mean[members] == pytest.approx(x @ fit.params, rel=5e-3)
    assert found[np.ix_(UP, ~UP)] == pytest.approx(np.zeros((4, 4)))


def test_the_cell_without_scores_is_in_doubt_as_its_class_is():
    labeled = np.array([50.0, 50, 50, 50, 100, 100, 100, 100])
    positive = np.array([25.0, 35, 45, 48, 1, 2, 5, 92])
    unscored = np.arange(8) == 7

    joint = joint_of(recalibrated_prior(SIZE, UP, labeled, positive, unscored))

    alone = joint.loadings[7]
    assert np.count_nonzero(alone) == 1
    assert not (joint.loadings[:7] * (alone != 0)).any()
    share = 100.5 / 401
    assert alone.max() ** 2 == pytest.approx(1 / (401 * share * (1 - share)))


def test_one_cell_in_a_class_is_in_doubt_about_its_level_only():
    known = recalibrated_prior([100, 9000], [True, False], [80, 400], [60, 8])

    joint = joint_of(known)

    rate = np.array([60.5 / 81, 8.5 / 401])
    assert special.expit(joint.mean) == pytest.approx(rate)
    assert joint.loadings @ joint.loadings.T == pytest.approx(
        np.diag(1 / (np.array([81, 401]) * rate * (1 - rate)))
    )


def joint_of(known):
    assert known.joint is not None
    return known.joint


def test_a_cut_adds_its_term_to_the_line():
    size = np.tile(SIZE / 2, 2)
    order = np.concatenate([np.arange(4), np.arange(8, 12), np.arange(4, 8), np.arange(12, 16)])
    up, place, sign = (
        np.tile(UP, 2)[order],
        np.tile([0, 1, 2, 3], 4),
        np.repeat([-1.0, 1.0], 8)[order],
    )
    labeled, empty = np.full(16, 1e5), [1, 14]
    labeled[empty] = 0
    score = np.tile(normal_scores(), 2)[order]
    truth = special.expit(np.where(up, 1.0, -3.0) + 0.5 * score + 2.0 * sign)
    cut = Cut(place, sign[:, np.newaxis])

    rates = recalibrated_rates(size[order], up, labeled, labeled * truth, cut=cut)

    assert rates[empty] == pytest.approx(truth[empty], rel=5e-3)


def test_a_verdict_of_which_nothing_is_known_lies_between_a_yes_and_a_no():
    sign = np.array([-1.0, 1.0, 0.0] * 2)
    cut = Cut(np.zeros(6, dtype=np.int64), np.column_stack([sign, sign == 0]))
    up = np.arange(6) < 3
    labeled = np.array([200.0, 200, 0, 200, 200, 0])

    known = recalibrated_prior(np.full(6, 1000), up, labeled, [20.0, 190, 0, 1, 100, 0], cut=cut)

    assert known.rate[0] < known.rate[2] < known.rate[1]
    assert known.rate[3] < known.rate[5] < known.rate[4]
    assert known.joint is not None
    assert np.isfinite(known.joint.loadings).all()
