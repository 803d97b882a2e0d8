from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy import optimize, special

from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes

UP = np.array([True, True, False, False, False])
SIZE = np.array([300.0, 500.0, 90_000.0, 9000.0, 1000.0])
RATES = np.array([0.6, 0.95, 2e-4, 0.02, 0.3])
MARGINS = {"precision": 0.05, "recall": 0.06}


def pieces_of_u(expected):
    """Give the stretches of u over which the whole sizes stay, and the length of each."""
    ends = np.cumsum(expected)
    cuts = sorted({Fraction(0), Fraction(1), *(-end % 1 for end in ends)})
    return [((low + high) / 2, high - low) for low, high in pairwise(cuts)]


def test_an_item_is_drawn_with_its_expected_size_over_its_cells_items():
    # 4 items in the first cell and 3 in the second; every order in which md5 may put them is as
    # likely as any other.
    expected, items = [Fraction(7, 3), Fraction(5, 4)], [4, 3]
    drawn = [[Fraction(0)] * size for size in items]

    for u, length in pieces_of_u(expected):
        labels = systematic_sizes(np.array(expected, dtype=np.float64), float(u))
        for cell, size in enumerate(items):
            orders = list(permutations(range(size)))
            for order in orders:
                for item in order[: labels[cell]]:
                    drawn[cell][item] += length / len(orders)

    assert drawn == [[mu / size] * size for mu, size in zip(expected, items, strict=True)]


def test_whole_sizes_are_within_one_of_the_expected_ones_and_so_is_their_total():
    expected = np.random.default_rng(1).uniform(2, 9, 60)

    labels = systematic_sizes(expected, np.linspace(0, 0.999, 400))

    assert np.abs(labels - expected).max() < 1
    assert np.abs(labels.sum(axis=1) - expected.sum()).max() < 1
    assert labels.min() >= 2


def test_whole_expected_sizes_are_taken_as_they_are_for_any_u():
    expected = np.full(60, 0.1) * np.arange(60) * 10  # whole, but for the last bits

    labels = systematic_sizes(expected, [0.0, 1e-12, 0.5, 0.999])

    assert (labels == np.arange(60)).all()
    assert systematic_sizes(np.full(10, 0.1), 0.0).sum() == 1  # they sum to .9999999999999999


def half_widths(labels):
    """Delta method, written out for the test."""
    found = SIZE * RATES
    tp, positives = found[UP].sum(), found.sum()
    recall = tp / positives
    variance = RATES * (1 - RATES) / labels
    precision = np.sum((SIZE * UP / SIZE[UP].sum()) ** 2 * variance)
    slope = SIZE * np.where(UP, 1 - recall, recall) / positives
    z = special.ndtri(0.975)
    return z * np.sqrt([precision, np.sum(slope**2 * variance)])


@pytest.mark.parametrize("margins", [MARGINS, {"precision": 0.03, "recall": 0.09}])
def test_margins_are_kept_by_the_fewest_labels_that_a_general_optimizer_finds(margins):
    allowed = np.array([margins["precision"], margins["recall"]])

    def total(x, *_):
        return np.exp(x).sum()

    def room(x, *_):
        return np.log(allowed / half_widths(np.exp(x)))

    expected = expected_sizes(SIZE, UP, RATES, margins=margins, share=0.0, floor=0.0)

    start = np.log(np.full(5, 500.0))
    least = optimize.fmin_slsqp(total, start, f_ieqcons=room, acc=1e-7, iprint=0)
    assert (half_widths(np.exp(least)) <= allowed * 1.001).all()
    assert (half_widths(expected) <= allowed * (1 + 1e-9)).all()
    assert expected.sum() == pytest.approx(np.exp(least).sum(), rel=1e-3)


def test_a_total_is_kept_and_no_cell_falls_under_the_floor_or_takes_more_than_it_holds():
    size = np.array([30.0, 500.0, 90_000.0, 5.0, 1.0])

    expected = expected_sizes(size, UP, RATES, labels=400, share=0.25)

    assert expected.sum() == pytest.approx(400)
    assert (expected >= np.minimum(2, size) - 1e-9).all()
    assert (expected <= size + 1e-9).all()


def test_few_flagged_labels_go_to_most_items_though_these_look_pure():
    size, up = np.array([100.0, 900.0, 90_000.0]), np.array([True, True, False])

    expected = expected_sizes(size, up, np.array([0.5, 0.999, 0.01]), labels=400, share=0.25)

    assert expected[:2] == pytest.approx([2, 1.25 * (2 + 2) * 0.9])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"labels": None}, "give labels, margins or both"),
        ({"size": np.array([0.0, 0.0, 9.0, 9.0, 9.0])}, "both classes hold items"),
        ({"rates": np.array([0.5, 0.5, 0.0, 0.1, 0.1])}, "strictly between 0 and 1"),
        ({"share": 1.5}, "share in"),
        ({"rates": np.array([0.5])}, "the shape"),
    ],
)
def test_what_cannot_be_planned_is_refused(changed, said):
    asked = {"size": SIZE, "is_flagged": UP, "rates": RATES, "labels": 100, "share": 0.25}

    with pytest.raises(ValueError, match=said):
        expected_sizes(**(asked | changed))
