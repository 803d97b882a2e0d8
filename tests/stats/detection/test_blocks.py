"""Evidence read block by block: its mean under the best stopping rule, and its correction."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from monitor.stats.detection.alternatives import WEIGHTS, alternatives
from monitor.stats.detection.blocks import correction, prefix_sizes
from monitor.stats.detection.e_detector import log_e_factor, log_e_path, log_ratios
from monitor.stats.detection.half_space import half_space, inside, project
from tests.stats.detection.test_cell_evidence import (
    PRECISION,
    RECALL,
    SIZE,
    TWO,
    answers,
    on_the_limit,
    two_strata,
)

GUESS = np.array([0.86, 0.03])
SIZES = np.array([[1, 0], [2, 0], [2, 2], [3, 5], [4, 6]])  # far from proportion


def path_of(limit, positive, sizes=SIZES):
    return log_e_path(
        limit, [two_strata(*pair) for pair in zip(sizes, positive, strict=True)], GUESS
    )


def values(limit, *, corrected=True):
    """What is read after each block, by the positives up to it, a column per alternative."""
    space = half_space(limit, SIZE, TWO)
    rows = alternatives(limit, SIZE, TWO, GUESS, (0.2, 0.4, 0.8), labeled=SIZES[-1])
    bets = inside(rows), inside(np.array([project(space, row, SIZES[-1]) for row in rows]))
    less = correction(SIZES, *bets) * corrected
    return [
        {
            y: np.exp(log_ratios(np.array([y]), sizes[np.newaxis], *bets)[:, 0] - less[:, k])
            for y in answers(sizes)
        }
        for k, sizes in enumerate(SIZES)
    ]


def best_mean(read, chance):
    """Mean of what is read at the best time to stop, by backward induction."""
    future = read[-1]
    for k in range(len(SIZES) - 2, -1, -1):
        future = {
            y: np.maximum(now, sum(p * future[z] for z, p in chance(k, y)))
            for y, now in read[k].items()
        }
    return sum(p * future[z] for z, p in chance(-1, (0, 0)))


def of_rates(rates):
    """Answers to the next block at these rates."""

    def chance(k, y):
        more = SIZES[k + 1] - (SIZES[k] if k >= 0 else 0)
        for rest in answers(more):
            yield tuple(np.add(y, rest)), np.prod(stats.binom.pmf(rest, more, rates))

    return chance


# --- its mean -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [PRECISION, RECALL], ids=str)
def test_no_rule_to_stop_at_a_block_has_a_mean_over_one_for_rates_that_keep_the_limit(limit):
    read = values(limit)

    best = np.array([best_mean(read, of_rates(rates)) for rates in on_the_limit(limit)])

    assert best.max() <= 1 + 1e-9
    assert best.max() > 0.99  # the bound is sharp


def test_in_a_finite_window_at_its_limit_no_rule_to_stop_is_over_one_by_a_hundredth():
    # 40 flagged items, 32 of them positive, of which 4 are read one by one.
    def chance(k, y):
        seen, more = (SIZES[k] if k >= 0 else np.zeros(2, dtype=int)), SIZES[k + 1]
        up = stats.hypergeom(40 - seen[0], 32 - y[0], more[0] - seen[0])
        for z in range(int(more[0] - seen[0]) + 1):
            if up.pmf(z) > 0:
                yield (y[0] + z, y[1]), up.pmf(z)

    best = best_mean(
        [{y: v @ WEIGHTS for y, v in read.items()} for read in values(PRECISION)], chance
    )

    assert best < 1.01


# --- the correction -------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_the_correction_is_the_largest_mean_that_rates_within_the_limit_can_have(data):
    labeled = np.array(data.draw(st.lists(st.integers(1, 30), min_size=2, max_size=4)))
    prefix = np.array([data.draw(st.integers(0, int(n))) for n in labeled])
    up = np.arange(labeled.size) < labeled.size // 2
    size = np.where(up, 100, 1000)
    limit = data.draw(st.sampled_from([PRECISION, RECALL]))
    space = half_space(limit, size, up)
    guess = np.where(up, 0.8, 0.05) + 0.01 * np.arange(labeled.size)
    [alt] = alternatives(limit, size, up, guess, (0.4,), labeled=labeled)
    x = project(space, alt, labeled)

    [found_c, end] = correction(np.array([prefix, labeled]), alt, x)

    slope, scale = (alt - x) / (x * (1 - x)), np.abs(space.c).max()
    best = optimize.minimize(  # type: ignore[call-overload]
        lambda pi: -prefix @ np.log(np.maximum(1 + (pi - x) * slope, 1e-12)),
        x,
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(space.c / scale, space.d / scale),
        method="SLSQP",
    )
    assert end == 0
    assert found_c >= max(0, -best.fun) - 1e-4
    assert found_c <= 1.2 * -best.fun + 0.5


def test_strata_in_proportion_need_no_correction_whatever_the_rates():
    labeled = np.array([[3, 6], [5, 10], [10, 20]])

    assert correction(labeled, np.array([0.7, 0.2]), np.array([0.75, 0.15])) == pytest.approx(
        [0] * 3
    )


def test_before_the_first_label_there_is_next_to_nothing_to_correct():
    labeled = np.array([[0, 0], [10, 20]])

    [first, _] = correction(labeled, np.array([0.7, 0.2]), np.array([0.75, 0.15]))

    assert 0 <= first < 1e-6


# --- blocks ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 500), min_size=1, max_size=60), st.integers(1, 25))
def test_prefixes_grow_to_the_whole_and_never_stray_an_item_from_proportion(items, blocks):
    sizes = prefix_sizes(items, blocks)

    share = np.arange(1, blocks + 1)[:, np.newaxis] / blocks
    assert sizes[-1].tolist() == items
    assert (np.diff(sizes, axis=0) >= 0).all()
    assert (np.abs(sizes - np.array(items) * share) <= 1).all()


def test_the_path_ends_with_the_evidence_of_the_whole_round():
    positive = np.array([[1, 0], [1, 0], [1, 1], [1, 2], [2, 2]])

    path = path_of(RECALL, positive)

    assert path[-1] == pytest.approx(
        log_e_factor(RECALL, two_strata(SIZES[-1], positive[-1]), GUESS)
    )
    assert path[:-1].any()


@pytest.mark.parametrize("limit", [PRECISION, RECALL], ids=str)
def test_an_answer_that_is_missing_within_a_block_counts_in_favor_of_the_limit(limit):
    lost = np.array([[1, 0], [1, 0], [1, 1], [1, 2], [1, 2]])
    some = [two_strata(n - m, 0 * n) for n, m in zip(SIZES, lost, strict=True)]

    read = log_e_path(limit, some, GUESS, missing=list(lost))

    for up, down in itertools.product(range(2), range(3)):
        answered = np.minimum([up, down], lost)  # so many of the missing are positive
        assert (read <= path_of(limit, answered) + 1e-9).all()
