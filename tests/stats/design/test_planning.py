"""Plans told both ways: published sizes, what must hold, refusals, widths against simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from monitor.stats.core.metrics import metric
from monitor.stats.design.allocation import allocate, assured_by
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.planning import plan_options, with_one_more
from monitor.stats.design.prior import JointLogits, PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.power import alert_power
from monitor.stats.estimation.cell_matrix import cell_matrix
from tests.stats.samples import of_strata, reference

TABLE_4 = {case["name"]: case for case in reference("seed_formulas")["sample_size_margin_0_05"]}
BOTH = {"precision": 0.05, "recall": 0.05}


def assumed(**changed):
    usual = {"precision": 0.8, "recall": 0.6, "flagged_rate": 0.03, "size": 100_000}
    return Prospect.assumed(**{**usual, **changed})


def banded(size=1):
    """Three flagged and five passed bands, a good score."""
    sizes = np.array([20_000, 14_000, 12_000, 600_000, 220_000, 100_000, 50_000, 30_000]) // size
    rates = PriorRates.of_rates([0.96, 0.8, 0.55, 0.0005, 0.006, 0.03, 0.09, 0.2])
    return Prospect.of(sizes, np.arange(8) < 3, rates)


# --- published numbers and other ways to them -----------------------------------------------


@pytest.mark.parametrize("name", ["phi1", "phi2", "phi3"])
def test_assumed_values_give_the_published_false_omission_rate(name):
    case = TABLE_4[name]  # Shang et al. 2023, Table 4 by Eq. 9
    k = case["k"]

    prospect = assumed(
        precision=case["precision"], recall=case["recall"], flagged_rate=k / (1 + k), size=10**9
    )

    assert prospect.prior_rates.rate == pytest.approx([case["precision"], case["pi0"]], rel=1e-6)
    assert prospect.expected["recall"] == pytest.approx(case["recall"], rel=1e-6)


def test_pooling_keeps_the_rate_and_the_variance_of_a_class():
    rng = np.random.default_rng(1)
    known = PriorRates(np.array([40.5, 3.25, 1.25]), np.array([10.5, 57.25, 69.25]), "rounds")
    weights = np.array([900, 100]) / 1000

    pooled = known.pooled([80, 900, 100], [True, False, False])

    draws = rng.beta(known.alpha[1:], known.beta[1:], size=(400_000, 2)) @ weights
    assert pooled.rate[0] == pytest.approx(known.rate[0], rel=1e-12)
    assert pooled.rate[1] == pytest.approx(draws.mean(), rel=5e-3)
    assert pooled.label_variance[1] == pytest.approx((draws * (1 - draws)).mean(), rel=5e-3)
    assert pooled.source == "rounds"


# --- what must hold -------------------------------------------------------------------------


def test_an_outlook_tells_labels_for_margins_and_margins_for_labels():
    options = plan_options(banded(), max_labels=1300)

    assert options.plan.total == 1300
    assert [bought.labels for bought in options.bought] == [650, 1300, 2600]
    assert [needed.margins["recall"] for needed in options.needed] == [0.1, 0.05, 0.03]
    [five] = [needed for needed in options.needed if needed.margins == BOTH]
    assert five.labels == allocate(banded(), margins=BOTH, assurance=ASSURANCE).total
    assert five.labels < five.two_strata / 2 < five.random / 2
    assert options.bought[1].margins == options.plan.margins
    assert options.bought[1].two_strata["recall"] > 1.5 * options.bought[1].margins["recall"]


def test_margins_that_were_asked_for_stand_among_the_others_by_width():
    margins = {"precision": 0.04, "recall": 0.08}

    options = plan_options(banded(), margins=margins, max_labels=5000)

    assert [needed.margins for needed in options.needed][1:3] == [margins, BOTH]
    assert options.needed[1].labels == options.plan.total == options.plan.needed


def test_only_lower_limits_are_told_of_but_all_are_watched():
    prospect = assumed()
    labels = allocate(prospect, max_labels=3000).labels
    limits = [Limit("precision", 0.75, "at_least"), Limit("fpr", 0.02, "at_most")]

    [told] = alert_power(prospect, labels, limits, paths=100)
    [alone] = alert_power(prospect, labels, limits[:1], paths=100)

    assert told.limit == limits[0]
    assert told.expected == pytest.approx(0.8)
    assert (told.smallest_drop or 0) >= (alone.smallest_drop or 1)  # a promise shared by two limits


def test_a_metric_that_cannot_fall_ten_points_has_no_delay():
    prospect = assumed(recall=0.09)

    powers = alert_power(
        prospect,
        allocate(prospect, max_labels=3000).labels,
        [Limit("recall", 0.05, "at_least")],
        paths=100,
    )

    assert (powers[0].median, powers[0].mean) == (None, None)


# --- refused inputs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"precision": 1.0}, r"precision must lie strictly between 0 and 1, got 1\.0"),
        ({"recall": 0}, "recall must lie strictly between 0 and 1, got 0"),
        ({"flagged_rate": 3}, "flagged rate must lie strictly between 0 and 1, got 3"),
        ({"size": 10}, r"a flagged rate of 0\.03 makes 0 of 10 items flagged; give a larger size"),
        ({"flagged_rate": 0.999, "size": 100}, "makes 100 of 100 items flagged"),
        (
            {"flagged_rate": 0.6, "recall": 0.3},
            "with recall 0.3 more positives would be missed than the 40000 passed items can hold",
        ),
    ],
)
def test_impossible_assumptions_are_refused_with_the_way_out(changed, message):
    with pytest.raises(ValueError, match=message):
        assumed(**changed)


def test_raw_scores_that_claim_a_probability_of_eight_tenths_may_have_none():
    up, sizes = np.arange(8) < 4, np.array([300, 300, 300, 300, 20_000, 10_000, 4000, 2000])
    raw = np.array([0.55, 0.7, 0.85, 0.97, 0.02, 0.1, 0.25, 0.42])
    truth = PriorRates.of_rates(special.expit(special.logit(raw) - 1.5))
    window = Prospect.of(sizes, up, PriorRates.of_scores(raw, up))

    found = plan_options(window, margins=BOTH)

    assert found.plausible is not None
    least, most = found.plausible.assured["recall"]
    kept = assured_by(replace(window, prior_rates=truth), found.plan.labels, BOTH)["recall"]
    assert found.plan.assured["recall"] > 0.5
    assert least <= kept < 0.1
    assert most == 1
    low, high = found.plausible.needed
    assert low < found.plan.total < high
    assert low <= allocate(window, margins=BOTH, assurance=ASSURANCE).total <= high


def test_one_positive_more_in_the_heaviest_cell_is_what_a_round_with_it_gives():
    rates = PriorRates.of_rates([0.9, 0.6, 0.002, 0.002, 0.1])
    window = Prospect.of([1500, 1000, 4000, 9000, 7000], np.arange(5) < 2, rates, uniform=0.5)
    labels = np.array([60, 80, 60, 40, 300])  # of the fourth each stands for 225 items

    result = with_one_more(window, labels)

    counts = of_strata(window.size, labels, [54, 48, 0, 1, 30], window.is_flagged)
    recall = metric("recall")(cell_matrix(counts, "window"))
    low, high = np.quantile(recall, [0.025, 0.975])
    assert result == pytest.approx((high - low) / 2, rel=0.15)
    expected = plan_options(window, max_labels=540)
    assert expected.one_more is not None
    assert expected.one_more > expected.plan.margins["recall"]
    assert plan_options(banded(), margins=BOTH).one_more is None
    assert with_one_more(window, np.where(window.is_flagged, labels, 0)) is None


def test_only_scores_that_no_label_has_tested_make_a_range():
    assert plan_options(banded(), margins=BOTH).plausible is None


def test_an_empty_window_with_untested_scores_needs_no_labels():
    scores = PriorRates.of_scores([0.7, 0.1], [True, False])

    found = plan_options(Prospect.of([0, 0], [True, False], scores), margins=BOTH)

    assert (found.plan.total, found.plan.margins) == (0, {})
    assert found.plausible is not None
    assert found.plausible.needed == (0, 0)


def test_a_verdict_moves_the_log_odds_of_rates_that_vary_together_as_bayes_says():
    rates = np.array([0.8, 0.02, 0.3])
    joint = JointLogits(special.logit(rates), np.eye(3)[:, :2])
    prior = PriorRates(200 * rates, 200 * (1 - rates), "cells", joint)
    window = Prospect.of([1000, 9000, 500], [True, False, False], prior)

    judged = window.judged(0.9, 0.05)

    no, yes = rates * 0.1 / (rates * 0.1 + (1 - rates) * 0.95), rates * 0.9
    yes /= yes + (1 - rates) * 0.05
    expected = [no[0], yes[0], *no[1:], *yes[1:]]
    assert judged.prior_rates.rate == pytest.approx(expected)
    assert judged.prior_rates.joint is not None
    assert special.expit(judged.prior_rates.joint.mean) == pytest.approx(expected)
    assert judged.prior_rates.joint.loadings.tolist() == joint.loadings[[0, 0, 1, 2, 1, 2]].tolist()
    assert judged.size.sum() == pytest.approx(window.size.sum(), abs=3)
