"""Two classifiers, or two thresholds, on one labeled sample."""

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

from monitor.stats.core.reasons import Undefined
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.estimation.paired import compare, compare_threshold
from monitor.stats.estimation.posterior import estimate
from tests.stats.curves.test_weighted_curves import SAMPLE, SIZE

FLAGS = SAMPLE.items.is_flagged


def rng(seed=1):
    return np.random.default_rng(seed)


def compared(other, **asked) -> Any:
    """Compare another classifier with the one that the sample was drawn for."""
    return compare(SAMPLE.items, FLAGS, other, rng=rng(), **asked)


def of_window(items, other, **asked) -> Any:
    """Compare the same on the very items of a window."""
    return compare(items, items.is_flagged, other, estimand="window", rng=rng(), **asked)


def second(sample, seed=4, error=0.1):
    """Another classifier: the labels, mostly."""
    flips = np.random.default_rng(seed).random(len(sample.score)) < error
    return sample.items.positive ^ flips


def matrix(sample, flags):
    """Weighted matrix, the plain estimate that a comparison must come close to."""
    w, y = sample.items.weight, sample.items.positive
    return w[y & flags].sum(), w[~y & flags].sum(), w[y & ~flags].sum()


def test_values_differences_and_disagreements_are_the_weighted_ones():
    other = second(SAMPLE)

    found = compared(other)

    for flags, of in ((FLAGS, "first"), (other, "second")):
        tp, fp, fn = matrix(SAMPLE, flags)
        precision, recall, f1 = (getattr(each, of).point for each in found.metrics)
        assert precision == pytest.approx(tp / (tp + fp), rel=1e-12)
        assert recall == pytest.approx(tp / (tp + fn), rel=1e-12)
        assert f1 == pytest.approx(2 * tp / (2 * tp + fp + fn), rel=1e-12)
    for metric in found.metrics:
        assert metric.difference.point == pytest.approx(metric.second.point - metric.first.point)
        assert metric.difference.low < metric.difference.point < metric.difference.high
        assert metric.reason is None
    assert [each.metric for each in found.metrics] == ["precision", "recall", "f1"]
    apart = found.second_flagged.point - found.first_flagged.point
    assert found.only_second.point - found.only_first.point == pytest.approx(apart)
    w, flags = SAMPLE.items.weight, SAMPLE.items.is_flagged
    assert found.only_first.point == pytest.approx(w[flags & ~other].sum(), rel=1e-12)
    eta = float(w[SAMPLE.items.positive].sum() / w.sum())
    assert found.prevalence.point == pytest.approx(eta, rel=1e-12)


def test_the_same_decisions_have_no_difference():
    same = np.column_stack([~np.array([1, 1, 0, 0], bool), np.array([1, 1, 0, 0], bool)])

    found = compared(FLAGS, second_possible=same)

    own = estimate(SAMPLE.items.counts)
    for metric in found.metrics[:2]:
        assert astuple(metric.difference) == (0, 0, 0)
        assert metric.higher == 0.5
        row = own[metric.metric]
        assert metric.first.point == pytest.approx(row.point, rel=1e-12)
        assert astuple(metric.first) == pytest.approx((row.point, row.low, row.high), abs=3e-3)
    assert found.only_first.high == found.only_second.high == 0
    assert found.first_flagged.point == pytest.approx(1500)


def test_a_threshold_on_a_band_edge_has_the_counted_flagged_items():
    found: Any = compare_threshold(SAMPLE, 0.75, rng=rng())

    assert astuple(found.second_flagged) == pytest.approx((900, 900, 900))
    assert found.only_second.high == 0
    tp, fp, _ = matrix(SAMPLE, SAMPLE.score >= 0.75)
    assert found.metrics[0].second.point == pytest.approx(tp / (tp + fp), rel=1e-12)


def test_what_one_classifier_flags_from_one_band_keeps_jeffreys_half_count():
    """At the upper band's edge the second flags one stratum: its rate is Beta(y + 1/2, x + 1/2)."""
    items = LabeledSample(
        np.repeat([0, 1, 2], [20, 30, 100]),
        np.repeat([1, 0, 1, 0, 0], [10, 10, 30, 0, 100]),
        size=[100, 150, 1000],
        flagged=2,
    )
    sample = ScoredSample(
        items, np.repeat([0.6, 0.8, 0.2], [20, 30, 100]), low=[0.5, 0.7, 0], high=[0.7, 1, 0.5]
    )

    found: Any = compare_threshold(sample, 0.7, rng=rng())

    low = found.metrics[0].second.low
    assert found.metrics[0].second.point == found.metrics[0].second.high  # 30 of 30
    assert low == pytest.approx(0.9206, abs=8e-3)  # 2.5 % quantile of Beta(30.5, .5)


def test_a_counted_number_of_flagged_items_holds_for_the_points_and_narrows_the_answer():
    other = second(SAMPLE)
    total = round(float(SAMPLE.items.weight[other].sum() * 1.03))

    free = compared(other)
    counted = compared(other, second_flagged=total)

    assert astuple(counted.second_flagged) == pytest.approx((total, total, total))
    apart = counted.only_second.point - counted.only_first.point
    assert apart == pytest.approx(total - counted.first_flagged.point)
    precision, recall, _ = (metric.second.point for metric in counted.metrics)
    assert precision * total == pytest.approx(recall * counted.prevalence.point * sum(SIZE))
    assert free.second_flagged.high - free.second_flagged.low > 100
    for one, two in zip(counted.metrics, free.metrics, strict=True):
        widths = [each.difference.high - each.difference.low for each in (one, two)]
        assert widths[0] < 1.05 * widths[1]
        assert one.first.point == pytest.approx(two.first.point, abs=0.02)


def test_points_are_posterior_means_where_the_labels_alone_cannot_have_the_counted_number():
    found = compared(FLAGS, second_flagged=1600, draws=256)

    assert found.second_flagged.point == pytest.approx(1600)
    for metric in found.metrics:
        assert metric.second.low < metric.second.point < metric.second.high
        assert metric.difference.point == pytest.approx(metric.second.point - metric.first.point)


@pytest.mark.parametrize("total", [0, sum(SIZE)])
def test_a_number_of_flagged_items_that_cannot_be_is_refused(total):
    stuck = np.ones((4, 2), dtype=bool)
    stuck[0, 0] = stuck[2, 1] = False  # stratum 0 is flagged by the second, stratum 2 is not
    other = np.array([True, True, False, False])[SAMPLE.items.stratum]

    with pytest.raises(
        ValueError, match=f"is said to flag {total} items; with these labels it flags 600 to 9500"
    ):
        compared(other, second_possible=stuck, second_flagged=total)


def test_draws_that_the_counted_number_rules_out_are_left_out():
    items = LabeledSample(
        np.repeat([0, 1], [100, 100]), np.arange(200) < 90, size=[1000, 9000], flagged=1
    )

    found = of_window(
        items,
        items.is_flagged,
        second_possible=np.array([[False, True], [True, True]]),
        second_flagged=1002,  # two among the passed, of which no label and few draws have any
    )

    assert astuple(found.only_second) == pytest.approx((2, 2, 2))
    assert found.metrics[0].second.low > 0.8


def test_a_census_of_the_window_leaves_nothing_open():
    items = LabeledSample([0, 0, 1, 1, 1], [1, 0, 1, 0, 0], size=[2, 3], flagged=1)
    other = np.array([True, False, True, False, False])

    found = of_window(items, other, draws=64)

    precision, recall, _ = found.metrics
    assert astuple(precision.second) == astuple(recall.second) == (1, 1, 1)
    assert astuple(precision.difference) == astuple(recall.difference) == (0.5, 0.5, 0.5)
    assert found.estimand == "window"
    assert astuple(found.only_second) == (1, 1, 1)


def test_a_metric_without_a_value_has_a_reason():
    items = LabeledSample([0, 0, 1, 1], [1, 0, 1, 0], size=[2, 2], flagged=1)
    nothing = np.zeros(4, dtype=bool)

    found = of_window(items, nothing, draws=64)

    precision = found.metrics[0]
    assert (precision.first, precision.second, precision.difference) == (None, None, None)
    assert precision.reason is Undefined.NOTHING_FLAGGED
    assert found.metrics[1].second.high == 0


@pytest.mark.parametrize("level", [0, 1])
def test_a_comparison_wants_a_level_between_zero_and_one(level):
    with pytest.raises(ValueError, match=f"level must lie strictly between 0 and 1, got {level}"):
        compared(FLAGS, level=level)


def test_both_classifiers_must_decide_on_every_item():
    with pytest.raises(ValueError, match="both classifiers must decide on each of the 500 items"):
        compared(FLAGS[1:])
