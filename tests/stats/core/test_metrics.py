"""Metrics of a confusion matrix: other packages' numbers, invariants over all, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from monitor.stats.core.metrics import METRICS, Matrix, f_beta, metric

SEED_TABLE_1 = Matrix(tp=138, fp=22, fn=108, tn=4732)  # Shang et al. 2023, Table 1

# What a metric can be at best and at worst, and a matrix without a value for it.
RANGES = {
    "precision": (0, 1),
    "recall": (0, 1),
    "fpr": (0, 1),
    "specificity": (0, 1),
    "npv": (0, 1),
    "false_omission_rate": (0, 1),
    "prevalence": (0, 1),
    "flagged_rate": (0, 1),
    "accuracy": (0, 1),
    "balanced_accuracy": (0, 1),
    "f1": (0, 1),
    "mcc": (-1, 1),
    "precision_gain": (-math.inf, 1),
    "recall_gain": (-math.inf, 1),
}
WITHOUT_VALUE = {
    "precision": (0, 0, 3, 7),
    "recall": (0, 3, 0, 7),
    "fpr": (3, 0, 7, 0),
    "specificity": (3, 0, 7, 0),
    "npv": (3, 7, 0, 0),
    "false_omission_rate": (3, 7, 0, 0),
    "prevalence": (0, 0, 0, 0),
    "flagged_rate": (0, 0, 0, 0),
    "accuracy": (0, 0, 0, 0),
    "balanced_accuracy": (3, 0, 7, 0),
    "f1": (0, 0, 0, 7),
    "mcc": (0, 0, 3, 7),
    "precision_gain": (0, 3, 3, 7),
    "recall_gain": (0, 3, 0, 7),
}

# no subnormal cells: a hundredth of 5e-324 is 0, and then another matrix
cells = st.tuples(
    *[st.integers(0, 10**7) | st.floats(0, 1e9, allow_subnormal=False) for _ in range(4)]
)


def test_agrees_with_hand_division_on_a_published_table():
    expected = {
        "precision": 0.8625,  # Shang et al. 2023, Table 1 and Eq. 2
        "recall": 138 / 246,
        "npv": 4732 / 4840,
        "false_omission_rate": 108 / 4840,
        "fpr": 22 / 4754,
        "specificity": 4732 / 4754,
        "prevalence": 246 / 5000,
        "flagged_rate": 160 / 5000,
    }

    found = {name: float(METRICS[name](SEED_TABLE_1)) for name in expected}

    assert found == pytest.approx(expected, rel=1e-14)


def test_gains_agree_with_a_worked_example():
    # prevalence 1/3: 1 - 1/2 * 30/80 and 1 - 1/2 * 20/80 (Flach & Kull 2015, Eq. 4 and 5)
    matrix = Matrix(tp=80, fp=30, fn=20, tn=170)

    gains = [float(METRICS[name](matrix)) for name in ("precision_gain", "recall_gain")]

    assert gains == pytest.approx([0.8125, 0.875], rel=1e-14)


@pytest.mark.parametrize("counts", [(138, 22, 108, 4732), (5, 1, 2, 50), (1, 40, 30, 2)])
def test_agrees_with_scikit_learn(counts):
    actual, predicted = np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0])
    given_counts = {"sample_weight": np.array(counts)}
    expected = {
        "precision": sklearn_metrics.precision_score(actual, predicted, **given_counts),
        "recall": sklearn_metrics.recall_score(actual, predicted, **given_counts),
        "accuracy": sklearn_metrics.accuracy_score(actual, predicted, **given_counts),
        "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(
            actual, predicted, **given_counts
        ),
        "f1": sklearn_metrics.f1_score(actual, predicted, **given_counts),
        "f2": sklearn_metrics.fbeta_score(actual, predicted, beta=2, **given_counts),
        "f0.5": sklearn_metrics.fbeta_score(actual, predicted, beta=0.5, **given_counts),
        "mcc": sklearn_metrics.matthews_corrcoef(actual, predicted, **given_counts),
    }

    ours = {name: float(metric(name)(Matrix(*counts))) for name in expected}

    assert ours == pytest.approx(expected, rel=1e-12)


def test_no_metric_is_left_out_of_the_invariants_below():
    assert set(RANGES) == set(WITHOUT_VALUE) == set(METRICS)
    assert all(metric.written and metric.meaning for metric in METRICS.values())
    assert all(name == metric.name for name, metric in METRICS.items())


@settings(max_examples=100, deadline=None)
@given(cells, st.floats(0.01, 100))
def test_a_value_is_in_range_or_undefined_without_any_warning_whatever_the_windows_scale(
    counts, factor
):
    for name, metric_ in METRICS.items():
        low, high = RANGES[name]

        value = float(metric_(Matrix(*counts)))
        scaled = metric_(Matrix(*(factor * cell for cell in counts)))

        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, name
        assert not math.isinf(value), name
        assert scaled == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("name", METRICS)
def test_without_a_value_it_is_nan_in_that_draw_alone(name):
    among_draws = METRICS[name](Matrix(*(np.array([cell, 5.0]) for cell in WITHOUT_VALUE[name])))

    assert np.isnan(among_draws).tolist() == [True, False]


def test_an_overflowing_gain_is_undefined_and_not_infinite():
    matrix = Matrix(tp=1e-300, fp=1e9, fn=1e9, tn=1)

    assert math.isnan(METRICS["precision_gain"](matrix))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metric("precison"), "did you mean 'precision'"),
        (lambda: metric("f0"), "no metric is called 'f0'"),
        (lambda: metric("fx"), "Known: precision, recall"),
        (lambda: f_beta(0), "beta must be a positive finite number"),
        (lambda: f_beta(math.nan), "beta must be a positive finite number"),
        (lambda: Matrix(tp=1, fp=1, fn=-1, tn=1), "fn must be a finite number of items"),
        (lambda: Matrix(tp=1, fp=1, fn=[math.nan, 2.0], tn=1), "fn must be a finite number of it"),
    ],
)
def test_names_weights_and_cells_that_cannot_be_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_metric_of_a_class_nobody_knows_is_nan_and_one_of_the_other_class_is_not():
    matrix = Matrix(tp=3, fp=1, fn=math.nan, tn=math.nan)

    values = {name: float(each(matrix)) for name, each in METRICS.items()}

    assert {name: value for name, value in values.items() if not math.isnan(value)} == {
        "precision": 0.75
    }
