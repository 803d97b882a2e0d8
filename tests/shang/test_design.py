"""Ratios and sample sizes of Shang et al. (2023): Table 4, the theorems by search, refusals."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from benchmarks.shang.design import (
    ShangRates,
    best_ratio,
    best_ratio_beta,
    floored,
    labels_for_margin,
    labels_for_precision,
    labels_for_recall,
    margins,
    rates_from_metrics,
    split_labels,
)
from benchmarks.shang.intervals import (
    CountIsZero,
    precision_interval,
    recall_from_rates,
    recall_interval_delta,
)
from benchmarks.shang.predictive import BetaRate, log_ratio_variance
from monitor.stats.core.counts import StratumCounts

SEED = json.loads(
    (Path(__file__).parents[1] / "stats" / "reference" / "seed_formulas.json").read_text()
)
PHI_1 = rates_from_metrics(0.79, 0.67, 0.046)
INSIDE = st.floats(0.01, 0.99)
RATIOS = st.floats(0.001, 10)


# --- printed values and other ways to the same ------------------------------------------------


@pytest.mark.parametrize("case", SEED["sample_size_margin_0_05"], ids=lambda case: case["name"])
def test_sample_sizes_have_the_reference_values_and_those_of_table_4(case):
    rates = rates_from_metrics(case["precision"], case["recall"], case["k"])
    ratio = floored(best_ratio(rates, case["k"]))
    needed = labels_for_recall(rates, case["k"], 0.05, oversampling_ratio=ratio)
    printed = case["paper"]

    assert rates.false_omission_rate == pytest.approx(case["pi0"], rel=1e-14)
    assert float(f"{rates.false_omission_rate:.3g}") == printed["pi0"]
    assert ratio == pytest.approx(case["s"], rel=1e-13)
    assert needed == pytest.approx((case["n1"], case["n0"]), rel=1e-12)
    assert labels_for_precision(case["precision"], 0.05) == pytest.approx(case["n1_precision"])
    as_printed = labels_for_margin(rates, case["k"], 0.05, oversampling_ratio=printed["s"])
    assert as_printed == (printed["n1"], printed["n0"])
    assert sum(as_printed) == printed["v"]


def test_the_best_ratios_of_section_3_are_those_printed():
    known = SEED["optimal_ratio"][0]
    rates = rates_from_metrics(known["precision"], known["recall"], known["k"])

    assert rates.false_omission_rate == pytest.approx(known["pi0"], rel=1e-14)
    assert best_ratio(rates, known["k"]) == pytest.approx(known["s"], rel=1e-13)
    assert round(known["s"], 3) == known["paper"]
    assert (floored(0.99), floored(1.01)) == (1, 1.01)
    for case in SEED["optimal_ratio_bayes"]:
        zeta = case["zeta"]
        found = best_ratio_beta(BetaRate(*zeta[:2]), BetaRate(*zeta[2:]), case["k"])
        assert found == pytest.approx(case["s"], rel=1e-13)


def test_precision_takes_more_flagged_labels_where_it_needs_them():
    rates = rates_from_metrics(0.5, 0.99, 1)
    for_recall = labels_for_recall(rates, 1, 0.05, oversampling_ratio=1)

    assert for_recall.flagged < 30
    flagged, passed = labels_for_margin(rates, 1, 0.05)
    assert flagged == math.ceil(labels_for_precision(0.5, 0.05)) == 385
    assert passed == math.ceil(for_recall.passed)


def test_theorem_1_is_the_least_margin_found_by_search():
    def margin(log_ratio):
        return margins(PHI_1, 0.046, split_labels(1000, 0.046, math.exp(log_ratio)))[1]

    optimum = optimize.minimize_scalar(margin, bounds=(-3, 3), options={"xatol": 1e-9})

    assert math.exp(optimum.x) == pytest.approx(best_ratio(PHI_1, 0.046), rel=1e-5)


def test_theorem_2_is_the_least_predictive_variance_found_by_search():
    flagged, passed, k = BetaRate(9, 4), BetaRate(3, 70), 0.1

    def variance(log_ratio):
        n_1, n_0 = split_labels(1000, k, math.exp(log_ratio))
        return log_ratio_variance(flagged, passed, (n_1, n_0))  # type: ignore[arg-type]

    optimum = optimize.minimize_scalar(variance, bounds=(-3, 3), options={"xatol": 1e-9})

    assert math.exp(optimum.x) == pytest.approx(best_ratio_beta(flagged, passed, k), rel=1e-5)


def test_the_margins_are_the_half_widths_of_equations_3_and_5():
    flagged, passed = StratumCounts(1600, 160, 138), StratumCounts(48_400, 4840, 108)
    precision, recall = precision_interval(flagged), recall_interval_delta(flagged, passed)

    found = margins(ShangRates(138 / 160, 108 / 4840), 160 / 4840, (160, 4840))

    assert found[0] == pytest.approx((precision.high - precision.low) / 2, rel=1e-12)
    assert found[1] == pytest.approx((recall.high - recall.low) / 2, rel=1e-12)


# --- what must always hold ------------------------------------------------------------------


@given(INSIDE, INSIDE, st.floats(0.001, 1), RATIOS, st.floats(0.01, 0.3), st.floats(0.5, 0.99))
def test_the_labels_for_a_margin_give_that_margin(precision, recall, k, ratio, margin, level):
    missed = k * precision * (1 / recall - 1)
    if not 1e-6 < missed < 0.99:
        return
    rates = rates_from_metrics(precision, recall, k)

    labels = labels_for_recall(rates, k, margin, oversampling_ratio=ratio, level=level)
    n_1 = labels_for_precision(precision, margin, level=level)

    assert margins(rates, k, labels, level=level)[1] == pytest.approx(margin, rel=1e-9)
    assert margins(rates, k, (n_1, 1), level=level)[0] == pytest.approx(margin, rel=1e-9)
    assert labels.flagged / labels.passed == pytest.approx(k * ratio, rel=1e-9)


@given(INSIDE, INSIDE, st.floats(0.001, 0.01))
def test_rates_from_metrics_is_the_inverse_of_equation_2(precision, recall, k):
    rates = rates_from_metrics(precision, recall, k)

    assert rates.precision == precision
    assert recall_from_rates(*rates, k) == pytest.approx(recall, rel=1e-9)


# --- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_labels(-1, 1, 1), r"total must be .* 0 or more, got -1"),
        (lambda: split_labels(1, 0, 1), "k, predicted positives per .* must be positive, got 0"),
        (lambda: split_labels(1, 1, 0), "an over-sampling ratio must be positive, got 0"),
        (lambda: rates_from_metrics(0.9, 1.1, 1), r"recall must lie in \[0, 1\], got 1.1"),
        (
            lambda: rates_from_metrics(0.9, 0.1, 1),
            "precision 0.9 and recall 0.1 with k = 1 would need a false omission rate of 8.1",
        ),
        (lambda: labels_for_precision(0.5, 0), "a margin must lie strictly between .* got 0"),
        (lambda: labels_for_recall(PHI_1, 0, 0.1, oversampling_ratio=1), "k, predicted .* got 0"),
        (lambda: margins(PHI_1, 0, (1, 1)), "k, predicted .* got 0"),
        (lambda: best_ratio(ShangRates(1.2, 0.5), 1), r"precision must lie in \[0, 1\], got 1.2"),
        (lambda: best_ratio_beta(BetaRate(1, 1), BetaRate(1, 1), 0), "k, predicted .* got 0"),
        (lambda: margins(PHI_1, 0.046, (1, 1), level=1), "level must lie strictly .* got 1"),
        (
            lambda: labels_for_recall(PHI_1, 0.046, 0.1, oversampling_ratio=1, level=2),
            "level must lie strictly .* got 2",
        ),
    ],
)
def test_what_is_out_of_range_is_refused(call, message):
    with pytest.raises(ValueError, match=message) as raised:
        call()

    assert not isinstance(raised.value, CountIsZero)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: rates_from_metrics(0.9, 0, 1), "recall is 0,"),
        (lambda: best_ratio(ShangRates(0, 0.5), 1), "precision is 0, so the odds"),
        (lambda: margins(ShangRates(0.5, 1), 1, (1, 1)), "false_omission_rate is 1, so the odds"),
        (lambda: margins(PHI_1, 1, (0, 1)), "flagged: the plan holds 0 labels"),
        (
            lambda: best_ratio_beta(BetaRate(0, 1), BetaRate(1, 1), 1),
            "flagged: a cell of prior plus labels is 0",
        ),
        (
            lambda: best_ratio_beta(BetaRate(1, 1), BetaRate(1, 0), 1),
            "passed: a cell of prior plus labels is 0",
        ),
    ],
)
def test_a_count_of_zero_is_named_with_the_way_out(call, what):
    with pytest.raises(CountIsZero, match=rf"^{what}.*use posterior\.estimates"):
        call()


def test_a_metric_at_its_best_needs_no_label_and_certain_misses_are_possible():
    assert labels_for_precision(1, 0.05) == 0
    assert rates_from_metrics(0, 0.5, 1) == (0, 0)
    assert rates_from_metrics(1, 0.5, 1) == (1, 1)
