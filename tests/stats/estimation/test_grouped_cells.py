"""Items drawn from score cells, read one by one: curves and other thresholds."""

import numpy as np
import pytest

from benchmarks.cells import cut, planned
from benchmarks.strata import population
from monitor.stats.core.cells import cell_draws
from monitor.stats.core.sample import LabeledSample
from monitor.stats.design.cell_sizes import systematic_sizes
from monitor.stats.estimation.cell_matrix import weighted_matrix
from monitor.stats.estimation.grouped_cells import grouped_cells
from tests.stats.samples import of_strata

DESIGN = planned(cut(population("Phi1", "good")), 1250)
UP = DESIGN.is_flagged
SIZE = np.rint(DESIGN.size / DESIGN.size.sum() * 100_000).astype(np.int64)


def drawn(rng):
    """One round: positives of the window, and cell and truth of each labeled item."""
    positive = rng.binomial(SIZE, DESIGN.rate)
    labeled = np.minimum(systematic_sizes(DESIGN.expected, float(rng.random())), SIZE)
    found = rng.hypergeometric(positive, SIZE - positive, labeled)
    cell = np.repeat(np.arange(len(SIZE)), labeled)
    truth = np.concatenate([np.arange(n) < y for n, y in zip(labeled, found, strict=True)])
    return positive, cell, truth


def grouped(cell, truth):
    return grouped_cells(cell, truth, size=SIZE, flagged=int(UP.sum())).sample


def test_each_item_stands_for_the_items_of_its_own_cell():
    _, cell, truth = drawn(np.random.default_rng(1))

    sample = grouped(cell, truth)

    labeled = np.bincount(cell, minlength=len(SIZE))
    assert sample.weight == pytest.approx((SIZE / np.maximum(labeled, 1))[cell])
    assert sample.size.sum() == SIZE.sum()
    assert sample.labeled.min() >= 10
    counts = of_strata(SIZE, labeled, np.bincount(cell[truth], minlength=len(SIZE)), UP)
    matrix = weighted_matrix(counts)
    up = sample.is_flagged
    assert sample.weight[up & truth].sum() == pytest.approx(float(matrix.tp))
    assert sample.weight[~up & truth].sum() == pytest.approx(float(matrix.fn))


def test_a_group_is_worth_the_plain_labels_of_kish():
    _, cell, truth = drawn(np.random.default_rng(2))

    sample = grouped(cell, truth)

    for h in range(len(sample.size)):
        mine = sample.stratum == h
        weight = sample.weight[mine]
        assert sample.worth[mine].sum() == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_a_cell_without_an_answer_is_taken_with_its_neighbours():
    found = grouped_cells(
        np.repeat([0, 2, 3], [12, 11, 10]), np.zeros(33), size=[24, 40, 22, 500], flagged=3
    )

    assert found.group.tolist() == [0, 1, 1, 2]
    assert found.sample.weight[12] == pytest.approx(62 / 11)


def test_a_class_without_items_changes_nothing_for_the_other():
    cell, truth = np.repeat([0, 1], [12, 11]), np.arange(23) % 2

    found = grouped_cells(cell, truth, size=[24, 40, 0], flagged=2)

    assert found.sample.weight == pytest.approx(np.array([2, 40 / 11])[cell])
    assert found.sample.worth == pytest.approx(1)


def test_what_is_labeled_is_known_of_the_window_whatever_it_is_worth():
    sample = LabeledSample(
        [0, 0, 1, 1], [1, 0, 1, 0], size=[2, 2], flagged=1, worth=[1.5, 0.5, 0.3, 0.7]
    )
    draws = cell_draws(
        sample,
        np.zeros(4, dtype=np.int64),
        np.ones((2, 1), dtype=np.bool_),
        rng=np.random.default_rng(1),
        draws=8,
        estimand="window",
    )

    for _, _, items in draws:
        assert np.all(items[:, :, 0] == [1.0, 1.0])
