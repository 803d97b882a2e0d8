"""Weighted curves, their gains, and their bands."""

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
from monitor.stats.estimation.posterior import estimate

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


def test_bounds_say_what_a_threshold_can_cut():
    possible = SAMPLE.possible_at(0.75)

    assert possible.tolist() == [[True, False], [False, True], [True, False], [True, False]]
    assert SAMPLE.possible_at(0.6)[0].tolist() == [True, True]
    assert ScoredSample(SAMPLE.items, SAMPLE.score).possible_at(0.75).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stratum": [0, 1]}, r"strata \(2,\) and labels \(3,\) must be two arrays of one length"),
        ({"flagged": 0}, "0 of 2 strata flagged; expected some of each"),
        ({"flagged": 2}, "2 of 2 strata flagged; expected some of each"),
        ({"stratum": [0, 1, 2]}, "a stratum is a position from 0 to 1"),
        ({"stratum": [0, 1, -1]}, "a stratum is a position from 0 to 1"),
        ({"size": [1, 9]}, "stratum 0 has 2 labeled of 1 items; expected 1 to 1"),
        ({"stratum": [0, 0, 0]}, "stratum 1 has 0 labeled of 9 items; expected 1 to 9"),
    ],
)
def test_a_sample_that_cannot_be_is_refused(changed, message):
    given_ = {"stratum": [0, 0, 1], "positive": [1, 0, 0], "size": [5, 9], "flagged": 1} | changed

    with pytest.raises(ValueError, match=message):
        LabeledSample(given_.pop("stratum"), given_.pop("positive"), **given_)


def test_an_empty_stratum_needs_no_label():
    assert LabeledSample([0, 0], [1, 0], size=[5, 0], flagged=1).labeled.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        *[
            (score, "every labeled item needs a finite score")
            for score in ([0.1], [0.1, np.nan], [0.1, np.inf])
        ],
        *[
            ([score, 0.1], f"1 scores lie outside .* such as {score} in one from 0.5 to 0.7")
            for score in (0.4, 0.7)
        ],
    ],
)
def test_every_item_needs_a_finite_score_within_its_stratum(score, message):
    items = LabeledSample([0, 1], [1, 0], size=[5, 9], flagged=1)

    with pytest.raises(ValueError, match=message):
        ScoredSample(items, score, low=[0.5, -np.inf], high=[0.7, 0.5])


# Cells


def bands_of(sample, threshold=0.6):
    return (sample.score >= threshold).astype(np.int64), sample.possible_at(threshold)


def drawn(items, cell, possible, *, seed=1, **asked):
    return cell_draws(items, np.asarray(cell), possible, rng=np.random.default_rng(seed), **asked)


def test_the_positives_of_all_cells_have_the_posterior_of_the_round():
    cell, possible = bands_of(SAMPLE)
    totals = np.zeros((20_000, 2, 2))
    for h, _, items in drawn(SAMPLE.items, cell, possible, draws=20_000):
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
        possible = np.ones((2, 2), dtype=bool)
        found = drawn(items, [0, 0, 0, 0], possible, prior=prior, seed=2, draws=40_000)
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
        positive[:, 1, 0] > 75
        for *_, positive in drawn(items, [0, 0], np.ones((2, 1), dtype=bool), prior=prior, draws=8)
    ]

    assert found[0].tolist() == [True, False] * 4
    assert found[1].tolist() == [True, True, False, False] * 2


def test_cells_that_cannot_be_are_refused():
    cell, possible = bands_of(SAMPLE)

    with pytest.raises(ValueError, match="a labeled item lies in a cell that its stratum cannot"):
        next(drawn(SAMPLE.items, 1 - cell, possible))
    with pytest.raises(ValueError, match="no estimand is called 'next'; there are rate, window"):
        next(drawn(SAMPLE.items, cell, possible, estimand="next"))


# Bands


def weighted(sample, prevalence=None):
    """Label and weight of each item, positives weighed to a prevalence."""
    y, weight = sample.items.positive, sample.items.weight
    eta = weight[y].sum() / weight.sum()
    wanted = eta if prevalence is None else prevalence
    return y, np.where(y, weight * wanted / eta, weight * (1 - wanted) / (1 - eta))


def areas(sample, prevalence=None):
    """Areas of ROC, precision-recall and gain by scikit-learn, the last by small steps.

    Mixing thresholds in 200,000 steps of recall gain, precision gain is summed.
    """
    y, weight = weighted(sample, prevalence)
    fpr, tpr, _ = roc_of(sample)
    eta = weight[y].sum() / weight.sum()
    recall_gain = np.linspace(0, 1, 200_001)
    recall = eta / (1 - (1 - eta) * recall_gain)
    mixed = np.interp(recall, tpr + np.arange(len(tpr)) * 1e-12, fpr)  # wants rising recalls
    precision = recall * eta / (recall * eta + mixed * (1 - eta))
    return (
        sklearn_metrics.roc_auc_score(y, sample.score, sample_weight=weight),
        sklearn_metrics.average_precision_score(y, sample.score, sample_weight=weight),
        trapezoid((precision - eta) / ((1 - eta) * precision), recall_gain),
    )


def roc_of(sample):
    y, weight = weighted(sample)
    return sklearn_metrics.roc_curve(y, sample.score, drop_intermediate=False, sample_weight=weight)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([None, 0.01, 0.5]))
def test_curves_and_areas_are_scikit_learns_with_weights(seed, prevalence):
    sample = make_sample(seed, labels=(40, 60, 60, 60))  # all scores are thresholds
    fpr, tpr, _ = roc_of(sample)

    bands = curve_bands(sample, prevalence=prevalence, rng=np.random.default_rng(seed), draws=300)

    found = bands.roc_area, bands.average_precision, bands.gain_area
    for interval, area in zip(found, areas(sample, prevalence), strict=True):
        assert interval.point == pytest.approx(np.clip(area, interval.low, interval.high), abs=2e-5)
    own = np.interp(bands.roc.x, fpr, tpr)
    assert bands.roc.point == pytest.approx(np.clip(own, bands.roc.low, bands.roc.high))
    assert bands.roc.x[[0, -1]] == pytest.approx([fpr[fpr > 0].min() / 2, 1])


@pytest.mark.parametrize(("label", "name"), [(False, "positive"), (True, "negative")])
def test_labels_of_one_kind_make_no_curve(label, name):
    items = LabeledSample([0, 1], [label, label], size=[5, 9], flagged=1)

    with pytest.raises(
        ValueError, match=f"no labeled item is actually {name}, so there is no curve"
    ):
        curve_bands(ScoredSample(items, [0.7, 0.1]), rng=np.random.default_rng(1))


@cache
def bands_of_sample():
    return curve_bands(SAMPLE, rng=np.random.default_rng(3))


def test_bands_lie_around_their_points_within_the_axes():
    bands = bands_of_sample()

    for band in (bands.roc, bands.precision_recall, bands.gain):
        assert band.x.shape == band.point.shape == (41,)
        assert np.all(np.diff(band.x) > 0)
        assert np.all((band.low <= band.point) & (band.point <= band.high))
    assert np.all(np.diff(bands.roc.point) >= 0)
    assert (bands.precision_recall.x[0], bands.precision_recall.x[-1]) == (0.05, 1)
    assert (bands.gain.x[0], bands.level) == (0, 0.95)


def test_a_curve_passes_through_the_estimates_of_the_classifier_as_it_is():
    rows = estimate(SAMPLE.items.counts, metrics=("recall", "fpr", "prevalence"))
    here = {name: row.interval.point for name, row in rows.items() if row.interval is not None}

    fpr, tpr, _ = roc_of(SAMPLE)

    corner = np.argmin(np.abs(tpr - here["recall"]) + np.abs(fpr - here["fpr"]))
    assert (tpr[corner], fpr[corner]) == pytest.approx((here["recall"], here["fpr"]))
    assert bands_of_sample().prevalence.point == pytest.approx(here["prevalence"], rel=1e-12)


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
    truth = areas(whole)
    tpr = np.interp(0.02, *roc_of(whole)[:2])
    held = np.zeros(4)
    for seed in range(60):
        sample = make_sample(seed + 100, size=whole.items.size, places=6)
        bands = curve_bands(sample, rng=np.random.default_rng(seed), draws=200)
        found = bands.roc_area, bands.average_precision, bands.gain_area
        for i, (interval, value) in enumerate(zip(found, truth, strict=True)):
            held[i] += interval.low <= value <= interval.high
        low, high = (np.interp(0.02, bands.roc.x, side) for side in (bands.roc.low, bands.roc.high))
        held[3] += low <= tpr <= high

    assert np.all(held / 60 > 0.95 - 3 * 0.028), held / 60
