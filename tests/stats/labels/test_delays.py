"""The share of the truth that has come by an age, against independent implementations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.stats.labels.delays import Arrivals, arrival_curve, delays_differ, pace_fit

FAR = 1000.0
COARSE = 0.5


def dated(age, bound=FAR, count=1):
    return Arrivals(age, age, count, bound)


def truncated_mle(ages, bounds):
    """Maximize the likelihood of delays given that each is at most its bound, by EM.

    Turnbull, JRSS B 38, 1976: each label stands for the ones like it that its bound hides.
    """
    points = np.unique(ages)
    mass = np.full(len(points), 1 / len(points))
    for _ in range(3_000):
        visible = np.array([mass[points <= bound].sum() for bound in bounds])
        expected = np.array([(ages == point).sum() for point in points], dtype=float)
        for bound, share in zip(bounds, visible, strict=True):
            expected += np.where(points > bound, mass, 0) / share
        mass = expected / expected.sum()
    return points, np.cumsum(mass)


def test_with_rounds_that_began_unseen_it_is_the_kaplan_meier_estimate_of_scipy_in_reverse_time():
    rng = np.random.default_rng(3)
    ages = np.round(rng.gamma(2, 5, 300), 1)
    first_seen = np.where(rng.random(300) < 0.3, np.round(rng.uniform(1, 20, 300), 1), 0)
    is_unseen = ages <= first_seen
    arrivals = [
        Arrivals(None, seen, 1, FAR) if hidden else dated(age)
        for age, seen, hidden in zip(ages, first_seen, is_unseen, strict=True)
    ]

    curve = arrival_curve(arrivals, coarse=COARSE)

    last = np.where(is_unseen, first_seen, ages)
    reverse = stats.ecdf(
        stats.CensoredData.right_censored(-last, is_unseen)  # later in reverse time
    )
    before = -np.nextafter(curve.ages, np.inf)  # what has come by an age: not after it
    assert curve.share == pytest.approx(reverse.sf.evaluate(before), abs=1e-12)


def test_with_young_rounds_it_is_the_maximum_likelihood_estimate_under_truncation():
    rng = np.random.default_rng(4)
    ages, bounds = rng.integers(1, 9, 60).astype(float), np.full(60, 9.0)
    bounds[20:] = np.maximum(ages, rng.integers(2, 10, 60))[20:]
    arrivals = [dated(*pair) for pair in zip(ages, bounds, strict=True)]

    curve = arrival_curve(arrivals, coarse=COARSE)

    points, share = truncated_mle(ages, bounds)
    assert curve.ages == pytest.approx(points)
    assert curve.share == pytest.approx(share, abs=1e-6)


def test_without_truncation_a_share_is_worth_all_labels():
    curve = arrival_curve([dated(age) for age in (1, 2, 2, 3)] * 5, coarse=COARSE)

    assert curve.at(2).share == 0.75
    assert curve.at(2).worth == pytest.approx(20)
    assert curve.at(0.5).share == 0
    assert curve.at(99).share == 1


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20)), min_size=1, max_size=30),
    st.integers(0, 25),
)
def test_shares_ascend_to_one_and_are_worth_something(pairs, age):
    arrivals = [dated(float(of), float(of + more)) for of, more in pairs]

    curve = arrival_curve(arrivals, coarse=COARSE)

    assert np.all(np.diff(curve.share) >= 0)
    assert curve.share[-1] == 1
    assert 0 <= curve.at(age).share <= 1
    assert curve.at(age).worth >= 0


def test_labels_that_were_there_at_first_sight_alone_have_no_age():
    with pytest.raises(ValueError, match="when somebody first looked"):
        arrival_curve([Arrivals(None, 40, 12, 60)], coarse=COARSE)


def test_labels_that_come_as_before_rarely_look_otherwise_and_a_stop_always_does():
    rng = np.random.default_rng(5)
    fits, stopped = [], []
    for _ in range(200):
        old = [dated(age, 60.0) for age in np.minimum(rng.gamma(2, 8, 300), 60)]
        curve = arrival_curve(old, coarse=COARSE)
        young = rng.gamma(2, 8, 150)
        fits.append(pace_fit(curve, 300, [dated(age, 20.0) for age in young[young <= 20]], 60))
        stopped.append(pace_fit(curve, 300, [dated(age, 20.0) for age in young[young <= 8]], 60))

    assert np.mean(np.array(fits) < 0.05) < 0.1
    assert max(stopped) < 0.01


def test_the_test_of_two_groups_is_the_log_rank_test_of_scipy_in_reverse_time():
    rng = np.random.default_rng(4)
    one, other = (np.round(rng.gamma(2, mean / 2, count), 0) for mean, count in ((5, 60), (8, 25)))

    p = delays_differ([dated(age) for age in one], [dated(age) for age in other], coarse=COARSE)

    assert p == pytest.approx(stats.logrank(FAR - one, FAR - other).pvalue)
    assert 1e-6 < p < 0.2


def test_groups_of_young_rounds_are_compared_at_the_ages_they_have_reached():
    old = [dated(age) for age in range(1, 41)]
    young = [dated(age, bound=10) for age in range(1, 11)] * 4

    assert delays_differ(old, young, coarse=COARSE) > 0.5
