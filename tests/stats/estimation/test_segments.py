"""A segment's precision and recall from the labels of a whole round."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from benchmarks.cells import cut, planned
from benchmarks.strata import population
from monitor.stats.core.reasons import Unlabeled
from monitor.stats.design.cell_sizes import systematic_sizes
from monitor.stats.estimation.segment_labels import MoreLabels, more_labels
from monitor.stats.estimation.segments import segment_estimates, segment_posterior
from tests.stats.samples import known, of_matrix, of_strata

WHOLE = of_matrix(80, 20, 10, 290, 900, 9000)
PART = of_matrix(2, 8, 1, 29, 90, 900)
Z = 1.959963984540054


def bands(size, labeled, positive):
    return of_strata(size, labeled, positive, [True, True, False])


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
    alike = of_matrix(32, 8, 1, 29, 300, 900)
    unlike = of_matrix(8, 32, 1, 29, 300, 900)
    whole = of_matrix(180, 60, 10, 290, 900, 9000)

    found = [known(segment_estimates(part, whole)[0]) for part in (alike, unlike)]

    assert found[0].point == pytest.approx(0.787, abs=0.002)
    assert found[1].point == pytest.approx(0.21, abs=0.01)
    assert found[0].high - found[0].low < found[1].high - found[1].low


def test_a_segment_labeled_whole_is_known():
    part = of_matrix(3, 1, 0, 5, 4, 5)

    precision, recall = segment_estimates(part, WHOLE)

    assert (precision.low, precision.point, precision.high) == (0.75, 0.75, 0.75)
    assert (recall.low, recall.high) == (1.0, 1.0)
    assert more_labels(part, WHOLE, "precision", 0.01) == MoreLabels(0, 0)


def test_without_a_label_of_its_own_a_class_is_not_estimated():
    part = of_matrix(2, 8, 0, 0, 90, 900)

    precision, recall = segment_estimates(part, WHOLE)

    assert precision.point is not None
    assert recall.point is None
    assert recall.reason == Unlabeled("passed", 900)


@given(st.integers(0, 10), st.integers(0, 40), st.integers(0, 30), st.integers(0, 200))
@settings(max_examples=15, deadline=None)
def test_ends_are_ordered_and_stay_inside_zero_one(tp, fp, fn, tn):
    part = of_matrix(tp, fp, fn, tn, 99, 500)
    whole = of_matrix(90, 60, 40, 400, 900, 9000)

    for estimate in segment_estimates(part, whole, points=2**7):
        if estimate.point is not None:
            told = known(estimate)
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
    whole = of_matrix(80, 20, 10, 290, 120, 9000)
    part = of_matrix(2, 8, 1, 29, 20, 900)

    more = more_labels(part, whole, "precision", 0.001)

    assert more == MoreLabels(of_round=195, of_segment=10)


def test_a_stratum_that_the_round_does_not_sample_is_out_of_reach_for_it():
    whole = bands([900, 300, 9000], [60, 0, 300], [40, 0, 10])
    part = bands([90, 30, 900], [6, 0, 30], [4, 0, 1])

    more = more_labels(part, whole, "precision", 0.05)

    assert more.of_round is None
    assert 0 < more.of_segment <= 114


def test_a_class_without_a_label_needs_one_whatever_the_rest_says():
    flagged = of_matrix(1990, 10, 0, 3000, 9000, 9000)
    part = of_matrix(0, 0, 0, 0, 9, 9)

    assert more_labels(part, flagged, "precision", 0.9) == MoreLabels(2500, 1)
    assert more_labels(part, flagged, "recall", 0.9) == MoreLabels(2500, 2)


def test_a_margin_that_is_reached_needs_nothing():
    assert more_labels(WHOLE, WHOLE, "precision", 0.3) == MoreLabels(0, 0)


NOTHING = of_matrix(0, 0, 1, 29, 0, 900)
EVERYTHING = of_matrix(2, 8, 0, 0, 90, 0)
BANDED = bands([9, 9, 9], [1, 1, 1], [1, 1, 1])
TENTH = ("recall", 0.1)


@pytest.mark.parametrize(
    ("part", "asked", "sentence"),
    [
        (PART, ("f1", 0.1), "labels are predicted for precision and recall, got 'f1'"),
        (PART, ("recall", 0.0), r"margin must lie strictly between 0 and 1, got 0\.0"),
        (PART, ("recall", 1.0), r"margin must lie strictly between 0 and 1, got 1\.0"),
        (NOTHING, TENTH, "nothing was flagged"),
        (EVERYTHING, TENTH, "everything was flagged, so recall is 1"),
        (BANDED, TENTH, "the segment has 2 flagged and 1 passed strata, the whole 1"),
        (of_matrix(2, 8, 1, 29, 901, 900), TENTH, r"has \[901, 900\] items of \[900, 9000\]"),
        (of_matrix(81, 8, 1, 29, 90, 900), TENTH, r"has \[81, 1\] positives of \[80, 10\]"),
        (of_matrix(2, 21, 1, 29, 90, 900), TENTH, r"has \[21, 29\] negatives of \[20, 290\]"),
    ],
)
def test_what_is_no_part_of_the_whole_or_has_no_such_metric_is_refused(part, asked, sentence):
    with pytest.raises(ValueError, match=sentence):
        more_labels(part, WHOLE, *asked)


def rates(segment, whole, *, cells):
    return segment_estimates(segment, whole, estimands=("rate",), cells=cells, points=2**12)


def test_one_cell_a_class_is_as_one_band_a_class():
    by_cells, by_bands = (rates(PART, WHOLE, cells=cells) for cells in (True, False))

    for ours, theirs in zip(by_cells, by_bands, strict=True):
        found, wanted = ((e.point, e.low, e.high) for e in (ours, theirs))
        assert found == pytest.approx(wanted, abs=5e-3)  # the same law, other draws of it
    for metric in ("precision", "recall"):
        assert more_labels(PART, WHOLE, metric, 0.1, cells=True) == more_labels(
            PART, WHOLE, metric, 0.1
        )


def test_the_rest_counts_at_the_scores_of_the_segment():
    """The segment lies in the upper cell, where few of the flagged are wrong."""
    whole = of_strata([1000, 1000, 9000], [200, 200, 100], [60, 190, 1], [True, True, False])
    part = of_strata([5, 100, 300], [1, 2, 4], [0, 2, 0], [True, True, False])

    found = rates(part, whole, cells=True)[0]

    one = of_matrix(190, 10, 1, 99, 1000, 9000)
    of_upper = of_matrix(2, 0, 0, 4, 100, 300)
    law = segment_posterior(of_upper, one).flagged
    wanted = float(law.mean()[0])
    assert found.point == pytest.approx(wanted, abs=0.06)
    assert found.point is not None
    assert found.point > 0.8 > 250 / 400


@pytest.mark.simulation
def test_intervals_of_a_segment_that_is_worse_hold_the_truth():
    design = planned(cut(population("Phi1", "good")), 1250)
    up, size = design.is_flagged, np.rint(design.size / design.size.sum() * 100_000).astype(int)
    odds = design.rate / (1 - design.rate) * np.where(up, 0.5, 2.0)
    worse, rng, rounds = odds / (1 + odds), np.random.default_rng(5), 60
    held = np.zeros(2)
    for seed in range(rounds):
        mine = rng.binomial(size, 0.2)
        positive, others = rng.binomial(mine, worse), rng.binomial(size - mine, design.rate)
        labeled = np.minimum(systematic_sizes(design.expected, float(rng.random())), size)
        kinds = np.stack([positive, mine - positive, others, size - mine - others])
        found = [rng.multivariate_hypergeometric(kinds[:, h], n) for h, n in enumerate(labeled)]
        y, x, z, _ = np.array(found).T
        part = of_strata(mine, y + x, y, up)
        whole = of_strata(size, labeled, y + z, up)
        tp, fn = positive[up].sum(), positive[~up].sum()
        rows = segment_estimates(part, whole, seed=seed, cells=True)
        for i, (row, truth) in enumerate(
            zip(rows, (tp / mine[up].sum(), tp / (tp + fn)), strict=True)
        ):
            assert row.low is not None and row.high is not None  # noqa: PT018
            held[i] += row.low <= truth <= row.high

    assert stats.binom(rounds, 0.92).cdf(held).min() > 0.01
