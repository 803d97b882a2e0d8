"""The e-detector: stated numbers, the promise as a property, refusals, missing answers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from monitor.stats.detection import e_detector
from monitor.stats.detection.alternatives import CAP, alternatives, check_testable, guess, steps
from monitor.stats.detection.e_detector import (
    Evidence,
    log_e_factor,
    log_mixed,
    log_threshold,
    update,
)
from monitor.stats.detection.half_space import (
    EDGE,
    WATCHABLE,
    HalfSpace,
    Limit,
    LimitCannotBeTested,
    half_space,
    project,
)
from tests.stats.detection.test_half_space import metric_value
from tests.stats.samples import of_answers, of_matrix, of_strata, reference

REFERENCE = reference("detector")
PRECISION, RECALL = Limit("precision", 0.76, "at_least"), Limit("recall", 0.62, "at_least")
TWO = np.array([True, False])
BEYOND = (0.15, 0.3, 0.6, 1.0)
MIRRORED = {"fpr", "false_omission_rate"}
QUICK = settings(max_examples=40, deadline=None, derandomize=True)


def log_mean_of_e(rates, alternative, x, labeled):
    """Exact log E[e] at true rates: the mean over independent binomials factorises."""
    per_label = rates * alternative / x + (1 - rates) * (1 - alternative) / (1 - x)
    return (labeled * np.log(per_label)).sum(axis=-1)


@pytest.fixture
def fixed_steps(monkeypatch):
    """The alternatives of the stated numbers, which lie fixed shares beyond the limit."""
    monkeypatch.setattr(e_detector, "steps", lambda *_: np.array(BEYOND))


def means_of_e(space, rows, labeled, rates):
    """Exact E[e] of each alternative at many true rates; shapes (4, H), (points, H)."""
    seen = labeled > 0
    means = []
    for row in rows:
        x = row if space.contains(row) else project(space, row, labeled)
        means.append(np.exp(log_mean_of_e(rates[:, seen], row[seen], x[seen], labeled[seen])))
    return np.array(means)


def null_points(rng, space, points):
    """Random rates that keep the limit; half of them are moved onto it exactly."""
    rates = rng.beta(0.4, 0.4, size=(points * 8, space.c.size))
    room = rates @ space.c - space.d
    kept, lost = rates[room >= 0], rates[room < 0]
    count = min(len(kept), len(lost), points // 2)
    above, below = kept[:count] @ space.c - space.d, lost[:count] @ space.c - space.d
    share = (above / (above - below))[:, None]
    on_limit = kept[:count] + share * (lost[:count] - kept[:count])
    return np.vstack([kept[:points], on_limit])


@st.composite
def windows(draw):
    """Sizes, layout, guess and realised labels of two to six strata, some unlabeled."""
    flagged, passed = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    strata = flagged + passed
    size = np.array([draw(st.integers(300, 10**6)) for _ in range(strata)])
    labeled = np.array([draw(st.sampled_from([0, 1, 7, 40, 300])) for _ in range(strata)])
    rates = np.array([draw(st.floats(0.001, 0.999)) for _ in range(strata)])
    return size, np.arange(strata) < flagged, rates, labeled


limits = st.builds(
    Limit,
    metric=st.sampled_from([*WATCHABLE, "f2", "f0.5"]),
    value=st.floats(0.02, 0.98),
    side=st.sampled_from(["at_least", "at_most"]),
)

# --- independent numbers -------------------------------------------------------------------------


def test_alternatives_and_projections_with_two_strata_are_the_stated_ones():
    case = REFERENCE["projection"]
    size, labeled = np.array([46, 1000]), np.array([case["n1"], case["n0"]])
    at_limit = case["k"] * (1 - case["limit"]) / case["limit"] * 0.79
    space = half_space(RECALL, size, TWO)

    rows = alternatives(RECALL, size, TWO, np.array([0.79, 0.02]), BEYOND)

    assert rows[:, 0] == pytest.approx(0.79)
    assert rows[:, 1] == pytest.approx([(1 + r) * at_limit for r, _ in case["cases"]])
    assert [project(space, row, labeled)[0] for row in rows] == pytest.approx(
        [x for _, x in case["cases"]], abs=5e-10
    )


def test_the_evidence_against_a_precision_and_a_recall_limit_is_the_stated_one(fixed_steps):
    of_precision, of_recall = REFERENCE["precision"], REFERENCE["recall"]
    rounds = {
        PRECISION: [of_answers(y, of_precision["n"], 0, 0) for y in of_precision["positives"]],
        RECALL: [
            of_answers(y1, n1, y0, n0, flagged_size=round(k * 1_000_000))
            for y1, n1, y0, n0, k in of_recall["rows_y1_n1_y0_n0_k"]
        ],
    }
    rates = {PRECISION: [0.79, 0.02], RECALL: [of_recall["guess"], 0.02]}

    for limit, case in ((PRECISION, of_precision), (RECALL, of_recall)):
        log_m, found = np.full(4, -math.inf), []
        for counts in rounds[limit]:
            log_e = log_e_factor(limit, counts, np.array(rates[limit]), errors=BEYOND)
            log_m = update(log_m, log_e)
            found.append(math.exp(log_mixed(log_m, weights=(0.25,) * 4)))

        assert found == pytest.approx(case["evidence_M"], rel=1e-9)


def test_the_guess_weighs_earlier_rounds_as_worked_by_hand():
    before, first, second = (
        of_answers(*row) for row in [(80, 100, 3, 90), (7, 10, 0, 0), (9, 9, 1, 50)]
    )

    found = guess([first, second], reference=before)

    assert found == pytest.approx(
        [
            (0.5 + 0.64 * 80 + 0.8 * 7 + 9) / (1 + 0.64 * 100 + 0.8 * 10 + 9),
            (0.5 + 0.64 * 3 + 1) / (1 + 0.64 * 90 + 50),
        ],
        rel=1e-14,
    )


def test_the_guess_shares_the_prior_out_over_the_strata_of_a_class():
    counts = of_strata(
        [9, 9, 9, 9, 9], [4, 4, 0, 4, 4], [4, 0, 0, 0, 0], [True, True, False, False, False]
    )

    found = guess([counts])

    assert found == pytest.approx(
        [
            (1 / 4 + 4) / (1 / 2 + 4),
            (1 / 4) / 4.5,
            1 / 2,
            (1 / 6) / (1 / 3 + 4),
            (1 / 6) / 4.3333333333,
        ]
    )


def test_evidence_is_the_mean_over_the_alternatives_and_fires_at_the_threshold():
    evidence = Evidence((math.log(10), math.log(20), -math.inf))

    assert math.exp(evidence.log_mean) == pytest.approx(0.1 * 10 + 0.8 * 20)
    assert evidence.fires(evidence.log_mean)
    assert evidence.fires(math.log(16.99))
    assert not evidence.fires(math.log(17.01))
    assert log_threshold(52, 2) == pytest.approx(math.log(104))
    assert log_threshold(1, 1) == 0


# --- properties ----------------------------------------------------------------------------------


@QUICK
@given(windows(), limits, st.integers(0, 2**32 - 1))
def test_the_mean_of_e_is_at_most_one_wherever_the_limit_is_kept(window, limit, seed):
    size, is_flagged, rates, labeled = window
    space = half_space(limit, size, is_flagged)
    about = (limit, size, is_flagged, rates)
    beyond = steps(*about, labeled)
    rows = np.vstack([alternatives(*about, BEYOND), alternatives(*about, beyond, labeled=labeled)])
    points = null_points(np.random.default_rng(seed), space, 20)

    assert (means_of_e(space, rows, labeled, points) <= 1 + 1e-9).all()


@QUICK
@given(windows(), limits)
def test_the_projection_satisfies_the_conditions_that_make_it_the_nearest(window, limit):
    size, is_flagged, rates, labeled = window
    space = half_space(limit, size, is_flagged)
    alternative = alternatives(limit, size, is_flagged, rates, BEYOND)[2]
    scale, seen = np.abs(space.c).max(), labeled > 0

    x = project(space, alternative, labeled)

    pull = (labeled * (x - alternative))[seen]
    push = (x * (1 - x) * space.c / scale)[seen]  # n (x - alt) = lambda c x (1 - x)
    multiplier = (pull @ push) / (push @ push) if push.any() else 0.0
    assert ((x >= 0) & (x <= 1)).all()
    assert space.c @ x / scale >= space.d / scale - 1e-9
    assert pull == pytest.approx(multiplier * push, abs=1e-6)
    assert multiplier >= -1e-9
    assert (
        x[~seen].tolist()
        == np.select(
            [space.c[~seen] > 0, space.c[~seen] < 0], [1.0, 0.0], alternative[~seen]
        ).tolist()
    )
    if multiplier > 1e-6:  # it was moved, so no further than to the limit
        assert space.c @ x / scale == pytest.approx(space.d / scale, abs=1e-9)


@QUICK
@given(windows(), limits)
def test_alternatives_are_the_stated_shares_beyond_rates_with_the_metric_at_the_limit(
    window, limit
):
    size, is_flagged, rates, _ = window
    rows = alternatives(limit, size, is_flagged, rates, BEYOND)
    wrong = np.where(is_flagged, 1 - rates, rates)
    bad = np.where(is_flagged, 1 - rows, rows)
    if limit.metric == "prevalence":
        wrong, bad = rates, rows
    moved = ~np.isclose(bad, wrong, rtol=1e-12, atol=0).all(axis=0)
    if (bad[:, moved] >= CAP - 1e-12).any() or not moved.any():
        return  # the furthest are as far as alternatives go

    falls = (limit.side == "at_most") != (limit.metric == "prevalence")
    falls ^= limit.metric in MIRRORED
    for row, r in zip(bad, BEYOND, strict=True):
        at_limit = row * (1 + r) if falls else row / (1 + r)
        at_limit = np.where(moved, at_limit, wrong)
        pi = np.where(is_flagged, 1 - at_limit, at_limit)
        pi = at_limit if limit.metric == "prevalence" else pi
        value = metric_value(limit.metric, size, is_flagged, pi)
        assert value == pytest.approx(limit.value, rel=1e-7)
    assert not half_space(limit, size, is_flagged).contains(rows).any()


@QUICK
@given(windows(), limits)
def test_alternatives_multiply_the_odds_of_a_wrong_answer_by_one_factor(window, limit):
    size, is_flagged, rates, _ = window

    rows = alternatives(limit, size, is_flagged, rates, BEYOND)

    by = special.logit(rows) - special.logit(rates)
    by *= np.where(is_flagged & (limit.metric != "prevalence"), -1, 1)
    moved = np.abs(by).max(axis=0) > 1e-9
    if moved.any() and (np.abs(special.logit(rows)) < 20).all():  # else rounding is larger
        assert np.ptp(by[:, moved], axis=1) == pytest.approx(0, abs=1e-5)


def test_a_round_of_cells_that_look_pure_speaks_against_a_limit_far_below_them():
    # 20 flagged cells of two labels: 19 had no wrong answer yet, so a factor on wrong answers
    # would stop at 1 in the last one, with precision still .92
    flagged, passed = 20, 2
    is_flagged = np.arange(flagged + passed) < flagged
    size, labeled = np.full(flagged + passed, 100), np.full(flagged + passed, 2)
    before = of_strata(size, 5 * labeled, [*[10] * 19, 5, 0, 0], is_flagged)
    limit = Limit("precision", 0.8, "at_least")

    def log_e(right):
        positive = [*[2] * right, *[0] * (flagged - right), 0, 0]
        now = of_strata(size, labeled, positive, is_flagged)
        return log_e_factor(limit, now, guess([before]))

    assert (log_e(20) < 0).all()
    assert (log_e(8) > math.log(52)).all()  # precision .40: found at once


edges = st.builds(
    Limit,
    metric=st.sampled_from(WATCHABLE),
    value=st.sampled_from([EDGE, 1 - EDGE]),
    side=st.sampled_from(["at_least", "at_most"]),
)


@QUICK
@given(windows(), limits | edges, st.data())
def test_evidence_is_always_finite_and_never_warns(window, limit, data):
    size, is_flagged, rates, labeled = window
    positive = [data.draw(st.integers(0, int(n))) for n in labeled]
    counts = of_strata(size, labeled, positive, is_flagged)

    assert np.isfinite(log_e_factor(limit, counts, rates)).all()


UNLABELED_FLAGGED = of_matrix(0, 0, 3, 90, 50, 900)
UNLABELED_PASSED = of_matrix(9, 30, 0, 0, 50, 900)
BANDED = of_strata([50, 50, 900], [39, 39, 0], [9, 9, 0], [True, True, False])
NO_FLAGGED = of_matrix(0, 0, 3, 90, 0, 900)
NO_PASSED = of_matrix(9, 30, 0, 0, 50, 0)
NO_ITEMS = of_matrix(0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("metric", "counts"),
    [
        ("precision", UNLABELED_FLAGGED),
        ("recall", UNLABELED_PASSED),  # every missing label may be a negative
        ("npv", UNLABELED_PASSED),
        ("fpr", NO_FLAGGED),
        ("recall", NO_PASSED),
        ("prevalence", NO_ITEMS),
    ],
)
def test_a_week_that_says_nothing_about_a_metric_is_no_evidence_and_no_error(metric, counts):
    log_e = log_e_factor(Limit(metric, 0.6, "at_least"), counts, np.array([0.8, 0.02]))

    assert log_e.tolist() == [0.0] * 3


def test_recall_without_flagged_labels_is_judged_as_if_every_flagged_item_were_positive():
    few = of_matrix(0, 0, 3, 90, 50, 900)
    many = replace(few, positive=np.array([0, 60]))

    harmless, damning = (
        log_e_factor(Limit("recall", 0.6, "at_least"), counts, np.array([0.8, 0.02]))
        for counts in (few, many)
    )

    assert (harmless <= 0).all()
    assert damning[-1] > 3


def test_without_a_label_there_is_no_guess_and_without_a_guess_no_evidence():
    assert guess([]) is None
    assert log_e_factor(PRECISION, of_answers(0, 300, 9, 9), None).tolist() == [0.0] * 3
    assert guess([NO_ITEMS], reference=NO_ITEMS) is None


@pytest.mark.parametrize(("labeled", "at_limit"), [([20, 100], 0.032), ([0, 100], 0.04)])
def test_the_default_alternatives_lie_the_stated_standard_errors_beyond_the_limit(
    labeled, at_limit
):
    # recall .5 of 40 flagged items at .8 and 1000 passed: 32 / (32 + 1000 p) gives p = .032; or
    # .04, since flagged items without labels may all be positive
    size, rates = np.array([40, 1000]), np.array([0.8, 0.01])
    flagged = 20**2 * 0.8 * 0.2 / 20 if labeled[0] else 0.0
    error = math.sqrt(flagged + 500**2 * at_limit * (1 - at_limit) / 100)

    found = steps(Limit("recall", 0.5, "at_least"), size, TWO, rates, np.array(labeled))

    assert found == pytest.approx(np.array([0.75, 1.5, 3.0]) * error / (500 * at_limit), rel=1e-12)


def test_an_alternative_that_the_cap_leaves_within_the_limit_is_no_evidence():
    limit = Limit("precision", 0.0012, "at_least")  # f_L is above the cap from r = .15 on
    rates, low = np.array([0.5, 0.01]), Limit("precision", 0.0005, "at_least")

    assert (log_e_factor(limit, of_answers(0, 307, 0, 0), rates) > 0).all()
    assert log_e_factor(low, of_answers(0, 307, 0, 0), rates).tolist() == [0.0] * 3


def test_evidence_starts_at_nothing_and_a_useless_round_is_a_step_all_the_same():
    one, two = Evidence.replay([[0.0] * 3]), Evidence.replay([[0.0] * 3] * 2)

    assert Evidence().log_mean == -math.inf
    assert (math.exp(one.log_mean), math.exp(two.log_mean)) == pytest.approx((1, 2))


# --- refused inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (
            Limit("recall", 0.5, "at_least"),
            "the passed items classified wrongly recall would .* 0.529;",
        ),
        (
            Limit("precision", 0.0005, "at_least"),
            "the flagged items classified wrongly precision would .* 0.001;",
        ),
        (
            Limit("f2", 0.0005, "at_least"),
            "all items classified wrongly f2 would still be 0.0013;",
        ),
        (
            Limit("prevalence", 0.9995, "at_most"),
            "all items positive prevalence would still be 0.999;",
        ),
    ],
    ids=lambda value: value.metric if isinstance(value, Limit) else None,
)
def test_at_set_up_a_refused_limit_names_the_metric_at_the_worst_rates(limit, said):
    size = np.array([700, 500])
    check_testable(limit, size, TWO)  # without a guess only the window is checked

    with pytest.raises(LimitCannotBeTested, match=f"with 99.9% of {said}"):
        check_testable(limit, size, TWO, np.array([0.8, 0.1]))
    if limit.metric != "prevalence":
        with pytest.raises(LimitCannotBeTested, match="0 flagged"):
            check_testable(limit, np.array([0, 700]), TWO)


def factor_of(guessed):
    return log_e_factor(PRECISION, of_answers(1, 2, 1, 2), np.array(guessed))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: factor_of([0.0, 0.5]), "a guess lies strictly between 0 and 1"),
        (lambda: factor_of([0.5, 1.0]), "a guess lies strictly between 0 and 1"),
        (lambda: factor_of([0.5, float("nan")]), "a guess lies strictly between 0 and 1"),
        (lambda: factor_of([0.5] * 3), r"guess has shape \(3,\), the round \(2,\)"),
        (lambda: guess([NO_ITEMS], reference=BANDED), "need the same strata"),
        (lambda: log_threshold(0.5, 1), "cannot be promised; give 1 or more"),
        (lambda: log_threshold(float("inf"), 1), "cannot be promised; give 1 or more"),
        (lambda: log_threshold(52, 0), "at least one limit"),
        (lambda: Evidence((0.0,) * 4), r"^evidence has 3 numbers, one per alternative; got "),
        (lambda: Evidence((0.0, 0.0, math.nan)), r"^evidence has 3 numbers, one per alter"),
    ],
)
def test_what_cannot_be_judged_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_half_space_out_of_reach_has_no_projection():
    space = HalfSpace(c=np.array([1.0, -1.0]), d=1.5)

    with pytest.raises(LimitCannotBeTested, match="no rates lie strictly within"):
        project(space, np.array([0.5, 0.5]), np.array([10, 10]))
