"""Estimates from the joint posterior: exact values, invariants, refusals, coverage."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import ESTIMANDS, JointPosterior, draw, round_posterior
from monitor.stats.core.metrics import METRICS, Matrix
from monitor.stats.core.reasons import EmptyClass, Undefined, UndefinedDraws, Unlabeled
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.design.double_sampling import ShareNoise
from monitor.stats.estimation.posterior import (
    UNDEFINED_LIMIT,
    estimate,
    estimate_matrix,
    estimates,
    metric_quantile,
)
from tests.stats.samples import known, missing_bounds, of_matrix, of_strata, reference

EXACT, CARRIED = reference("posterior_exact"), reference("pooling")
ALL = tuple(METRICS)
FEW = 2**8  # enough points where only logic is tested

TABLE_1 = of_matrix(138, 22, 108, 4732, 1600, 48_400)
BANDED = of_strata(
    [300, 160, 0, 60_000, 20_000, 9540],
    [60, 40, 0, 80, 100, 120],
    [57, 25, 0, 0, 2, 9],
    [True, True, True, False, False, False],
)


@st.composite
def samples(draw_from):
    """Labeled samples of up to four strata per class, some of them empty or unlabeled."""
    rows = []
    for is_flagged in (True, False):
        for _ in range(draw_from(st.integers(1, 4))):
            size = draw_from(st.integers(0, 30) | st.integers(0, 100_000))
            labeled = draw_from(st.integers(0, min(size, 200)))
            rows.append((size, labeled, draw_from(st.integers(0, labeled)), is_flagged))
    size, labeled, positive, flagged = zip(*rows, strict=True)
    return of_strata(size, labeled, positive, flagged)


def of_exact(case):
    """Counts with the case's labels and its ratio of class sizes."""
    return Counts.of_matrix(
        **case["counts"], flagged_size=round(case["k"] * 121 * 10**6), passed_size=121 * 10**6
    )


# --- independent values ---------------------------------------------------------------------


@pytest.mark.parametrize("case", EXACT["cases"], ids=lambda case: str(case["counts"]))
def test_agrees_with_the_exact_two_stratum_posterior(case):
    counts = of_exact(case)

    rows = estimate(counts, metrics=("precision", "recall"), seed=20)
    median = metric_quantile(draw(round_posterior(counts), seed=20), counts.size, "recall", 0.5)

    tolerance = 1e-3 if min(case["counts"].values()) < 2 else 3e-4
    for name, row in rows.items():
        assert [row.low, row.high] == pytest.approx([*case[name]][::2], abs=tolerance)
    assert median == pytest.approx(case["recall"][1], abs=1e-3)


def test_agrees_with_the_quadrature_of_a_mixture_after_four_rounds():
    def mixture(weights, final):
        return BetaMixture(np.array(weights), np.array(final)[:, :1], np.array(final)[:, 1:])

    weights = np.array(CARRIED["flagged"]["weights"][-1])
    passed_weights = np.array(CARRIED["passed"]["weights_after_4"])
    posterior = JointPosterior(
        mixture(weights / weights.sum(), CARRIED["flagged"]["final"]),
        mixture(passed_weights / passed_weights.sum(), CARRIED["passed"]["final"]),
    )
    expected = CARRIED["after_round_4"]
    counts = of_matrix(219, 88, 118, 4292, 46_000, 1_000_000)

    estimates = estimate(counts, posterior=posterior, basis="pooled", seed=4)

    precision, recall = estimates["precision"], estimates["recall"]
    assert [precision.low, precision.high] == pytest.approx(
        expected["precision_quantiles"][::2], abs=6e-4
    )
    assert [recall.low, recall.high] == pytest.approx(expected["recall_quantiles"][::2], abs=6e-4)
    assert precision.point == pytest.approx(expected["precision_mean"], abs=5e-5)
    assert (precision.basis, precision.method.split(",")[0]) == (
        "pooled",
        "joint Beta mixture posterior",
    )


def test_true_positives_of_a_window_follow_the_beta_binomial_law():
    counts = of_matrix(30, 10, 4, 96, 300, 5000)
    law = stats.betabinom(260, 30.5, 10.5)

    found = draw(round_posterior(counts), seed=3).window_matrix(counts).tp - 30

    assert found.mean() == pytest.approx(law.mean(), rel=1e-3)
    for quantile in (150, 180, 195, 210, 230):
        assert np.mean(found <= quantile) == pytest.approx(law.cdf(quantile), abs=2e-3)


def test_several_strata_have_a_light_and_a_heavy_prior_over_those_that_hold_items():
    posterior = round_posterior(BANDED)

    assert posterior.flagged.weight.tolist() == posterior.passed.weight.tolist() == [0.5, 0.5]
    light, heavy = 0.1 / 2, 0.5 / np.sqrt(2)  # one of the three flagged strata is empty
    assert posterior.flagged.alpha == pytest.approx(
        np.array([[57 + light, 25 + light, light], [57 + heavy, 25 + heavy, heavy]])
    )
    light, heavy = 0.1 / 3, 0.5 / np.sqrt(3)
    assert posterior.passed.beta == pytest.approx(
        np.array([[80 + light, 98 + light, 111 + light], [80 + heavy, 98 + heavy, 111 + heavy]])
    )


# --- the point ------------------------------------------------------------------------------


def points(counts, **options):
    rows = estimates(counts, metrics=ALL, estimands=("rate",), points=FEW, **options)
    return {row.metric: row.point for row in rows}


def test_the_points_of_rates_and_window_are_those_of_the_scaled_matrix():
    matrix = scaled_matrix(BANDED.size, BANDED.labeled, BANDED.positive, BANDED.is_flagged)

    for estimand in ESTIMANDS:
        rows = estimate(BANDED, metrics=ALL, estimand=estimand)
        assert {name: row.point for name, row in rows.items()} == pytest.approx(
            {name: float(metric(matrix)) for name, metric in METRICS.items()}, rel=1e-12
        )


def test_draws_of_the_rate_have_the_noise_of_the_shares_of_bands():
    size = np.array([60, 40, 100, 900, 300])
    rates = np.array([0.1, 0.9, 0.01, 0.05, 0.6])
    law = BetaMixture.single(1e9 * rates, 1e9 * (1 - rates))
    known_rates = JointPosterior(
        *(BetaMixture(law.weight, law.alpha[:, of], law.beta[:, of]) for of in ([0, 1], [2, 3, 4]))
    )

    matrix = draw(known_rates, seed=1).rate_matrix(size)

    for positive, of in ((matrix.tp, slice(2)), (matrix.fn, slice(2, None))):
        noise = ShareNoise.of(None, size[of]).variance(rates[of])
        assert positive.mean() == pytest.approx(size[of] @ rates[of], rel=0.005)
        assert positive.var() == pytest.approx(noise, rel=0.03)
    assert matrix.flagged == pytest.approx(100)


def test_where_no_positive_was_seen_recall_is_the_posterior_mean():
    counts = of_matrix(0, 20, 0, 50, 100, 900)
    drawn = draw(round_posterior(counts), seed=0, points=FEW, size=counts.size)

    found = points(counts)

    assert found["recall"] == METRICS["recall"](drawn.rate_matrix(counts.size)).mean()
    assert (found["precision"], found["f1"]) == (0, 0)


def test_a_point_outside_of_a_narrow_interval_is_moved_to_its_end():
    counts = of_matrix(1, 20, 1, 50, 100, 900)

    row = estimate(counts, metrics=("precision",), level=0.01)["precision"]

    assert known(row).low > 1 / 21
    assert row.point == row.low


def test_points_of_another_posterior_are_its_means_unless_a_matrix_is_given():
    wide = JointPosterior(
        BetaMixture.single(np.array([20.0]), np.array([20.0])),
        BetaMixture.single(np.array([5.0]), np.array([95.0])),
    )

    means = points(TABLE_1, posterior=wide, basis="pooled")
    given_ = points(
        TABLE_1, posterior=wide, basis="pooled", scaled=Matrix(tp=880, fp=720, fn=2904, tn=45_496)
    )

    assert (means["precision"], means["npv"]) == pytest.approx((0.5, 0.95), abs=1e-4)
    assert (given_["precision"], given_["npv"]) == pytest.approx((0.55, 0.94))


# --- invariants, over all metrics -----------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(samples())
def test_every_estimate_is_ordered_in_range_or_none_with_a_reason(counts):
    for row in estimates(counts, metrics=ALL, points=FEW):
        if row.reason is None:
            interval = known(row)
            assert interval.low <= interval.point <= interval.high <= 1 + 1e-9
            assert np.isfinite([interval.low, interval.point, interval.high]).all()
            assert row.undefined_share <= UNDEFINED_LIMIT
        else:
            assert (row.point, row.low, row.high) == (None, None, None)


@settings(max_examples=20, deadline=None)
@given(samples())
def test_with_every_item_labeled_the_window_is_known(counts):
    census = of_strata(counts.labeled, counts.labeled, counts.positive, counts.is_flagged)
    up, y, n = census.is_flagged, census.positive, census.labeled
    truth = Matrix(y[up].sum(), (n - y)[up].sum(), y[~up].sum(), (n - y)[~up].sum())

    for row in estimates(census, metrics=ALL, estimands=("window",), points=FEW):
        value, why = float(METRICS[row.metric](truth)), METRICS[row.metric].undefined
        if np.isnan(value):
            assert (row.low, row.point, row.high) == (None, None, None)
            assert row.reason == UndefinedDraws(why, share=1, most=UNDEFINED_LIMIT)
        else:
            assert (row.low, row.point, row.high, row.reason) == (value, value, value, None)


def test_intervals_are_of_quantiles_wider_with_the_level_and_narrower_of_a_window():
    rate, window = (estimate(BANDED, metrics=ALL, estimand=each) for each in ESTIMANDS)
    half = estimate(BANDED, metrics=ALL, level=0.5)
    draws = draw(round_posterior(BANDED), seed=0, size=BANDED.size)
    none_missing = np.zeros(6, dtype=np.int64)

    for name in ALL:
        usual, finite, narrow = (known(each[name]) for each in (rate, window, half))
        ends = [metric_quantile(draws, BANDED.size, name, share) for share in (0.025, 0.975)]
        bounds = known(missing_bounds(BANDED, none_missing, name))
        assert [usual.low, usual.high] == ends == [bounds.low, bounds.high]
        assert usual.low <= narrow.low <= narrow.high <= usual.high
        assert narrow.point == usual.point
        # but for the points' own error
        assert finite.high - finite.low <= usual.high - usual.low + 1e-4


def test_strata_of_a_class_share_the_mixture_component():
    low_and_high = BetaMixture(
        np.array([0.3, 0.7]), np.array([[1e4, 2e4], [9e4, 8e4]]), np.array([[9e4, 8e4], [1e4, 2e4]])
    )
    other = BetaMixture.single(np.ones(1), np.ones(1))

    rates = draw(JointPosterior(low_and_high, other), seed=6).rates

    is_low = rates[:, 0] < 0.5
    assert is_low.mean() == pytest.approx(0.3, abs=1e-3)
    assert np.array_equal(is_low, rates[:, 1] < 0.5)
    assert rates[is_low, 2].mean() == pytest.approx(0.5, abs=0.01)


# --- nothing to say, said -------------------------------------------------------------------


def test_with_nothing_flagged_precision_has_no_value_and_recall_is_not_estimable():
    counts = of_matrix(0, 0, 7, 93, 0, 5000)

    rate = estimate(counts)
    window = estimate(counts, estimand="window")

    undefined = UndefinedDraws(Undefined.NOTHING_FLAGGED, share=1, most=UNDEFINED_LIMIT)
    assert rate["precision"].reason == undefined
    assert rate["recall"].reason == EmptyClass("flagged")
    assert str(rate["recall"]) == "recall (rate, round): no value, EmptyClass(predicted='flagged')"
    assert window["recall"].high == 0  # seven missed positives were seen, so recall is 0


def test_with_nothing_flagged_and_no_positive_seen_recall_may_not_even_exist():
    counts = of_matrix(0, 0, 0, 100, 0, 500)

    recall = estimate(counts, metrics=("recall",), estimand="window")["recall"]

    assert recall.point is None
    share = recall.undefined_share
    assert recall.reason == UndefinedDraws(Undefined.NO_POSITIVE, share, UNDEFINED_LIMIT)
    assert UNDEFINED_LIMIT < recall.undefined_share < 1


def test_few_draws_without_a_value_are_left_out_and_counted():
    counts = of_matrix(0, 9, 0, 1, 100, 400)

    recall = estimate(counts, metrics=("recall",), estimand="window")["recall"]

    assert 0 < recall.undefined_share < UNDEFINED_LIMIT
    assert recall.reason is None


def test_a_class_without_a_label_has_an_estimate_from_its_history_and_none_from_the_prior_alone():
    counts = of_matrix(90, 10, 0, 0, 500, 9500)

    estimates = estimate(counts, metrics=("precision", "recall", "npv", "flagged_rate"))
    pooled = estimate(counts, posterior=round_posterior(TABLE_1), basis="pooled")

    assert estimates["recall"].reason == Unlabeled("passed", 9500)
    assert estimates["npv"].reason == Unlabeled("passed", 9500)
    assert estimates["precision"].reason is None
    assert estimates["flagged_rate"].point == pytest.approx(0.05)
    assert pooled["recall"].reason is None


# --- missing answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "worst", "best"),
    [
        ("precision", (80, 25, 10, 300), (85, 20, 10, 300)),
        ("recall", (80, 25, 20, 290), (85, 20, 10, 300)),
        ("fpr", (80, 25, 20, 290), (85, 20, 10, 300)),
    ],
)
def test_missing_items_take_the_worse_and_the_better_value_for_the_metric(name, worst, best):
    sizes = {"flagged_size": 1000, "passed_size": 9000}
    keys = ("tp", "fp", "fn", "tn")
    counts = Counts.of_matrix(tp=80, fp=20, fn=10, tn=290, **sizes)
    filled = [
        Counts.of_matrix(**dict(zip(keys, cells, strict=True)), **sizes) for cells in (worst, best)
    ]

    bounds = known(missing_bounds(counts, np.array([5, 10]), name))

    ends = [known(estimate(counts, metrics=(name,))[name]) for counts in filled]
    assert bounds.low == min(end.low for end in ends)
    assert bounds.high == max(end.high for end in ends)


# --- refused inputs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_given", "message"),
    [
        ({"level": 1.0}, "level must lie strictly between 0 and 1, got 1.0"),
        ({"metrics": ("recal",)}, "did you mean 'recall'"),
        ({"estimands": ("next",)}, "no estimand is called 'next'; there are rate, window"),
        ({"basis": "old"}, "no basis is called 'old'; there are round, pooled"),
        ({"points": 1000}, "points must be a power of 2, got 1000"),
        ({"posterior": round_posterior(BANDED)}, "the counts have 1 flagged and 1 passed"),
    ],
)
def test_an_impossible_request_is_refused_with_what_was_given(settings_given, message):
    with pytest.raises(ValueError, match=message):
        estimates(TABLE_1, **settings_given)


@pytest.mark.parametrize("missing", [[1], [-1, 0], [0, 43_561]])
def test_more_missing_items_than_unlabeled_ones_are_refused(missing):
    with pytest.raises(ValueError, match=r"unlabeled items \[1440, 43560\]"):
        missing_bounds(TABLE_1, np.array(missing), "recall")


def test_draws_of_other_strata_and_a_quantile_outside_zero_one_are_refused():
    with pytest.raises(ValueError, match=r"posterior has 2 strata, .* \(6,\)"):
        draw(round_posterior(TABLE_1), seed=0, size=BANDED.size)
    with pytest.raises(ValueError, match="share must lie strictly between 0 and 1"):
        metric_quantile(draw(round_posterior(TABLE_1), seed=0), TABLE_1.size, "recall", 0.0)


# --- coverage -------------------------------------------------------------------------------


@pytest.mark.simulation
def test_intervals_of_eight_strata_cover_the_truth_as_promised_with_even_tails():
    rng = np.random.default_rng(20_260_101)
    # Bands of the first classifier of Shang et al. 2023, Table 4; 200 + 1050 labels.
    size = np.array([201, 223, 455, 15_399, 1775, 905, 587, 454])
    labeled = np.array([67, 67, 66, 320, 183, 183, 182, 182])
    rates = np.array([0.551, 0.718, 0.931, 0.000525, 0.0156, 0.0609, 0.1606, 0.3458])
    up = np.arange(8) < 3
    rounds = 300
    below, above = np.zeros(4), np.zeros(4)

    for _ in range(rounds):
        actual = rng.binomial(size, rates)
        positive = rng.hypergeometric(actual, size - actual, labeled)
        counts = of_strata(size, labeled, positive, up)
        truths = []
        for strata in (size * rates, actual):
            tp, fn = strata[up].sum(), strata[~up].sum()
            truths += [tp / size[up].sum(), tp / (tp + fn)]
        found = estimates(counts, points=2**8)
        below += [truth < estimate.low for truth, estimate in zip(truths, found, strict=True)]
        above += [truth > estimate.high for truth, estimate in zip(truths, found, strict=True)]

    covered = 1 - (below + above) / rounds
    assert np.all(covered > 0.925)
    assert np.all(covered < 0.98)
    assert np.all(below / rounds < 0.045)
    assert np.all(above / rounds < 0.045)


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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        *[
            ({cell: -1}, f"{cell} is -1; it counts labeled items, so it is 0 or more")
            for cell in ("tp", "fp", "fn", "tn")
        ],
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
def test_an_impossible_matrix_is_refused_in_the_callers_words(changed, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        estimate_matrix(**MATRIX | changed)
