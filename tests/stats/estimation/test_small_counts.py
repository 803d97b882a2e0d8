"""Whether few labels decide a metric: by hand, at the boundary, over strata, refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import METRICS
from monitor.stats.estimation.posterior import estimate, estimates
from monitor.stats.estimation.small_counts import FEW_LABELS, small_count_caution
from tests.stats.samples import of_matrix, of_strata


def banded(positive, labeled=(50, 50, 200, 100), size=(100, 100, 9000, 500)):
    return of_strata(size, labeled, positive, [True, True, False, False])


def of(few):
    return [
        (class_.predicted, class_.answer, pytest.approx(class_.worth, abs=0.5))
        for class_ in few.classes
    ]


@pytest.mark.parametrize(
    ("counts", "name", "named"),
    [
        (of_matrix(80, 20, 0, 900), "recall", [("passed", "positive", 0)]),
        (of_matrix(80, 20, 4, 900), "recall", [("passed", "positive", 4)]),
        (of_matrix(97, 3, 30, 900), "precision", [("flagged", "negative", 3)]),
        (of_matrix(3, 3, 30, 900), "precision", [("flagged", "positive", 3)]),
        (
            of_matrix(3, 4, 3, 60, passed_size=20_000),
            "recall",
            [("flagged", "positive", 3), ("passed", "positive", 3)],
        ),
    ],
)
def test_the_rarer_answers_are_worth_what_was_found_and_each_class_that_decides_is_named(
    counts, name, named
):
    assert of(small_count_caution(counts, name)) == named


def test_from_five_of_the_rarer_answer_on_nothing_is_said():
    assert FEW_LABELS == 5.0
    assert small_count_caution(of_matrix(80, 20, 4, 900), "recall") is not None
    assert small_count_caution(of_matrix(80, 20, 5, 900), "recall") is None


def test_a_class_that_hardly_moves_the_metric_is_left_out():
    # one negative among the flagged says little of precision, and next to nothing of recall
    counts = of_matrix(99, 1, 12, 900)

    assert small_count_caution(counts, "precision") is not None
    assert small_count_caution(counts, "recall") is None


def test_a_metric_that_is_counted_needs_no_label():
    assert small_count_caution(of_matrix(1, 0, 0, 1), "flagged_rate") is None


def test_a_heavy_stratum_makes_many_labels_worth_few():
    even = banded([25, 25, 3, 8], size=(100, 100, 2000, 1000))
    heavy = banded([25, 25, 3, 8], size=(100, 100, 90_000, 100))

    assert small_count_caution(even, "recall") is None
    assert small_count_caution(heavy, "recall") is not None


def test_in_a_window_a_class_labeled_whole_decides_nothing():
    counts = of_matrix(98, 2, 40, 900, flagged_size=100)

    assert small_count_caution(counts, "precision", estimand="window") is None
    assert small_count_caution(counts, "precision", estimand="rate") is not None


def test_an_empty_class_decides_nothing():
    counts = of_matrix(0, 0, 2, 90, flagged_size=0)

    assert small_count_caution(counts, "precision") is None
    assert of(small_count_caution(counts, "npv")) == [("passed", "positive", 2)]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_estimates_of_a_round_carry_the_same_caution_and_only_beside_a_value(positive):
    counts = banded(positive)

    for row in estimates(counts, metrics=tuple(METRICS), points=2**6):
        said = small_count_caution(counts, row.metric, estimand=row.estimand)
        assert row.caution == (said if row.reason is None else None)


def test_with_its_history_an_estimate_has_no_caution():
    counts = of_matrix(80, 20, 1, 900)

    assert estimate(counts, basis="round")["recall"].caution is not None
    assert estimate(counts, basis="pooled")["recall"].caution is None


# --- leverage ---------------------------------------------------------------------------------


def test_a_band_with_few_misses_beside_a_band_that_varies_as_much_does_not_decide():
    counts = of_strata([10_000, 90_000, 10_000], [400, 300, 60], [320, 2, 30], [True, False, False])

    # 2 misses, each 300 items: 2 * 300^2 = 180,000; 60 labels of 167 items: 15 * 167^2 = 417,000
    assert small_count_caution(counts, "recall") is None


def leverage(found, labeled=300):
    return small_count_caution(
        of_strata(
            [10_000, 900_000, 10_000], [400, labeled, 600], [320, found, 300], [True, False, False]
        ),
        "recall",
    )


@pytest.mark.parametrize("found", [1, 4])
def test_a_band_that_makes_up_most_of_the_variance_with_few_misses_is_named_with_its_leverage(
    found,
):
    few = leverage(found)

    [decides] = few.classes
    tp, fn = 8000, 5000 + found * 3000
    moved = tp / (tp + fn) - tp / (tp + fn + 3000)
    assert (decides.predicted, decides.answer, decides.worth) == ("passed", "positive", found)
    assert decides.moves == pytest.approx(moved, rel=0.25)  # of a step, not of the slope


def test_no_miss_or_five_in_that_band_say_nothing_of_leverage():
    assert [few and few.classes[0].moves for few in (leverage(0), leverage(5))] == [None, None]


@pytest.mark.parametrize(("found", "is_noted"), [(0, True), (2, False)])
def test_a_verdict_that_holds_most_passed_items_without_a_positive_label_needs_more_labels(
    found, is_noted
):
    # Of 14,000 items that a judge says no to, and 800 that it says yes to; the labels are worth
    # seven positives, which are enough where no verdict cuts them.
    counts = Counts(
        size=np.array([600, 7_000, 7_000, 400, 400]),
        labeled=np.array([100, 150, 150, 20, 20]),
        positive=np.array([80, 0, found, 3, 4]),
        is_flagged=np.array([True, False, False, False, False]),
    )
    cut = replace(counts, cell=np.array([0, 0, 1, 0, 1]))

    assert small_count_caution(counts, "recall", cells=True) is None
    assert (small_count_caution(cut, "recall", cells=True) is not None) == is_noted
