"""The truth behind labels that may be wrong."""

import numpy as np
import pytest
from scipy import integrate, stats

from monitor.stats.core.reasons import Contradiction, Unlabeled
from monitor.stats.estimation.posterior import estimates
from monitor.stats.labels.audit import ArrivedShare, ClassAudits, LabelAudit, ScoreAudits
from monitor.stats.labels.label_error import (
    METHOD,
    CorrectedDraws,
    corrected_draws,
    corrected_estimates,
)
from tests.stats.samples import known, of_matrix, of_strata

COUNTS = of_matrix(138, 22, 150, 4690, 1600, 48_400)
AUDIT = LabelAudit(tp=96, fn=4, tn=1980, fp=20)
SURE = LabelAudit(tp=10**9, fn=0, tn=10**9, fp=0)


def truth_by_quadrature(positive, labeled, audit, other):
    """Posterior mean of one stratum's rate, with the other stratum's labels, on a grid.

    Jeffreys' prior is even in the angle whose squared sine is the rate.
    """
    angle = (np.arange(700) + 0.5) / 700 * np.pi / 2
    rate = np.sin(angle) ** 2
    s, t = np.meshgrid(np.linspace(0.80, 0.999, 21), np.linspace(0.95, 0.9995, 45), indexing="ij")

    def likely(count, of):
        q = rate * s[..., None] + (1 - rate) * (1 - t[..., None])
        return stats.binom.pmf(count, of, q)

    own = likely(positive, labeled)
    weight = stats.beta.pdf(s, *audit.sensitivity) * stats.beta.pdf(t, *audit.specificity)
    weight *= likely(*other).mean(axis=-1)
    top = integrate.simpson(integrate.simpson(weight * (own @ rate), x=t[0]), x=s[:, 0])
    bottom = integrate.simpson(integrate.simpson(weight * own.sum(axis=-1), x=t[0]), x=s[:, 0])
    return top / bottom


def test_the_mean_of_the_true_rates_is_that_of_the_posterior_on_a_grid():
    draws = corrected_draws(COUNTS, AUDIT, points=2**12)

    wanted = (
        truth_by_quadrature(138, 160, AUDIT, (150, 4840)),
        truth_by_quadrature(150, 4840, AUDIT, (138, 160)),
    )
    assert draws.rates.mean(axis=0) == pytest.approx(wanted, rel=5e-3)


def test_with_an_audit_of_each_class_the_other_class_says_nothing_of_a_rate():
    among_flagged = LabelAudit(tp=96, fn=4, tn=960, fp=40)
    audits = ClassAudits(flagged=among_flagged, passed=AUDIT)

    draws = corrected_draws(COUNTS, audits, points=2**12)

    nothing = (0, 0)
    wanted = (
        truth_by_quadrature(138, 160, among_flagged, nothing),
        truth_by_quadrature(150, 4840, AUDIT, nothing),
    )
    assert draws.rates.mean(axis=0) == pytest.approx(wanted, rel=5e-3)
    assert abs(np.corrcoef(draws.rates[:, 0], draws.rates[:, 1])[0, 1]) < 0.05
    assert draws.specificity[:, 0].mean() < draws.specificity[:, 1].mean() - 0.02


def test_where_labels_say_nothing_of_the_errors_they_are_as_the_audit_has_them():
    few, points = of_matrix(15, 10, 5, 20, 1600, 48_400), 2**10

    draws = corrected_draws(few, AUDIT, points=points)

    assert draws.sensitivity.mean() == pytest.approx(stats.beta.mean(*AUDIT.sensitivity), abs=3e-3)
    assert draws.sensitivity.std() == pytest.approx(stats.beta.std(*AUDIT.sensitivity), rel=0.1)
    assert draws.effective > 0.9 * 2**12
    assert len(draws.rates) == points


@pytest.mark.parametrize("audit", [SURE, ClassAudits(None, None)], ids=["sure", "none"])
def test_labels_with_a_sure_audit_or_without_one_count_as_right(audit):
    plain = estimates(COUNTS, metrics=("precision", "recall", "prevalence"))

    found = corrected_estimates(COUNTS, audit, metrics=("precision", "recall", "prevalence"))

    for one, other in zip(found, plain, strict=True):
        assert (one.metric, one.estimand) == (other.metric, other.estimand)
        assert (one.point, one.low, one.high) == pytest.approx(
            (other.point, other.low, other.high), abs=4e-3
        )


def test_bands_of_flagged_items_have_the_heavy_prior_only_and_those_of_passed_ones_both():
    counts = of_strata(
        [100, 100, 100, 900, 900, 900],
        [6, 6, 6, 6, 6, 6],
        [6, 5, 4, 0, 1, 2],
        [True, True, True, False, False, False],
    )
    heavy, light = 0.5 / np.sqrt(3), 0.1 / 3

    rates = corrected_draws(counts, SURE).rates.mean(axis=0)

    with_heavy, with_light = (
        (counts.positive + prior) / (counts.labeled + 2 * prior) for prior in (heavy, light)
    )
    assert rates[:3] == pytest.approx(with_heavy[:3], abs=4e-3)
    assert rates[3:] == pytest.approx((with_heavy[3:] + with_light[3:]) / 2, abs=4e-3)
    assert with_light[0] - with_heavy[0] > 0.03


def test_even_a_census_is_not_known_when_labels_err():
    census = of_matrix(138, 22, 150, 4690, 160, 4840)

    estimates = corrected_estimates(census, AUDIT, estimands=("window",))

    interval = known(estimates[0])
    assert interval.low < interval.point < interval.high
    sure = corrected_estimates(census, SURE, estimands=("window",))
    assert (sure[0].low, sure[0].high) == pytest.approx((138 / 160, 138 / 160))


def test_in_the_window_each_item_is_drawn_by_its_label():
    s, t, rate = 0.9, 0.95, 0.6
    counts = of_matrix(700, 300, 0, 0, 1500, 0)
    points = 4000
    draws = CorrectedDraws(
        rates=np.tile([rate, 0.0], (points, 1)),
        uniforms=np.empty((points, 0)),
        flagged=1,
        sensitivity=np.full((points, 2), s),
        specificity=np.full((points, 2), t),
        seed=3,
        effective=points,
        supported=points,
    )

    matrix = draws.window_matrix(counts)

    seen = rate * s + (1 - rate) * (1 - t)
    mean = 700 * rate * s / seen + 300 * rate * (1 - s) / (1 - seen) + 500 * rate
    assert matrix.tp.mean() == pytest.approx(mean, abs=1)
    assert (matrix.tp + matrix.fp == 1500).all()
    assert not matrix.fn.any()
    again = draws.window_matrix(counts)
    assert (matrix.tp == again.tp).all()


def test_labels_that_contradict_the_audit_have_no_estimate():
    none_at_all = of_matrix(0, 2000, 0, 5000, 2000, 5000)
    certain = LabelAudit(tp=9000, fn=1000, tn=9000, fp=1000)

    estimates = corrected_estimates(none_at_all, certain)

    assert {(e.point, e.low, e.high) for e in estimates} == {(None, None, None)}
    assert {e.method for e in estimates} == {METHOD}
    assert {estimate.reason for estimate in estimates} == {Contradiction.AUDIT}


def test_a_class_without_labels_keeps_its_reason():
    nothing = of_matrix(0, 0, 15, 469, 160, 4840)

    precision, _ = corrected_estimates(nothing, AUDIT, estimands=("rate",))

    assert precision.reason == Unlabeled("flagged", 160)


def test_probability_of_no_better_than_chance_is_that_of_two_betas():
    audit = LabelAudit(tp=8, fn=2, tn=12, fp=4)
    rng = np.random.default_rng(1)
    s, t = rng.beta(*audit.sensitivity, 200_000), rng.beta(*audit.specificity, 200_000)

    assert audit.chance == pytest.approx(((s + t) <= 1).mean(), abs=2e-3)
    assert audit.sensitivity == (8.5, 2.5)
    assert audit.specificity == (12.5, 4.5)


def test_an_audit_no_better_than_chance_is_refused():
    with pytest.raises(ValueError, match="counts of an audit are 0 or more, got LabelAudit"):
        LabelAudit(tp=10, fn=-1, tn=20, fp=20)
    with pytest.raises(
        ValueError,
        match=(
            r"labels are no better than chance with probability 0\.92 by this audit \(10 of 30 "
            r"positive and 20 of 40 negative items labeled right\).*audit more items"
        ),
    ):
        LabelAudit(tp=10, fn=20, tn=20, fp=20)


def test_the_labels_of_a_whole_window_are_corrected_like_those_of_a_large_sample():
    audit = ClassAudits(LabelAudit(tp=300, fn=24, tn=72, fp=4), None)

    def precision(flagged):
        counts = of_matrix(3 * flagged // 4, flagged // 4, 11, 489, flagged, 20 * flagged)
        [row, _] = corrected_estimates(counts, audit, estimands=("rate",))
        return row.low, row.point, row.high

    assert precision(1_000_000) == pytest.approx(precision(40_000), abs=0.005)


def test_each_part_of_a_class_is_corrected_by_the_share_of_its_own_labels():
    counts = of_strata(
        size=[100, 5000, 5000],
        labeled=[100, 5000, 5000],
        positive=[90, 100, 100],
        is_flagged=[True, False, False],
    )
    half, all_ = ArrivedShare(0.5, 1e6), ArrivedShare(1.0, 1e6)
    parts = ScoreAudits(((1, half), (1, all_)))

    draws = corrected_draws(counts, ClassAudits(flagged=all_, passed=parts))

    assert draws.rates.mean(axis=0) == pytest.approx([0.9, 0.04, 0.02], rel=0.05)
