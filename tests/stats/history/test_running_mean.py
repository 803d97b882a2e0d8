import math

import numpy as np
import pytest
from scipy import integrate, stats

from monitor.stats.history.running_mean import running_interval

ERROR = 0.03


def mixture(total, variance, scale):
    """The martingale that the interval stops at: normal slopes, integrated by quadrature."""

    def weighted(slope):
        likelihood = math.exp(slope * total - slope**2 * variance / 2)
        return likelihood * stats.norm.pdf(slope, scale=scale)

    reach = 12 * scale
    return integrate.quad(weighted, -reach, reach, limit=500, points=[0.0, total / variance])[0]


@pytest.mark.parametrize("rounds", [2, 13, 60])
def test_at_an_end_the_normal_mixture_of_robbins_is_one_over_alpha(rounds):
    errors = [ERROR, *[0.02] * (rounds - 1)]

    interval = running_interval([0.5] * rounds, errors)

    total = (interval.high - interval.point) * rounds
    variance = float(np.square(errors).sum())
    best = -2 * math.log(0.05) + math.log(1 - 2 * math.log(0.05))
    scale = math.sqrt(best / (13 * ERROR**2))
    assert mixture(total, variance, scale) == pytest.approx(20, rel=1e-6)


def test_rounds_that_were_labeled_whole_are_known():
    interval = running_interval([0.5, 0.7], [0.0, 0.0])

    assert (interval.low, interval.point, interval.high) == (0.6, 0.6, 0.6)


def test_ends_stay_inside_zero_and_one():
    interval = running_interval([0.99, 0.02], [0.5, 0.5])

    assert (interval.low, interval.high) == (0.0, 1.0)


@pytest.mark.parametrize(("points", "errors"), [([], []), ([0.5], [0.1, 0.1])])
def test_rounds_without_both_numbers_are_refused(points, errors):
    with pytest.raises(ValueError, match="each round needs one of both"):
        running_interval(points, errors)
