"""Noise of the shares of strata: of verdicts in their score cells, and of these in their class."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.domain.settings import Pooling
from monitor.rounds.estimation.history import class_labels, history_states
from monitor.rounds.estimation.tally import Completed
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.double_sampling import CountedShares, ShareNoise
from monitor.stats.estimation.cell_matrix import plain_counts
from tests.stats.samples import of_strata

CELL = np.array([0, 1, 0, 1, 2, 3, 2, 3])  # two cells a class, no before yes
UP = np.arange(8) < 4
SIZE = np.array([60, 40, 240, 360, 9_500, 700, 500, 300])
LABELED = np.array([20, 10, 15, 25, 40, 30, 30, 40])
POSITIVE = np.array([4, 6, 14, 25, 0, 1, 20, 38])


def counts(*, size=SIZE, positive=POSITIVE):
    return of_strata(size, LABELED, positive, UP)


def test_the_variance_of_the_shares_is_that_of_repeated_windows():
    rng, rates = np.random.default_rng(1), np.array([0.01, 0.1, 0.8, 0.9])
    held, share, counted = np.array([9_000, 1_000]), np.array([0.04, 0.3]), np.array([300, 400])
    yes = rng.binomial(counted, share, (20_000, 2))
    by_yes = np.stack([held - held / counted * yes, held / counted * yes], axis=2)
    # The cells of the present window have the shares 9:1 in the process, and are a draw of it too.
    in_first = rng.binomial(held.sum(), 0.9, 20_000)
    present = np.stack([in_first, held.sum() - in_first], axis=1)
    pairs = np.array([[0.01, 0.8], [0.1, 0.9]])

    positives = (by_yes / held[:, np.newaxis] * present[:, :, np.newaxis] * pairs).sum(axis=(1, 2))

    noise = [
        ShareNoise.of(
            CountedShares(np.array([*(counted - row), *row]), np.array([0, 1, 0, 1])),
            [*(held - held / counted * row), *(held / counted * row)],
        ).variance(rates)
        for row in yes[:400]
    ]
    assert np.mean(noise) == pytest.approx(positives.var(), rel=0.05)


def test_shares_that_were_counted_in_the_window_itself_add_up_to_one_sample_of_it():
    rates, of = np.array([0.01, 0.1, 0.8, 0.9]), np.array([800, 150, 40, 10])

    noise = ShareNoise.of(CountedShares(of, np.array([0, 1, 0, 1])), of).variance(rates)

    assert noise == pytest.approx(
        of.sum() * np.average((rates - rates @ of / 1000) ** 2, weights=of), rel=0.01
    )


def test_rounds_are_pooled_by_the_shares_of_each_and_the_items_of_the_present():
    usual, moved = counts(), SIZE.copy()
    moved[[4, 6, 5, 7]] = [4_750, 250, 1_750, 750]  # half of the low scores, 2.5 times the others

    pooled = class_labels([usual, counts(size=moved)], counts(size=moved), CELL)

    own = np.array([4_750, 700 * 2.5, 250, 300 * 2.5])
    shares = CountedShares(SIZE[4:], CELL[4:])
    at_own = cell_counts(own, LABELED[4:], POSITIVE[4:], shares)
    assert pooled.positive[0, 1] / pooled.labeled[0, 1] == pytest.approx(
        at_own.positive[0] / at_own.labeled[0]
    )
    assert pooled.labeled[0, 1] == pytest.approx(at_own.labeled[0])
    assert pooled.labeled[0, 1] != pytest.approx(
        cell_counts(own, LABELED[4:], POSITIVE[4:]).labeled[0]
    )


def test_equal_rounds_are_pooled_as_each_is_worth_alone():
    played = [Completed(counts(), np.zeros(8, dtype=np.int64)) for _ in range(3)]

    [state] = history_states(played, None, Pooling(), cells=CELL, since=2)

    one = plain_counts(replace(counts(), cell=CELL))
    assert np.floor(state.now.labeled + 1e-9).astype(int).tolist() == one.labeled.tolist()
