"""Limits as half-spaces: against the metrics themselves, refusals."""

import numpy as np
import pytest

from monitor.stats.detection.half_space import WATCHABLE, Limit, LimitCannotBeTested, half_space

TWO = np.array([True, False])


def metric_value(metric, size, is_flagged, rates):
    """The metric from the four cells, written out as its textbook definition."""
    tp, fp = (size * rates)[is_flagged].sum(), (size * (1 - rates))[is_flagged].sum()
    fn, tn = (size * rates)[~is_flagged].sum(), (size * (1 - rates))[~is_flagged].sum()
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    if metric[1:2].isdigit():
        beta = float(metric[1:])
        return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    return {
        "precision": precision,
        "recall": recall,
        "specificity": tn / (tn + fp),
        "npv": tn / (tn + fn),
        "prevalence": (tp + fn) / size.sum(),
        "accuracy": (tp + tn) / size.sum(),
        "fpr": fp / (fp + tn),
        "false_omission_rate": fn / (fn + tn),
    }[metric]


def random_case(rng):
    """Sizes, layout and rates of two to eight strata, both classes present."""
    flagged, passed = rng.integers(1, 5), rng.integers(1, 5)
    is_flagged = np.arange(flagged + passed) < flagged
    size = np.floor(10 ** rng.uniform(0, 6, is_flagged.size)).astype(np.int64)
    return size, is_flagged, rng.beta(0.5, 0.5, is_flagged.size)


# --- independent numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["at_least", "at_most"])
@pytest.mark.parametrize("metric", [*WATCHABLE, "f2", "f0.5"])
def test_a_limit_is_kept_exactly_where_the_metric_itself_says_so(metric, side):
    rng = np.random.default_rng(7)
    kept = 0
    for _ in range(300):
        size, is_flagged, rates = random_case(rng)
        value = metric_value(metric, size, is_flagged, rates)
        at = float(np.clip(value + rng.normal(0, 0.1), 0.001, 0.999))
        limit = Limit(metric, at, side)

        found = bool(half_space(limit, size, is_flagged).contains(rates))

        assert found == (value >= at if side == "at_least" else value <= at)
        kept += found
    assert 75 < kept < 225  # both answers were put to the test


# --- refused inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "size"),
    [
        ("precision", [0, 900]),
        ("recall", [0, 900]),
        ("recall", [40, 0]),
        ("specificity", [0, 900]),
        ("specificity", [40, 0]),
        ("fpr", [40, 0]),
        ("npv", [40, 0]),
        ("f2", [0, 900]),
        ("prevalence", [0, 0]),
        ("accuracy", [0, 0]),
    ],
)
def test_a_window_without_the_class_a_metric_needs_cannot_test_it(metric, size):
    with pytest.raises(LimitCannotBeTested, match=f"{metric} is undefined or cannot vary"):
        half_space(Limit(metric, 0.5, "at_least"), np.array(size), TWO)


@pytest.mark.parametrize("metric", ["precision", "npv", "f2", "accuracy", "prevalence"])
def test_an_empty_class_that_a_metric_does_not_need_is_no_obstacle(metric):
    size = np.array([0, 900]) if metric == "npv" else np.array([40, 0])

    space = half_space(Limit(metric, 0.5, "at_least"), size, TWO)

    assert space.contains(np.array([0.9, 0.1]))
    assert not space.contains(np.array([0.1, 0.9]))


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (("mcc", 0.5, "at_least"), r"^mcc cannot have a limit.* not a convex .* instead$"),
        (("recall_gain", 0.5, "at_least"), r"^recall_gain cannot have a limit.* not a convex .*$"),
        (("auc", 0.5, "at_least"), "'auc' cannot have a limit; use one of precision, "),
        *[
            (("recall", value, "at_least"), "recall lies strictly between 0 and 1 .*, got")
            for value in (0.0, 1 - 9e-10, float("nan"))
        ],
        (("recall", 0.5, "above"), "side must be 'at_least' or 'at_most', got 'above'"),
        (("f0", 0.5, "at_least"), "'f0' cannot have a limit; use one of precision, "),
        (("recall", 0.5, "at_least"), r"size \(3,\) and is_flagged \(2,\)"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_with_what_to_watch_instead(limit, message):
    with pytest.raises(ValueError, match=message):
        half_space(Limit(*limit), np.array([1, 2, 3]), TWO)
