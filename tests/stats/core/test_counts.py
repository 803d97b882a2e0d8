"""Counts of a labeled sample: shapes, order and what is refused."""

import numpy as np
import pytest

from monitor.stats.core.counts import Counts


def test_strata_come_flagged_first_whatever_their_order():
    counts = Counts.of_arrays(
        size=[30, 10, 20], labeled=[3, 1, 2], positive=[2, 0, 1], is_flagged=[False, True, False]
    )

    assert counts.size.tolist() == [10, 30, 20]
    assert counts.labeled.tolist() == [1, 3, 2]
    assert counts.positive.tolist() == [0, 2, 1]
    assert counts.is_flagged.tolist() == [True, False, False]
    assert {a.dtype for a in (counts.size, counts.labeled, counts.positive)} == {np.dtype(np.int64)}


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="have other shapes: \\(2,\\), "):
        Counts.of_arrays(size=[3, 4], labeled=[1], positive=[0], is_flagged=[True])


@pytest.mark.parametrize("flagged", [True, False])
def test_a_class_without_a_stratum_is_refused(flagged):
    message = r"^both predicted classes need at least one stratum \(its size may be 0\)$"

    with pytest.raises(ValueError, match=message):
        Counts.of_arrays(size=[9], labeled=[1], positive=[0], is_flagged=[flagged])


@pytest.mark.parametrize(
    ("size", "labeled", "positive"), [(3, 2, -1), (3, 2, 3), (3, 4, 1), (-1, -1, -1)]
)
def test_an_impossible_stratum_is_refused_with_its_counts(size, labeled, positive):
    message = (
        "^a stratum needs 0 <= positive <= labeled <= size, got "
        f"positive={positive}, labeled={labeled}, size={size}$"
    )

    with pytest.raises(ValueError, match=message):
        Counts.of_arrays(
            size=[9, size], labeled=[3, labeled], positive=[1, positive], is_flagged=[True, False]
        )
