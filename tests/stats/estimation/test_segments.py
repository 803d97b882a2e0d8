"""A segment's precision and recall from the labels of a whole round."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from monitor.stats.core.counts import Counts
from monitor.stats.core.reasons import Unlabeled
from monitor.stats.estimation.segment_labels import MoreLabels, more_labels
from monitor.stats.estimation.segments import segment_estimates, segment_posterior

WHOLE = Counts.of_matrix(tp=80, fp=20, fn=10, tn=290, flagged_size=900, passed_size=9000)
PART = Counts.of_matrix(tp=2, fp=8, fn=1, tn=29, flagged_size=90, passed_size=900)
Z = 1.959963984540054


def bands(size, labeled, positive):
    return Counts.of_arrays(
        size=size, labeled=labeled, positive=positive, is_flagged=[True, True, False]
    )


def surely(found):
    """The same, and surely with a value."""
    assert None not in (found.low, found.point, found.high)
    return found


def mixture_by_hand(rest_positive, rest_labeled, positive, labeled, *, prior=0.5, own_weight=0.25):
    """Weights and Betas of one stratum's rate, from the formula of the docstring."""
    a, b = prior + rest_positive, prior + rest_labeled - rest_positive
    starts = [(a, b)]
    for shift in (-2.5, -1.6, -0.8, 0.0, 0.8, 1.6, 2.5):
        mean = special.expit(special.logit(a / (a + b)) + shift)
        worth = min(a + b, 1 / min(mean, 1 - mean))
        starts.append((worth * mean, worth * (1 - mean)))
    prior_weight = [0.1, *([0.9 / 7] * 7)]
    foreseen = [
        math.exp(special.betaln(p + positive, q + labeled - positive) - special.betaln(p, q))
        for p, q in starts
    ]
    weight = np.array(prior_weight) * foreseen
    betas = [(p + positive, q + labeled - positive) for p, q in starts]
    own = prior + positive, prior + labeled - positive
    return np.append((1 - own_weight) * weight / weight.sum(), own_weight), [*betas, own]


def test_the_posterior_is_the_mixture_of_the_formula():
    beta_mixture = segment_posterior(PART, WHOLE).flagged

    weight, betas = mixture_by_hand(78, 90, 2, 10)
    assert beta_mixture.weight == pytest.approx(weight, rel=1e-9)
    assert beta_mixture.alpha[:, 0] == pytest.approx([p for p, _ in betas])
    assert beta_mixture.beta[:, 0] == pytest.approx([q for _, q in betas])


def test_a_segment_unlike_the_rest_follows_its_own_labels():
    alike = Counts.of_matrix(tp=32, fp=8, fn=1, tn=29, flagged_size=300, passed_size=900)
    unlike = Counts.of_matrix(tp=8, fp=32, fn=1, tn=29, flagged_size=300, passed_size=900)
    whole = Counts.of_matrix(tp=180, fp=60, fn=10, tn=290, flagged_size=900, passed_size=9000)

    found = [surely(segment_estimates(part, whole)[0]) for part in (alike, unlike)]

    assert found[0].point == pytest.approx(0.787, abs=0.002)
    assert found[1].point == pytest.approx(0.21, abs=0.01)
    assert found[0].high - found[0].low < found[1].high - found[1].low


def test_a_segment_labeled_whole_is_known():
    part = Counts.of_matrix(tp=3, fp=1, fn=0, tn=5, flagged_size=4, passed_size=5)

    precision, recall = segment_estimates(part, WHOLE)

    assert (precision.low, precision.point, precision.high) == (0.75, 0.75, 0.75)
    assert (recall.low, recall.high) == (1.0, 1.0)
    assert more_labels(part, WHOLE, "precision", 0.01) == MoreLabels(0, 0)


def test_without_a_label_of_its_own_a_class_is_not_estimated():
    part = Counts.of_matrix(tp=2, fp=8, fn=0, tn=0, flagged_size=90, passed_size=900)

    precision, recall = segment_estimates(part, WHOLE)

    assert precision.point is not None
    assert recall.point is None
    assert recall.reason == Unlabeled("passed", 900)


@given(st.integers(0, 10), st.integers(0, 40), st.integers(0, 30), st.integers(0, 200))
@settings(max_examples=15, deadline=None)
def test_ends_are_ordered_and_stay_inside_zero_one(tp, fp, fn, tn):
    part = Counts.of_matrix(tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=99, passed_size=500)
    whole = Counts.of_matrix(tp=90, fp=60, fn=40, tn=400, flagged_size=900, passed_size=9000)

    for estimate in segment_estimates(part, whole, points=2**7):
        if estimate.point is not None:
            told = surely(estimate)
            assert 0 <= told.low <= told.point <= told.high <= 1


def test_labels_of_the_segment_alone_for_precision_follow_the_formula():
    weight, betas = mixture_by_hand(78, 90, 2, 10, own_weight=0)
    second = [(p / (p + q), p * q / ((p + q) * (p + q + 1))) for p, q in betas]
    mean = sum(w * m for w, (m, _) in zip(weight, second, strict=True))
    v = sum(w * each for w, (_, each) in zip(weight, second, strict=True))
    worth = v / (mean * (1 - mean) - v)
    size, own = 90, 10
    own_worth = 1 / (1 / size + (size - own) ** 2 / size**2 / worth + (size - own) / size**2)
    wanted = 1 / ((0.1 / Z) ** 2 / v + 1 / size)

    more = more_labels(PART, WHOLE, "precision", 0.1)

    assert more.of_segment == math.ceil(wanted - own_worth)
    # the segment gets 1 flagged label of 10, and a factor on the round adds 300 passed ones too
    factor = (wanted - own_worth) / 10
    assert more.of_round == pytest.approx(400 * factor, abs=1)


def test_labels_stop_where_a_stratum_has_no_more_items():
    whole = Counts.of_matrix(tp=80, fp=20, fn=10, tn=290, flagged_size=120, passed_size=9000)
    part = Counts.of_matrix(tp=2, fp=8, fn=1, tn=29, flagged_size=20, passed_size=900)

    more = more_labels(part, whole, "precision", 0.001)

    assert more == MoreLabels(of_round=195, of_segment=10)


def test_a_stratum_that_the_round_does_not_sample_is_out_of_reach_for_it():
    whole = bands([900, 300, 9000], [60, 0, 300], [40, 0, 10])
    part = bands([90, 30, 900], [6, 0, 30], [4, 0, 1])

    more = more_labels(part, whole, "precision", 0.05)

    assert more.of_round is None
    assert 0 < more.of_segment <= 114


def test_a_class_without_a_label_needs_one_whatever_the_rest_says():
    flagged = Counts.of_matrix(tp=1990, fp=10, fn=0, tn=3000, flagged_size=9000, passed_size=9000)
    part = Counts.of_matrix(tp=0, fp=0, fn=0, tn=0, flagged_size=9, passed_size=9)

    assert more_labels(part, flagged, "precision", 0.9) == MoreLabels(2500, 1)
    assert more_labels(part, flagged, "recall", 0.9) == MoreLabels(2500, 2)


def test_a_margin_that_is_reached_needs_nothing():
    assert more_labels(WHOLE, WHOLE, "precision", 0.3) == MoreLabels(0, 0)


@pytest.mark.parametrize(
    ("metric", "margin", "sentence"),
    [
        ("f1", 0.1, "labels are predicted for precision and recall, got 'f1'"),
        ("recall", 0.0, r"margin must lie strictly between 0 and 1, got 0\.0"),
        ("recall", 1.0, r"margin must lie strictly between 0 and 1, got 1\.0"),
    ],
)
def test_a_request_out_of_range_is_refused(metric, margin, sentence):
    with pytest.raises(ValueError, match=sentence):
        more_labels(PART, WHOLE, metric, margin)


def test_a_metric_that_the_segment_cannot_have_is_refused():
    nothing = Counts.of_matrix(tp=0, fp=0, fn=1, tn=29, flagged_size=0, passed_size=900)
    everything = Counts.of_matrix(tp=2, fp=8, fn=0, tn=0, flagged_size=90, passed_size=0)

    with pytest.raises(ValueError, match="nothing was flagged"):
        more_labels(nothing, WHOLE, "precision", 0.1)
    with pytest.raises(ValueError, match="everything was flagged, so recall is 1"):
        more_labels(everything, WHOLE, "recall", 0.1)


def test_other_strata_than_the_whole_are_refused():
    with pytest.raises(
        ValueError, match="the segment has 1 flagged and 1 passed strata, the whole 2"
    ):
        segment_posterior(PART, bands([9, 9, 9], [1, 1, 1], [1, 1, 1]))


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"flagged_size": 901}, r"has \[901, 900\] items of \[900, 9000\]"),
        ({"tp": 81}, r"has \[81, 1\] positives of \[80, 10\]"),
        ({"fp": 21}, r"has \[21, 29\] negatives of \[20, 290\]"),
    ],
)
def test_more_than_the_whole_is_refused(part, sentence):
    usual = {"tp": 2, "fp": 8, "fn": 1, "tn": 29, "flagged_size": 90, "passed_size": 900}

    with pytest.raises(ValueError, match=f"a segment is part of the whole, but {sentence}"):
        segment_posterior(Counts.of_matrix(**{**usual, **part}), WHOLE)


@pytest.mark.simulation
def test_intervals_of_small_segments_cover_whether_they_differ_or_not():
    rng = np.random.default_rng(11)
    size, rate = np.array([900, 20_000]), np.array([0.8, 0.02])
    part_size, labels = size // 10, np.array([150, 600])
    for shift, least in ((0.0, 0.92), (1.0, 0.85)):
        own = special.expit(special.logit(rate) + shift * np.array([-1, 1]))
        covered = np.zeros((80, 2))
        for hits in covered:
            labeled = rng.hypergeometric(part_size, size - part_size, labels)
            positive = rng.binomial(labeled, own)
            rest = rng.binomial(labels - labeled, rate)
            part, whole = (
                Counts.of_arrays(size=n, labeled=m, positive=y, is_flagged=[True, False])
                for n, m, y in ((part_size, labeled, positive), (size, labels, positive + rest))
            )
            estimates = segment_estimates(part, whole, estimands=("rate",), points=2**8)
            tp, fn = own * part_size
            for place, truth in enumerate((own[0], tp / (tp + fn))):
                hits[place] = estimates[place].low <= truth <= estimates[place].high
        assert (covered.mean(axis=0) >= least).all()
