"""Equations 2 to 8 of Shang et al. (2023): printed values, other implementations, refusals."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.shang.intervals import (
    CountIsZero,
    precision_interval,
    random_sampling_intervals,
    recall_from_rates,
    recall_interval,
    recall_interval_delta,
)
from benchmarks.shang.predictive import (
    BetaRate,
    log_ratio_variance,
    precision_predictive,
    recall_predictive,
    share_variance,
)
from monitor.stats.core.counts import StratumCounts
from monitor.stats.core.levels import normal_quantile

SEED = json.loads(
    (Path(__file__).parents[1] / "stats" / "reference" / "seed_formulas.json").read_text()
)
TABLE_1 = SEED["table1"]
FLAGGED = StratumCounts(size=1600, labeled=160, positive=138)
PASSED = StratumCounts(size=48_400, labeled=4840, positive=108)
KNOWN, MISSED = BetaRate(138, 22), BetaRate(108, 4732)
WAY_OUT = (
    ", and the formula divides by it; use posterior.estimates, which needs no such count, or "
    "label more items"
)


def ends(interval):
    return [interval.low, interval.high]


@st.composite
def classes(draw):
    """A class with a positive and a negative label at least."""
    labeled = draw(st.integers(2, 5000))
    positive = draw(st.integers(1, labeled - 1))
    return StratumCounts(draw(st.integers(labeled, 10**7)), labeled, positive)


# --- printed values and other implementations -------------------------------------------------


def test_table_1_has_its_precision_and_recall():
    precision = precision_interval(FLAGGED)
    recall = recall_interval(FLAGGED, PASSED)
    delta = recall_interval_delta(FLAGGED, PASSED)

    assert precision.point == TABLE_1["precision"] == 0.8625
    assert ends(precision) == pytest.approx(TABLE_1["precision_wald"], abs=1e-14)
    assert recall.point == pytest.approx(TABLE_1["recall"], abs=1e-14)
    assert ends(recall) == pytest.approx(TABLE_1["recall_log_ratio"], abs=1e-14)
    assert delta.point == pytest.approx(TABLE_1["recall"], abs=1e-14)
    assert ends(delta) == pytest.approx(TABLE_1["recall_delta"], abs=1e-14)


def test_the_random_sample_of_table_1_has_the_margins_that_the_paper_prints():
    precision, recall = random_sampling_intervals(tp=138, fp=22, fn=108)

    assert f"{precision.point:.1%} {(precision.high - precision.low) / 2:.1%}" == "86.2% 5.3%"
    assert f"{recall.point:.1%} {(recall.high - recall.low) / 2:.1%}" == "56.1% 6.2%"
    half = TABLE_1["recall_multinomial_halfwidth"]
    assert ends(recall) == pytest.approx([recall.point - half, recall.point + half], abs=1e-14)
    assert ends(precision) == pytest.approx(TABLE_1["precision_wald"], abs=1e-14)


@pytest.mark.parametrize("case", SEED["predictive_normal"], ids=lambda case: str(case["counts"]))
def test_predictive_ranges_have_the_reference_values(case):
    zeta = [a + n for a, n in zip(case["prior"], case["counts"], strict=True)]
    flagged, passed = BetaRate(zeta[0], zeta[1]), BetaRate(zeta[2], zeta[3])
    labels = tuple(case["future_n"])

    precision = precision_predictive(flagged, labels[0])
    recall = recall_predictive(flagged, passed, case["k"], labels)

    assert precision.point == pytest.approx(case["precision"], abs=1e-14)
    assert ends(precision) == pytest.approx(case["precision_interval"], abs=1e-14)
    assert recall.point == pytest.approx(case["recall"], abs=1e-14)
    assert ends(recall) == pytest.approx(case["recall_interval"], abs=1e-14)
    assert log_ratio_variance(flagged, passed, labels) == pytest.approx(case["var_u"], rel=1e-13)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_recall_agrees_with_the_katz_interval_of_statsmodels(level):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    low, high = proportion.confint_proportions_2indep(
        11, 500, 430, 520, compare="ratio", method="log", alpha=1 - level
    )
    flagged, passed = StratumCounts(33_000, 520, 430), StratumCounts(967_000, 500, 11)
    k = 33 / 967

    recall = recall_interval(flagged, passed, level=level)

    assert ends(recall) == pytest.approx([1 / (1 + high / k), 1 / (1 + low / k)], rel=1e-13)


@pytest.mark.parametrize(("positive", "negative", "labels"), [(138, 22, 160), (0.5, 3, 7)])
def test_the_variance_of_a_later_share_is_that_of_the_beta_binomial(positive, negative, labels):
    exact = stats.betabinom.var(labels, positive, negative) / labels**2

    assert share_variance(BetaRate(positive, negative), labels) == pytest.approx(exact, rel=1e-12)


# --- what must always hold ------------------------------------------------------------------


@given(classes(), classes())
def test_both_recall_intervals_share_point_and_order_and_eq_4_stays_inside(flagged, passed):
    by_ratio, by_delta = recall_interval(flagged, passed), recall_interval_delta(flagged, passed)

    assert 0 < by_ratio.low <= by_ratio.point <= by_ratio.high <= 1
    assert by_delta.low <= by_delta.point <= by_delta.high
    assert by_ratio.point == by_delta.point
    point = recall_from_rates(
        flagged.positive / flagged.labeled,
        passed.positive / passed.labeled,
        flagged.size / passed.size,
    )
    assert by_ratio.point == pytest.approx(point, rel=1e-12)


def test_labels_that_all_agree_leave_no_width():
    assert ends(precision_interval(StratumCounts(10, 5, 5))) == [1, 1]
    assert ends(precision_interval(StratumCounts(10, 5, 0))) == [0, 0]
    assert ends(precision_predictive(BetaRate(5, 0), 3)) == [1, 1]
    assert recall_from_rates(1, 0, 0.1) == 1
    assert recall_from_rates(0, 0.2, 0.1) == 0
    everything_found = recall_interval(StratumCounts(10, 5, 5), StratumCounts(10, 5, 5))
    assert ends(everything_found) == [0.5, 0.5]


# --- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("flagged", [StratumCounts(1600, 160, 0), StratumCounts(1600, 160, 138)])
@pytest.mark.parametrize("formula", [recall_interval, recall_interval_delta])
def test_a_class_without_labeled_positives_is_named_with_the_way_out(flagged, formula):
    name = "passed" if flagged.positive else "flagged"
    passed = StratumCounts(48_400, 160, 0 if flagged.positive else 5)

    with pytest.raises(CountIsZero) as raised:
        formula(flagged, passed)

    assert str(raised.value) == f"{name}: 0 positives in 160 labels{WAY_OUT}"


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: precision_interval(StratumCounts(7, 0, 0)), "flagged: 0 of 7 items are labeled"),
        (
            lambda: recall_interval(FLAGGED, StratumCounts(7, 0, 0)),
            "passed: 0 of 7 items are labeled",
        ),
        (
            lambda: recall_interval(StratumCounts(0, 0, 0), PASSED),
            "flagged: the window holds 0 items",
        ),
        (lambda: recall_from_rates(0, 0, 1), "both rates are 0, so are the actual positives"),
        (lambda: BetaRate(0, 0).mean, "the prior and the labels sum to 0"),
        (lambda: precision_predictive(KNOWN, 0), "the later sample holds 0 labels of the class"),
        (
            lambda: recall_predictive(BetaRate(0, 3), MISSED, 0.1, (5, 5)),
            "flagged: the prior and the labels hold 0 positives",
        ),
        (
            lambda: random_sampling_intervals(tp=0, fp=0, fn=3),
            "the sample holds 0 predicted positives",
        ),
    ],
)
def test_a_count_of_zero_that_a_formula_divides_by_is_named(call, what):
    with pytest.raises(CountIsZero) as raised:
        call()

    assert str(raised.value) == what + WAY_OUT
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("level", [0, 1, math.nan])
def test_a_level_outside_zero_one_is_refused_everywhere(level):
    calls = (
        lambda: precision_interval(FLAGGED, level=level),
        lambda: recall_interval(FLAGGED, PASSED, level=level),
        lambda: recall_interval_delta(FLAGGED, PASSED, level=level),
        lambda: precision_predictive(KNOWN, 9, level=level),
        lambda: recall_predictive(KNOWN, MISSED, 0.1, (9, 9), level=level),
        lambda: random_sampling_intervals(tp=1, fp=1, fn=1, level=level),
        lambda: normal_quantile(level),
    )

    for call in calls:
        with pytest.raises(ValueError, match=f"strictly between 0 and 1, got {level!r}"):
            call()


def test_rates_and_counts_out_of_range_are_refused():
    for k in (0, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"must be positive, got {k!r}"):
            recall_from_rates(0.5, 0.5, k)
    with pytest.raises(ValueError, match=r"precision must lie in \[0, 1\], got 1.1"):
        recall_from_rates(1.1, 0.5, 1)
    with pytest.raises(ValueError, match=r"false_omission_rate must lie in \[0, 1\], got -0.1"):
        recall_from_rates(1, -0.1, 1)
    with pytest.raises(ValueError, match="counts must be 0 or more, got tp=-1, fp=2, fn=3"):
        random_sampling_intervals(tp=-1, fp=2, fn=3)
    for positive, negative in ((-1, 1), (1, math.inf)):
        wrong = f"0 or more, got positive={positive}, negative={negative}"
        with pytest.raises(ValueError, match=wrong):
            BetaRate(positive, negative)
