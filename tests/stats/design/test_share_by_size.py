"""The share of the passed labels that is spread over the passed strata by size."""

from typing import Any

import numpy as np
import pytest

from monitor.stats.design import allocation
from monitor.stats.design.allocation import allocate
from monitor.stats.design.neyman import FLOOR
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import SHARE_BY_SIZE, Prospect

SIZES = np.array([8_000, 9_000, 700_000, 60_000, 20_000, 9_000])
UP = np.array([True, True, False, False, False, False])
RATES = np.array([0.6, 0.9, 0.0004, 0.01, 0.08, 0.35])
BOTH = {"precision": 0.05, "recall": 0.05}
PASSED_SHARE = SIZES[~UP] / SIZES[~UP].sum()


def plan_of(share_by_size: float = SHARE_BY_SIZE, **asked: Any) -> Any:
    known = PriorRates.of_rates(RATES)
    return allocate(Prospect.of(SIZES, UP, known, share_by_size=share_by_size), **asked)


@pytest.mark.parametrize(
    "asked", [{"max_labels": 1200}, {"margins": BOTH}, {"margins": {"recall": 0.04}}]
)
def test_a_quarter_of_the_passed_labels_goes_by_size_and_the_rest_as_the_optimum_has_it(asked):
    plan, passed = plan_of(**asked), slice(2, None)

    rest = plan.labels[passed] - 0.25 * plan.labels[passed].sum() * PASSED_SHARE

    # The rest is shared out as the plan without the share shares out the same number of labels.
    without = plan_of(**asked, share_by_size=0).labels[passed]
    assert rest / rest.sum() == pytest.approx(without / without.sum(), abs=0.02)


def test_a_stratum_that_the_optimum_labels_whole_stays_whole():
    sizes = np.array([160, 4_500, 250, 60, 30])
    up = np.array([True, False, False, False, False])
    known = PriorRates.of_rates([0.86, 0.001, 0.05, 0.3, 0.5])

    plans = [
        allocate(Prospect.of(sizes, up, known, share_by_size=share), margins={"recall": 0.03})
        for share in (0, 0.25)
    ]

    assert plans[0].labels[3:].tolist() == plans[1].labels[3:].tolist() == [60, 30]


def test_a_blend_with_less_by_size_is_filled_up_to_the_share_and_one_with_more_is_left(monkeypatch):
    claimed, plans = PriorRates.of_scores(RATES, UP), {}
    for blend in (0.1, 0.3):
        monkeypatch.setattr(allocation, "SCORE_BLEND", blend)
        for share in (0, 0.25):
            window = Prospect.of(SIZES, UP, claimed, share_by_size=share)
            plans[blend, share] = allocate(window, max_labels=2000).labels[2]

    assert plans[0.1, 0.25] > 1.04 * plans[0.1, 0]
    assert plans[0.3, 0.25] == plans[0.3, 0]


def test_the_floor_stays_and_strata_of_fewer_items_are_taken_whole():
    sizes = np.array([500, 900_000, 9_000, 2_000, 6])
    up = np.array([True, False, False, False, False])
    known = PriorRates.of_rates([0.9, 0.001, 0.001, 0.001, 0.5])

    plan = allocate(Prospect.of(sizes, up, known), max_labels=300)

    assert plan.labels[4] == 6
    assert plan.labels.min() == 6
    assert np.all(plan.labels[:4] >= FLOOR)
    assert plan.total == 300
