"""Weighted curves, their gains, and their bands."""

from dataclasses import astuple
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from sklearn import metrics as sklearn_metrics

from monitor.stats.core.cells import cell_draws
from monitor.stats.core.draws import round_posterior
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.curves.gain import gain, share_of_gain
from monitor.stats.curves.weighted_curves import RocCurve, average_precision, roc_curve
from monitor.stats.estimation.posterior import estimate
from tests.stats.curves.plain_curves import area_under_gain, area_under_roc, gain_curve

SIZE = (600, 900, 60_000, 8_000)


def make_sample(seed=1, labels=(40, 60, 200, 200), size=SIZE, places=3):
    """Four score bands, the upper two flagged; scores with ties, labels that follow them."""
    rng = np.random.default_rng(seed)
    low = np.array([0.5, 0.75, 0.0, 0.25])
    stratum = np.repeat(np.arange(4), labels)
    score = np.floor((low[stratum] + rng.random(len(stratum)) / 4) * 10**places) / 10**places
    positive = rng.random(len(score)) < score**2
    items = LabeledSample(stratum, positive, size=size, flagged=2)
    return ScoredSample(items, score, low=low, high=low + 0.25)


SAMPLE = make_sample()


# The sample


def test_a_sample_knows_weights_counts_and_what_a_threshold_cuts():
    items = LabeledSample([1, 0, 1, 2], [True, True, False, False], size=[3, 10, 5], flagged=2)

    assert items.weight.tolist() == [5, 3, 5, 5]
    assert items.labeled.tolist() == [1, 2, 1]
    assert items.is_flagged.tolist() == [True, True, True, False]
    assert items.counts.positive.tolist() == [1, 1, 0]
    assert items.counts.size.tolist() == [3, 10, 5]
    assert items.counts.is_flagged.tolist() == [True, True, False]


def test_bounds_say_what_a_threshold_can_cut():
    possible = SAMPLE.possible_at(0.75)

    assert possible.tolist() == [[True, False], [False, True], [True, False], [True, False]]
    assert SAMPLE.possible_at(0.6)[0].tolist() == [True, True]
    assert ScoredSample(SAMPLE.items, SAMPLE.score).possible_at(0.75).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stratum": [0, 1]}, r"strata \(2,\) and labels \(3,\) must be two arrays of one length"),
        ({"flagged": 0}, "0 of 2 strata flagged; wanted some of each"),
        ({"flagged": 2}, "2 of 2 strata flagged; wanted some of each"),
        ({"stratum": [0, 1, 2]}, "a stratum is a position from 0 to 1"),
        ({"stratum": [0, 1, -1]}, "a stratum is a position from 0 to 1"),
        ({"size": [1, 9]}, "stratum 0 has 2 labeled of 1 items; wanted 1 to 1"),
        ({"stratum": [0, 0, 0]}, "stratum 1 has 0 labeled of 9 items; wanted 1 to 9"),
    ],
)
def test_a_sample_that_cannot_be_is_refused(changed, message):
    given_ = {"stratum": [0, 0, 1], "positive": [1, 0, 0], "size": [5, 9], "flagged": 1} | changed

    with pytest.raises(ValueError, match=message):
        LabeledSample(given_.pop("stratum"), given_.pop("positive"), **given_)


def test_an_empty_stratum_needs_no_label():
    assert LabeledSample([0, 0], [1, 0], size=[5, 0], flagged=1).labeled.tolist() == [2, 0]


@pytest.mark.parametrize("score", [[0.1], [0.1, np.nan], [0.1, np.inf]])
def test_every_item_needs_a_finite_score(score):
    with pytest.raises(ValueError, match="every labeled item needs a finite score"):
        ScoredSample(LabeledSample([0, 1], [1, 0], size=[5, 9], flagged=1), score)


@pytest.mark.parametrize("score", [0.4, 0.7])
def test_a_score_outside_of_its_stratum_is_named(score):
    items = LabeledSample([0, 1], [1, 0], size=[5, 9], flagged=1)

    with pytest.raises(
        ValueError, match=f"1 scores lie outside .* such as {score} in one from 0.5 to 0.7"
    ):
        ScoredSample(items, [score, 0.1], low=[0.5, -np.inf], high=[0.7, 0.5])


# Curves


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([2, 4]))
def test_curves_and_areas_are_scikit_learns_with_weights(seed, places):
    sample = make_sample(seed, places=places)
    y, weight = sample.items.positive, sample.items.weight

    roc = roc_curve(sample)

    given_ = {"sample_weight": weight}
    fpr, tpr, threshold = sklearn_metrics.roc_curve(
        y, sample.score, drop_intermediate=False, **given_
    )
    assert roc.fpr == pytest.approx(fpr, abs=1e-12)
    assert roc.tpr == pytest.approx(tpr, abs=1e-12)
    assert roc.threshold == pytest.approx(threshold)
    precision, recall, cuts = sklearn_metrics.precision_recall_curve(y, sample.score, **given_)
    assert roc.precision()[1:] == pytest.approx(precision[:-1][::-1], rel=1e-12)
    assert roc.tpr[1:] == pytest.approx(recall[:-1][::-1], abs=1e-12)
    assert roc.threshold[1:] == pytest.approx(cuts[::-1])
    assert area_under_roc(roc) == pytest.approx(
        sklearn_metrics.roc_auc_score(y, sample.score, **given_), rel=1e-12
    )
    assert average_precision(roc) == pytest.approx(
        sklearn_metrics.average_precision_score(y, sample.score, **given_), rel=1e-12
    )


def test_another_prevalence_is_what_weighting_the_positives_gives():
    y, weight = SAMPLE.items.positive, SAMPLE.items.weight
    eta = float(weight[y].sum() / weight.sum())
    wanted = 0.01
    turned = np.where(y, weight * wanted / eta, weight * (1 - wanted) / (1 - eta))

    roc = roc_curve(SAMPLE)

    precision, _, _ = sklearn_metrics.precision_recall_curve(y, SAMPLE.score, sample_weight=turned)
    assert roc.prevalence == pytest.approx(eta)
    assert roc.precision(wanted)[1:] == pytest.approx(precision[:-1][::-1])
    assert average_precision(roc, wanted) == pytest.approx(
        sklearn_metrics.average_precision_score(y, SAMPLE.score, sample_weight=turned)
    )
    assert roc.flagged_rate()[-1] == pytest.approx(1)
    flagged = weight[SAMPLE.score >= roc.threshold[40]].sum() / weight.sum()
    assert roc.flagged_rate()[40] == pytest.approx(flagged)
    assert roc.flagged_rate(wanted)[40] == pytest.approx(
        roc.tpr[40] * wanted + roc.fpr[40] * (1 - wanted)
    )
    assert np.isnan(roc.precision()[0])


@pytest.mark.parametrize(("label", "name"), [(False, "positive"), (True, "negative")])
def test_labels_of_one_kind_make_no_curve(label, name):
    items = LabeledSample([0, 1], [label, label], size=[5, 9], flagged=1)

    with pytest.raises(
        ValueError, match=f"no labeled item is actually {name}, so there is no curve"
    ):
        roc_curve(ScoredSample(items, [0.7, 0.1]))


# Gain


@given(st.floats(0.01, 1), st.floats(0.01, 0.9))
def test_gain_and_its_inverse(share, eta):
    found = gain(share, eta)

    assert float(found) == pytest.approx((share - eta) / ((1 - eta) * share), abs=1e-12)
    assert float(share_of_gain(found, eta)) == pytest.approx(share)
    assert gain(0.0, eta) == -np.inf


def area_by_small_steps(roc, eta):
    """Independent: mix thresholds in 100,000 steps of recall and sum precision gain."""
    order = np.arange(len(roc.tpr)) * 1e-12  # np.interp needs rising recalls
    recall_gain = np.linspace(0, 1, 200_001)
    recall = eta / (1 - (1 - eta) * recall_gain)
    fpr = np.interp(recall, roc.tpr + order, roc.fpr)
    tp, fp = recall * eta, fpr * (1 - eta)
    precision = tp / (tp + fp)
    return trapezoid((precision - eta) / ((1 - eta) * precision), recall_gain)


@pytest.mark.parametrize("eta", [None, 0.5])
def test_the_area_under_gain_is_that_of_mixing_thresholds_in_small_steps(eta):
    roc = roc_curve(SAMPLE)

    area = area_under_gain(gain_curve(roc, eta))

    assert area == pytest.approx(area_by_small_steps(roc, eta or roc.prevalence), abs=2e-5)


def test_a_gain_curve_starts_at_the_crossing_of_recall_gain_zero():
    roc = RocCurve(
        np.array([np.inf, 0.9, 0.5, 0.1]), np.array([0, 0.1, 0.5, 1]), np.array([0, 0, 0.2, 1]), 0.3
    )

    curve = gain_curve(roc)

    # TPR .3 lies half way from .1 to .5, where FPR is .1
    assert curve.recall_gain.tolist() == pytest.approx([0, 1 - 3 / 7, 1])
    assert curve.precision_gain.tolist() == pytest.approx([1 - 0.1 / 0.3, 1 - 0.2 / 0.5, 0])
    assert np.isnan(curve.threshold[0])
    assert curve.threshold[1:].tolist() == [0.5, 0.1]
    assert curve.prevalence == 0.3


def test_a_threshold_at_the_crossing_stays():
    roc = RocCurve(np.array([np.inf, 0.9, 0.1]), np.array([0, 0.3, 1]), np.array([0, 0, 1]), 0.3)

    curve = gain_curve(roc)

    assert curve.recall_gain.tolist() == [0, 1]
    assert curve.threshold.tolist() == [0.9, 0.1]


def test_precision_gain_that_changes_its_sign_gets_a_point_there():
    roc = RocCurve(
        np.array([np.inf, 3, 2, 1]), np.array([0, 0.4, 0.6, 1]), np.array([0, 0.2, 0.9, 1]), 0.4
    )

    curve = gain_curve(roc)

    assert np.isnan(curve.threshold[1])
    assert curve.precision_gain[1] == pytest.approx(0)
    assert curve.precision_gain[2] == pytest.approx(1 - 0.9 / 0.6)
    assert area_under_gain(curve) == pytest.approx(area_by_small_steps(roc, 0.4), abs=1e-5)


# Cells


def bands_of(sample, threshold=0.6):
    return (sample.score >= threshold).astype(np.int64), sample.possible_at(threshold)


def test_the_positives_of_all_cells_have_the_posterior_of_the_round():
    cell, possible = bands_of(SAMPLE)
    totals = np.zeros((20_000, 2, 2))
    for h, _, items in cell_draws(
        SAMPLE.items, cell, possible, rng=np.random.default_rng(1), draws=20_000
    ):
        totals[:, int(h >= 2)] += items.sum(axis=2)

    recall = totals[:, 0, 1] / totals[:, :, 1].sum(axis=1)
    counts = SAMPLE.items.counts
    own = estimate(counts, posterior=round_posterior(counts))["recall"]  # its point is the mean

    found = [recall.mean(), *np.quantile(recall, [0.025, 0.975])]
    assert found == pytest.approx([own.point, own.low, own.high], abs=3e-3)
    assert totals.sum(axis=(1, 2)) == pytest.approx(sum(SIZE))


def test_cells_share_the_prior_of_their_stratum_unless_one_is_given():
    """One stratum a class: 1/2 each; 3 labeled, all positive and in cell 0."""
    items = LabeledSample([0, 0, 0, 1], [1, 1, 1, 0], size=[1000, 10], flagged=1)

    def mean(prior):
        found = cell_draws(
            items,
            np.array([0, 0, 0, 0]),
            np.ones((2, 2), dtype=bool),
            prior=prior,
            rng=np.random.default_rng(2),
            draws=40_000,
        )
        return next(iter(found))[2].mean(axis=0) / 1000

    # alpha: negatives .25 + .25, positives 3.25 + .25
    assert mean(None) == pytest.approx(np.array([[0.25, 0.25], [3.25, 0.25]]) / 4, abs=4e-3)
    given_ = np.stack([np.full((2, 2), 0.5), np.full((2, 2), 1.5)])
    halves = [np.array([[a, a], [3 + a, a]]) / (3 + 4 * a) for a in (0.5, 1.5)]
    assert mean(given_) == pytest.approx((halves[0] + halves[1]) / 2, abs=4e-3)


def test_the_minds_of_the_two_classes_are_balanced_against_each_other():
    """Every fourth draw has each pair of minds: shares tell which, with priors this far apart."""
    items = LabeledSample([0, 1], [1, 1], size=[100, 100], flagged=1)
    prior = np.stack([np.full((2, 1), 1e-3), np.full((2, 1), 1e6)])

    found = [
        drawn[:, 1, 0] > 75
        for *_, drawn in cell_draws(
            items,
            np.array([0, 0]),
            np.ones((2, 1), dtype=bool),
            prior=prior,
            rng=np.random.default_rng(1),
            draws=8,
        )
    ]

    assert found[0].tolist() == [True, False] * 4
    assert found[1].tolist() == [True, True, False, False] * 2


def test_cells_that_cannot_be_are_refused():
    cell, possible = bands_of(SAMPLE)

    with pytest.raises(ValueError, match="a labeled item lies in a cell that its stratum cannot"):
        next(cell_draws(SAMPLE.items, 1 - cell, possible, rng=np.random.default_rng(1)))
    with pytest.raises(ValueError, match="no estimand is called 'next'; there are rate, window"):
        next(
            cell_draws(
                SAMPLE.items,
                cell,
                possible,
                rng=np.random.default_rng(1),
                estimand="next",  # type: ignore[arg-type]
            )
        )


# Bands


@cache
def bands_of_sample():
    return curve_bands(SAMPLE, rng=np.random.default_rng(3))


def test_bands_hold_the_weighted_curve_and_agree_with_its_areas():
    roc, bands = roc_curve(SAMPLE), bands_of_sample()

    assert bands.roc_area.low < area_under_roc(roc) < bands.roc_area.high
    assert bands.roc_area.point == pytest.approx(area_under_roc(roc), rel=1e-12)
    assert bands.average_precision.point == pytest.approx(average_precision(roc), rel=1e-12)
    assert bands.gain_area.point == pytest.approx(area_under_gain(gain_curve(roc)), rel=1e-9)
    assert bands.prevalence.point == pytest.approx(roc.prevalence, rel=1e-12)
    for band in (bands.roc, bands.precision_recall, bands.gain):
        assert band.x.shape == band.point.shape == (41,)
        assert np.all(np.diff(band.x) > 0)
        assert np.all((band.low <= band.point) & (band.point <= band.high))
    assert np.all(np.diff(bands.roc.point) >= 0)
    tpr = np.interp(bands.roc.x[20], roc.fpr, roc.tpr)
    assert bands.roc.low[20] < tpr < bands.roc.high[20]
    assert (bands.roc.x[0], bands.roc.x[-1]) == pytest.approx((roc.fpr[roc.fpr > 0].min() / 2, 1))
    assert (bands.precision_recall.x[0], bands.precision_recall.x[-1]) == (0.05, 1)
    assert (bands.gain.x[0], bands.level) == (0, 0.95)


def test_a_curve_passes_through_the_estimates_of_the_classifier_as_it_is():
    rows = estimate(SAMPLE.items.counts, metrics=("recall", "fpr", "prevalence"))
    here = {name: row.interval.point for name, row in rows.items() if row.interval is not None}

    roc, bands = roc_curve(SAMPLE), bands_of_sample()

    corner = np.argmin(np.abs(roc.tpr - here["recall"]) + np.abs(roc.fpr - here["fpr"]))
    assert (roc.tpr[corner], roc.fpr[corner]) == pytest.approx((here["recall"], here["fpr"]))
    drawn = np.interp(bands.roc.x, roc.fpr, roc.tpr)
    assert bands.roc.point == pytest.approx(np.clip(drawn, bands.roc.low, bands.roc.high))
    assert bands.prevalence.point == pytest.approx(here["prevalence"], rel=1e-12)


def test_another_prevalence_moves_precision_and_leaves_roc_and_its_area():
    here = bands_of_sample()
    rare = curve_bands(SAMPLE, prevalence=0.001, rng=np.random.default_rng(3))

    assert rare.roc_area == here.roc_area
    assert rare.roc.point.tolist() == here.roc.point.tolist()
    assert np.all(rare.precision_recall.point < here.precision_recall.point)
    assert rare.average_precision.high < here.average_precision.low
    assert astuple(rare.prevalence) == pytest.approx((0.001, 0.001, 0.001))
    area = average_precision(roc_curve(SAMPLE), 0.001)
    assert rare.average_precision.low < area < rare.average_precision.high
    assert share_of_gain(rare.gain.x[-1], 0.001) == pytest.approx(0.98)


def test_areas_that_no_draw_reaches_end_their_intervals():
    score = np.arange(40) / 40
    items = LabeledSample(np.where(score >= 0.5, 0, 1), score >= 0.5, size=[90, 800], flagged=1)

    bands = curve_bands(ScoredSample(items, score), rng=np.random.default_rng(3), draws=200)

    for area in (bands.roc_area, bands.average_precision):  # both are 1 in the sample
        assert area.low < area.point == area.high < 1


@pytest.mark.parametrize(
    "changed", [{"level": 0}, {"level": 1}, {"prevalence": 0}, {"prevalence": 1}]
)
def test_bands_want_shares(changed):
    with pytest.raises(ValueError, match=r"level and prevalence lie in \(0, 1\), got"):
        curve_bands(SAMPLE, rng=np.random.default_rng(1), **changed)


@pytest.mark.simulation
def test_bands_cover_areas_and_the_curve():
    """60 samples of an endless window; the truth from 300,000 of its items."""
    whole = make_sample(
        9, labels=(4_000, 6_000, 200_000, 90_000), size=(4_000, 6_000, 200_000, 90_000), places=6
    )
    truth = roc_curve(whole)
    tpr = np.interp(0.02, truth.fpr, truth.tpr)
    held = np.zeros(4)
    for seed in range(60):
        sample = make_sample(seed + 100, size=whole.items.size, places=6)
        bands = curve_bands(sample, rng=np.random.default_rng(seed), draws=200)
        for i, (interval, value) in enumerate(
            (
                (bands.roc_area, area_under_roc(truth)),
                (bands.average_precision, average_precision(truth)),
                (bands.gain_area, area_under_gain(gain_curve(truth))),
            )
        ):
            held[i] += interval.low <= value <= interval.high
        low, high = (np.interp(0.02, bands.roc.x, side) for side in (bands.roc.low, bands.roc.high))
        held[3] += low <= tpr <= high

    assert np.all(held / 60 > 0.95 - 3 * 0.028), held / 60
