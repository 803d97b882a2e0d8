"""Averages over classes: other implementations, what must always hold, what is refused."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import stats

from monitor.stats.core.reasons import Undefined
from monitor.stats.core.sample import LabeledSample
from monitor.stats.estimation.class_averages import class_averages
from monitor.stats.estimation.class_samples import ClassSample
from monitor.stats.estimation.grouped_cells import grouped_cells
from monitor.stats.estimation.posterior import estimate

CLASSES = 4
MANY = 2**14


def window(*, size=20_000, right=0.7, seed=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, CLASSES, size)
    return truth, np.where(rng.random(size) < right, truth, rng.integers(0, CLASSES, size))


def sample_of(of, truth, predicted, *, flagged, passed, order=None):
    """Sample of one class: the first flagged and passed items in one order for all classes."""
    order = np.arange(len(truth)) if order is None else order
    up = predicted[order] == of
    drawn = order[up][:flagged], order[~up][:passed]
    item = np.concatenate(drawn)
    sample = LabeledSample(
        np.repeat([0, 1], [len(each) for each in drawn]),
        truth[item] == of,
        size=[up.sum(), (~up).sum()],
        flagged=1,
    )
    return ClassSample(f"class {of}", sample, item)


def samples(*, flagged=300, passed=900, **changes):
    truth, predicted = window(**changes)
    return [
        sample_of(of, truth, predicted, flagged=flagged, passed=passed) for of in range(CLASSES)
    ]


def named(found) -> dict[tuple[str, str], Any]:
    return {(row.average, row.metric): row for row in found.rows}


def errors(found):
    """Standard error of each average, as its interval has it."""
    return {
        key: (row.interval.high - row.interval.low) / (2 * 1.959964)
        for key, row in named(found).items()
    }


def value_of(classes, weights):
    """All four averages where each item counts so many times: a plain loop over classes."""
    found, missed, flagged = [], [], []
    for each in classes:
        sample, weight = each.sample, weights[each.item]
        shares = [
            (weight * sample.positive)[sample.stratum == h].sum()
            / weight[sample.stratum == h].sum()
            for h in (0, 1)
        ]
        found.append(sample.size[0] * shares[0])
        missed.append(sample.size[1] * shares[1])
        flagged.append(sample.size[0])
    tp, fn, up = (np.array(each) for each in (found, missed, flagged))
    return (
        np.mean(tp / up),
        np.mean(tp / (tp + fn)),
        tp.sum() / up.sum(),
        tp.sum() / (tp.sum() + fn.sum()),
    )


def test_standard_errors_are_those_of_scipys_bootstrap_over_the_union_of_items():
    classes = samples()
    union = np.unique(np.concatenate([each.item for each in classes]))
    size = int(union.max()) + 1

    def averages(items):
        return np.array(value_of(classes, np.bincount(items, minlength=size)))

    result = stats.bootstrap(
        (union,), averages, n_resamples=400, method="percentile", vectorized=False, rng=1
    )
    found = errors(class_averages(classes, estimand="rate", draws=MANY))

    # 400 resamples know a standard error to 4 %
    assert list(found.values()) == pytest.approx(result.standard_error.tolist(), rel=0.1)


@pytest.mark.parametrize("estimand", ["rate", "window"])
def test_one_class_by_itself_has_the_interval_of_its_own_round(estimand):
    truth, predicted = window(size=3000)
    one = sample_of(0, truth, predicted, flagged=60, passed=200)
    alone = estimate(one.sample.counts, metrics=("precision", "recall"), estimand=estimand)

    found = named(class_averages([one], estimand=estimand, draws=MANY))

    for average, metric in found:
        ours, own = found[average, metric].interval, alone[metric].interval
        assert own is not None
        near = pytest.approx([own.low, own.high], abs=0.03 * (own.high - own.low))
        assert [ours.low, ours.high] == near


def few_misses(rng, *, classes=30, found=100, passed=200, each=20, rate=0.01):
    """Sample classes of which all flagged items are known, and `found` of them are right."""
    samples = []
    for of in range(classes):
        positive = np.arange(found + passed) < found + rng.binomial(passed, rate)
        sample = LabeledSample(
            np.repeat([0, 1], [found, passed]), positive, size=[found, each * passed], flagged=1
        )
        samples.append(ClassSample(str(of), sample, np.arange(len(positive)) + 1000 * of))
    return samples


def test_macro_recall_of_many_classes_has_the_bias_and_variance_of_all_outcomes():
    rng, classes, rate = np.random.default_rng(2), 30, 0.01
    misses = np.arange(201)
    chance = stats.binom(200, rate).pmf(misses)
    recall = 100 / (100 + 20 * misses)  # as estimated, with so many misses found
    truth = 100 / (100 + 20 * 200 * rate)
    error = np.sqrt(chance @ (recall - chance @ recall) ** 2 / classes)

    intervals = [
        named(class_averages(few_misses(rng), estimand="rate", draws=2**9))["macro", "recall"]
        for _ in range(15)
    ]
    ends = np.array([(row.interval.low, row.interval.high) for row in intervals])

    # 450 classes know their mean recall to .007
    assert chance @ recall - truth > 0.02
    assert ends.mean() == pytest.approx(truth, abs=0.014)
    assert np.diff(ends).mean() == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_labels_of_the_whole_window_give_the_averages_of_scikit_learn_exactly():
    metrics = pytest.importorskip("sklearn.metrics")
    truth, predicted = window(size=500)
    classes = [sample_of(of, truth, predicted, flagged=500, passed=500) for of in range(CLASSES)]

    found = named(class_averages(classes, draws=64))

    for average in ("macro", "micro"):
        precision, recall, *_ = metrics.precision_recall_fscore_support(
            truth, predicted, average=average
        )
        for metric, value in (("precision", precision), ("recall", recall)):
            interval = found[average, metric].interval
            assert (interval.low, interval.point, interval.high) == pytest.approx([value] * 3)


def test_score_cells_count_by_what_their_items_are_worth():
    rng = np.random.default_rng(5)
    size, flagged = np.array([300, 700, 4000, 5000]), 2
    labeled = np.array([60, 20, 40, 200])
    rate = np.array([0.9, 0.6, 0.2, 0.02])
    classes, points = [], []
    for of in range(3):
        cell = np.repeat(np.arange(4), labeled)
        positive = rng.random(len(cell)) < rate[cell]
        grouped = grouped_cells(cell, positive, size=size, flagged=flagged)
        classes.append(ClassSample(str(of), grouped.sample, np.arange(len(cell)) + 1000 * of))
        found = size * np.bincount(cell, weights=positive) / labeled
        points.append((found[:2].sum(), found[2:].sum()))
    tp, fn = np.array(points).T

    averages = named(class_averages(classes))

    assert averages["macro", "recall"].interval.point == pytest.approx(np.mean(tp / (tp + fn)))
    assert averages["micro", "precision"].interval.point == pytest.approx(tp.sum() / 3000)


def test_averages_of_many_classes_and_strata_need_little_memory():
    classes, strata = 40, 40  # their shares are 52 MB in all draws
    sample = LabeledSample(
        np.arange(strata), np.ones(strata, dtype=bool), size=np.full(strata, 9), flagged=20
    )
    many = [ClassSample(str(of), sample, of * 7 + np.arange(strata)) for of in range(classes)]

    tracemalloc.start()
    class_averages(many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 52e6


def test_the_order_of_classes_and_the_numbers_of_items_do_not_matter():
    classes = samples()
    other = [ClassSample(c.name, c.sample, 7 * c.item + 11) for c in reversed(classes)]

    one, two = class_averages(classes, draws=MANY), class_averages(other, draws=MANY)

    for average, row in named(one).items():
        ours, again = row.interval, named(two)[average].interval
        assert ours.point == pytest.approx(again.point)
        assert [ours.low, ours.high] == pytest.approx([again.low, again.high], abs=0.002)
    assert (one.labels, one.items) == (two.labels, two.items)
    assert one == class_averages(classes, draws=MANY)


def with_empty(classes, *, flagged, positive):
    """Add a class that nothing is predicted as, or of which no item is known."""
    rng = np.random.default_rng(8)
    n = 20 if flagged else 0
    sample = LabeledSample(
        np.repeat([0, 1], [n, 100]),
        np.concatenate([np.zeros(n), rng.random(100) < positive]),
        size=[10 * n, 19_000],
        flagged=1,
    )
    return [*classes, ClassSample("odd", sample, np.arange(n + 100) + 50_000)]


def test_a_class_that_nothing_is_predicted_as_is_left_out_of_macro_precision_only():
    classes = samples()
    plain = named(class_averages(classes))

    found = named(class_averages(with_empty(classes, flagged=False, positive=0.1)))

    precision, recall = found["macro", "precision"], found["macro", "recall"]
    assert (precision.left_out, precision.classes) == (("odd",), CLASSES)
    assert precision.interval.point == plain["macro", "precision"].interval.point
    assert recall.left_out == ()  # all of its items are missed
    expected = plain["macro", "recall"].interval.point * CLASSES / (CLASSES + 1)
    assert recall.interval.point == pytest.approx(expected)


def test_a_class_of_which_no_item_is_known_is_left_out_of_macro_recall_only():
    found = named(class_averages(with_empty(samples(), flagged=True, positive=0)))

    assert found["macro", "recall"].left_out == ("odd",)
    assert found["macro", "precision"].left_out == ()


def test_no_class_with_a_value_gives_the_reason_and_no_number():
    [odd] = with_empty([], flagged=False, positive=0)

    for row in class_averages([odd]).rows:
        why = Undefined.NOTHING_FLAGGED if row.metric == "precision" else Undefined.NO_POSITIVE
        assert (row.interval, row.reason) == (None, why)


def test_classes_whose_recall_rests_on_few_labels_are_named():
    found = named(class_averages(samples(flagged=200, passed=15)))

    assert found["macro", "recall"].few_labels
    assert not found["macro", "precision"].few_labels


def test_samples_and_requests_that_cannot_be_are_refused():
    sample = LabeledSample([0, 1], [1, 0], size=[10, 90], flagged=1)
    [one, *_] = classes = samples(flagged=20, passed=20)

    with pytest.raises(ValueError, match="class spam: an item is there twice"):
        ClassSample("spam", sample, [4, 4])
    with pytest.raises(ValueError, match="class spam: 2 labels for 3 items"):
        ClassSample("spam", sample, [1, 2, 3])
    with pytest.raises(ValueError, match="got none"):
        class_averages([])
    with pytest.raises(ValueError, match="got class 0, class 0"):
        class_averages([one, one])
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        class_averages(classes, level=1.0)
    with pytest.raises(ValueError, match="no estimand is called 'next'"):
        class_averages(classes, estimand="next")  # type: ignore[arg-type]
