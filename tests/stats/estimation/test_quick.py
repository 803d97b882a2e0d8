"""One labeled matrix: estimates as of any counts, and refusals in the caller's words."""

import re
from typing import Any

import pytest

from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import estimate_matrix, estimates

MATRIX: dict[str, Any] = {
    "tp": 8,
    "fp": 2,
    "fn": 3,
    "tn": 17,
    "flagged_size": 10,
    "passed_size": 20,
}


def test_the_estimates_are_those_of_the_two_strata():
    counts = Counts.of_matrix(**MATRIX | {"passed_size": 200})

    found = estimate_matrix(**MATRIX | {"passed_size": 200}, metrics=("f1",), level=0.8, seed=3)

    assert found == estimates(counts, metrics=("f1",), level=0.8, seed=3)


@pytest.mark.parametrize("cell", ["tp", "fp", "fn", "tn"])
def test_a_negative_count_is_refused_by_name(cell):
    message = f"{cell} is -1; it counts labeled items, so it is 0 or more"

    with pytest.raises(ValueError, match=f"^{message}$"):
        estimate_matrix(**MATRIX | {cell: -1})


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (
            {"flagged_size": 9},
            "tp + fp = 10 items are labeled, but flagged_size is 9; it counts all predicted "
            "positives of the window, labeled or not",
        ),
        (
            {"passed_size": 19},
            "fn + tn = 20 items are labeled, but passed_size is 19; it counts all predicted "
            "negatives of the window, labeled or not",
        ),
    ],
)
def test_more_labels_than_items_are_refused_in_the_callers_words(size, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        estimate_matrix(**MATRIX | size)
