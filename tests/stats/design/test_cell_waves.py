"""Two waves of a first round over score cells: how they become whole, and what they spend."""

import numpy as np
import pytest
from scipy import special

from monitor.stats.design.two_waves import FIRST_SHARE, first_wave, second_wave

CELLS = 60
UP = np.arange(CELLS) < 20
RATE = special.expit(np.concatenate([np.linspace(0, 3, 20), np.linspace(-7, -0.5, 40)]))
SIZE = np.concatenate([np.full(20, 30), np.geomspace(20_000, 60, 40).astype(int)])
PLAN = np.concatenate([np.full(20, 2), [90, 40], np.full(38, 3)])


def second(first, found, uniform, **other):
    asked = {"plan": PLAN, "first": first, "labeled": first, "positive": found} | other
    return second_wave(SIZE, UP, special.logit(RATE), uniform=uniform, **asked)


def found_in(first, rounds):
    return np.random.default_rng(1).binomial(first, RATE, (rounds, CELLS))


@pytest.mark.parametrize("uniform", [0.0, 0.3, 0.999])
def test_wave_1_of_many_cells_with_few_labels_is_its_share_of_the_plan_and_no_more(uniform):
    first = first_wave(PLAN, uniform)

    assert abs(first.sum() - FIRST_SHARE * PLAN.sum()) < 1
    assert (np.abs(first - FIRST_SHARE * PLAN) < 1).all()
    assert first_wave(PLAN).sum() > 1.2 * first.sum()  # as bands are rounded


def test_both_waves_over_cells_spend_the_plan_and_look_into_each_cell_twice():
    first = first_wave(PLAN, 0.3)
    found = np.concatenate([found_in(first, 60), [np.zeros(CELLS, dtype=int), first]])

    both = first + second(first, found, np.linspace(0, 0.999, 62))

    assert set(both.sum(axis=1)) == {PLAN.sum()}
    assert (both >= np.minimum(2, PLAN)).all()
    assert (both <= SIZE).all()


def test_a_cell_gets_within_one_of_what_it_is_due_and_that_in_the_mean_over_the_chance():
    first = first_wave(PLAN, 0.3)
    found = found_in(first, 1)[0]

    more = second(first, np.broadcast_to(found, (250, CELLS)), (np.arange(250) + 0.5) / 250)

    due = more.mean(axis=0)
    assert (np.abs(more - due) < 1).all()
    assert due.sum() == pytest.approx(PLAN.sum() - first.sum())
    assert (due % 1 > 0.01).sum() > 20


def test_one_round_over_cells_is_the_same_alone_and_among_many():
    first, u = first_wave(PLAN, 0.3), np.linspace(0.1, 0.9, 20)
    found = found_in(first, 20)

    alone = [second(first, one, chance).tolist() for one, chance in zip(found, u, strict=True)]

    assert second(first, found, u).tolist() == alone
