"""The scaled matrix: by hand, unbiased by enumeration, and what it refuses."""

import numpy as np
import pytest

from monitor.stats.core.metrics import METRICS
from monitor.stats.core.scaled_matrix import scaled_matrix

UP_DOWN = [True, True, False, False]


def cells(matrix):
    return [float(cell) for cell in (matrix.tp, matrix.fp, matrix.fn, matrix.tn)]


@pytest.mark.parametrize(
    ("size", "labeled", "positive", "expected"),
    [
        ([300, 160, 20_000, 9540], [60, 40, 100, 120], [57, 25, 2, 9], [385, 75, 1115.5, 28_424.5]),
        ([100, 50, 800, 100], [10, 0, 40, 20], [9, 0, 2, 10], [135, 15, 90, 810]),
        ([0, 0, 800, 100], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, np.nan, np.nan]),
        ([10, 0, 10, 0], [0.3, 0, 1, 0], [np.nextafter(0.3, 1), 0, 0, 0], [10, 0, 0, 10]),
    ],
    ids=["to its own size", "without labels", "a class without any", "but for rounding"],
)
def test_each_stratum_is_scaled_and_one_without_labels_follows_its_class(
    size, labeled, positive, expected
):
    matrix = scaled_matrix(size, labeled, positive, UP_DOWN)

    assert cells(matrix) == pytest.approx(expected, nan_ok=True)


def test_two_strata_are_equation_2_of_shang():
    matrix = scaled_matrix([1600, 48_400], [160, 4840], [138, 108], [True, False])

    k = 1600 / 48_400
    precision, omission = 138 / 160, 108 / 4840
    assert float(METRICS["precision"](matrix)) == pytest.approx(precision, rel=1e-15)
    assert float(METRICS["recall"](matrix)) == pytest.approx(
        1 / (1 + omission / (k * precision)), rel=1e-15
    )


def test_weighted_counts_and_many_samples_at_once_are_scaled_too():
    positive = np.array([[4.5, 0.25], [9.0, 0.0]])

    matrix = scaled_matrix([100, 1000], [9.0, 12.5], positive, [True, False])

    assert matrix.tp == pytest.approx([50, 100])
    assert matrix.fn == pytest.approx([20, 0])
    assert matrix.fp.tolist() == [50, 0]


@pytest.mark.parametrize(
    ("labeled", "positive", "message"),
    [
        ([2, 3], [3, 0], "0 <= positive <= labeled"),
        ([0, 3], [1, 0], "0 <= positive <= labeled"),
        ([2, 3], [-1, 0], "0 <= positive <= labeled"),
        ([2, np.nan], [1, 0], "0 <= positive <= labeled"),
        ([2, 3, 4], [1, 0, 0], "one value per stratum"),
        ([2, 3], [1], "one value per stratum"),
    ],
)
def test_counts_that_cannot_be_are_refused(labeled, positive, message):
    with pytest.raises(ValueError, match=message):
        scaled_matrix([10, 20], labeled, positive, [True, False])
