"""Precision at other prevalences, F1 and its swaps, the P3 curve, and why precision changed."""

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.core.metrics import METRICS
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.drift.attribution import Working, precision_change
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.prevalence import precision_at, prevalence_curve
from tests.stats.samples import of_matrix, reference

REFERENCE = reference("prevalence")
COUNTS = of_matrix(138, 22, 108, 4732, 320, 96_800)
shares = st.floats(1e-4, 1 - 1e-4)


def drawn(counts, seed=0, points=2**14):
    return draw(round_posterior(counts), seed=seed, points=points).rate_matrix(counts.size)


def works(counts, seed=0, points=2**12):
    return Working.of_matrix(drawn(counts, seed, points))


# Precision and F at a prevalence


@pytest.mark.parametrize("row", [*REFERENCE["p3_curve"], *REFERENCE["prevalence_adjusted"]])
def test_precision_is_that_of_the_reference_and_at_another_prevalence_carpenters(row):
    tpr, eta = row.get("tpr", row.get("sensitivity")), row.get("eta", row.get("prevalence"))
    fpr = row["fpr"] if "fpr" in row else 1 - row["specificity"]

    assert float(precision_at(tpr, fpr, eta)) == pytest.approx(row["precision"], rel=1e-12)


def test_precision_of_nothing_flagged_is_undefined_and_broadcasts():
    found = precision_at([0.0, 0.5], [[0.0], [0.1]], 0.5)

    assert found.shape == (2, 2)
    assert np.isnan(found[0, 0])
    assert found[1, 1] == pytest.approx(0.5 / 0.6)
    assert found[0, 1] == 1


def test_at_the_windows_own_prevalence_the_curve_is_the_estimate():
    rows: Any = {
        row.metric: row.interval
        for row in estimates(
            COUNTS, metrics=("precision", "f1", "prevalence", "recall", "fpr"), estimands=("rate",)
        )
    }
    scaled = scaled_matrix(COUNTS.size, COUNTS.labeled, COUNTS.positive, COUNTS.is_flagged)
    p3 = prevalence_curve(drawn(COUNTS), scaled=scaled)
    f1 = prevalence_curve(drawn(COUNTS), metric="f1", scaled=scaled)

    for interval, name in (
        (p3.value, "precision"),
        (f1.value, "f1"),
        (p3.now, "prevalence"),
        (p3.tpr, "recall"),
        (p3.fpr, "fpr"),
    ):
        assert astuple(interval) == pytest.approx(astuple(rows[name]), rel=1e-12)
    assert (p3.metric, f1.metric, p3.level) == ("precision", "f1", 0.95)
    now = float(np.mean(METRICS["prevalence"](drawn(COUNTS))))
    assert p3.prevalence == pytest.approx(np.geomspace(now / 100, 0.999, 41))


def test_the_curve_at_one_place_is_the_share_of_draws():
    matrix = drawn(COUNTS, seed=3)
    tpr, fpr = METRICS["recall"](matrix), METRICS["fpr"](matrix)

    p3 = prevalence_curve(matrix, prevalence=[0.02], level=0.8)

    values = tpr * 0.02 / (tpr * 0.02 + fpr * 0.98)
    assert p3.point[0] == pytest.approx(values.mean())
    assert np.mean(values < p3.low[0]) == pytest.approx(0.1, abs=1e-4)
    assert np.mean(values > p3.high[0]) == pytest.approx(0.1, abs=1e-4)


def curve_of(counts, **changed):
    return prevalence_curve(drawn(counts, points=8), **changed)


def changed_by(counts, **changed):
    return precision_change(works(counts), works(counts), **changed)


ONLY_FLAGGED = of_matrix(3, 1, 0, 0, 4, 0)
ONLY_PASSED = of_matrix(0, 0, 5, 995, 0, 98_000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: curve_of(COUNTS, level=0.0), "level must lie strictly between 0 and 1, got 0.0"),
        (lambda: curve_of(ONLY_FLAGGED), "a predicted class is empty"),
        (lambda: curve_of(ONLY_PASSED), "a predicted class is empty"),
        (lambda: changed_by(COUNTS, level=0), "level must lie strictly between 0 and 1, got 0"),
        (lambda: changed_by(COUNTS, level=1), "level must lie strictly between 0 and 1, got 1"),
        (lambda: changed_by(ONLY_PASSED), "precision is undefined before or after"),
    ],
)
def test_what_has_no_curve_or_no_cause_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Why precision changed


def working(tpr, fpr, prevalence):
    return Working(np.array([tpr]), np.array([fpr]), np.array([prevalence]))


@given(shares, shares, shares, shares, shares, shares)
def test_the_parts_add_up_and_swapping_times_turns_their_signs(t0, f0, e0, t1, f1, e1):
    before, after = working(t0, f0, e0), working(t1, f1, e1)

    parts, back = precision_change(before, after), precision_change(after, before)

    change = float(after.precision()[0] - before.precision()[0])
    assert parts.by_prevalence.point + parts.by_classifier.point == pytest.approx(change)
    assert parts.change.point == pytest.approx(change)
    assert back.by_prevalence.point == pytest.approx(-parts.by_prevalence.point, abs=1e-12)
    assert back.by_classifier.point == pytest.approx(-parts.by_classifier.point, abs=1e-12)
    if t0 / f0 > t1 / f1 * (1 + 1e-9):
        assert parts.by_classifier.point < 0


RARER = of_matrix(150, 50, 5, 995, 2_000, 98_000)
USUAL = of_matrix(860, 140, 5, 995, 3_300, 96_700)


def test_a_change_has_the_intervals_of_each_side_and_points_that_add_up():
    change = precision_change(works(USUAL), works(RARER, seed=1))

    before: Any
    after: Any
    before, after = (
        estimates(counts, metrics=("precision",), estimands=("rate",))[0].interval
        for counts in (USUAL, RARER)
    )
    assert (change.before.low, change.before.high) == pytest.approx(
        (before.low, before.high), abs=1e-3
    )
    assert (change.after.low, change.after.high) == pytest.approx((after.low, after.high), abs=1e-3)
    assert change.change.point == pytest.approx(change.after.point - change.before.point)
    assert change.by_prevalence.point + change.by_classifier.point == pytest.approx(
        change.change.point
    )
    assert change.prevalence_before.point == pytest.approx(0.0327, abs=2e-3)
    assert change.prevalence_after.point == pytest.approx(0.0203, abs=2e-3)
    assert change.by_prevalence.high < 0
    assert change.level == 0.95


def scaled_working(counts):
    matrix = scaled_matrix(counts.size, counts.labeled, counts.positive, counts.is_flagged)
    return Working.of_matrix(matrix)


def test_a_change_takes_its_points_from_the_scaled_labels_and_they_add_up():
    scaled = scaled_working(USUAL), scaled_working(RARER)

    change = precision_change(works(USUAL), works(RARER, seed=1), scaled=scaled)

    assert (change.before.point, change.after.point) == pytest.approx((0.86, 0.75), abs=1e-12)
    assert change.change.point == pytest.approx(-0.11, abs=1e-12)
    assert change.by_prevalence.point + change.by_classifier.point == pytest.approx(-0.11)
    parts = precision_change(*(working(w.tpr, w.fpr, w.prevalence) for w in scaled))
    assert change.by_prevalence.point == parts.by_prevalence.point
    assert change.prevalence_after.point == pytest.approx((1500 + 490) / 100_000)


def test_where_labels_have_no_precision_all_points_of_a_change_are_posterior_means():
    nothing = of_matrix(0, 0, 0, 50, 10, 90)
    both = works(USUAL), works(RARER, seed=1)

    change = precision_change(*both, scaled=(scaled_working(nothing), scaled_working(RARER)))

    assert change == precision_change(*both)


def test_draws_of_equal_seeds_do_not_cancel():
    """Two rounds with the same counts and seed: the change has the spread of two rounds."""
    same = works(USUAL)

    change = precision_change(same, same)

    spread = float(np.std(same.precision()))
    assert change.change.point == pytest.approx(0, abs=1e-12)
    assert change.change.high - change.change.low == pytest.approx(
        2 * 1.96 * 2**0.5 * spread, rel=0.1
    )
