"""Foretelling: many paths equal the detector on each, and what simulations say is right."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from monitor.domain.alerting import reaches
from monitor.stats.detection.alternatives import CAP, guess
from monitor.stats.detection.blocks import prefix_sizes
from monitor.stats.detection.delay import (
    Detection,
    Paths,
    alarms,
    detection,
    smallest_drop,
    split_many,
)
from monitor.stats.detection.e_detector import Evidence, log_e_factor, log_e_path, log_threshold
from monitor.stats.detection.half_space import WATCHABLE, Limit
from monitor.stats.detection.scenario import Scenario
from tests.stats.samples import of_strata

if TYPE_CHECKING:
    from monitor.stats.core.counts import Counts

SIZE, IS_FLAGGED = np.array([300, 160, 60_000, 20_000, 9540]), np.array([1, 1, 0, 0, 0], dtype=bool)
RATES = np.array([0.9, 0.6, 0.0005, 0.005, 0.025])
LABELED = np.array([60, 40, 80, 100, 120])
FIVE = Scenario(SIZE, LABELED, IS_FLAGGED, RATES)
TWO = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
EMPTY = Scenario.of([0, 4840], [0, 400], [True, False], [0.5, 0.02])
SOME = Scenario.of([100, 900], [50, 50], [True, False], [0.8, 0.1])  # 17 % positive
FEW_PASSED = Scenario.of(
    [4_400, 100, 5_600], [200, 50, 400], [True, False, False], [0.79, 0.01, 0.2]
)
PRECISION, RECALL = Limit("precision", 0.76, "at_least"), Limit("recall", 0.35, "at_least")
NAMES = [*WATCHABLE, "f2"]


def counts_of(window, positive):
    return of_strata(window.size, window.labeled, positive, window.is_flagged)


# --- the same as the detector ---------------------------------------------------------------------


def test_many_paths_gather_the_evidence_that_the_detector_gathers_round_by_round():
    rng, paths, limits = np.random.default_rng(0), 5, [PRECISION, RECALL]
    few = replace(FIVE, labeled=np.array([3, 2, 5, 7, 9]))  # blocks not in proportion
    worse = replace(few, rates=np.array([0.8, 0.4, 0.001, 0.01, 0.06]))
    watchers, threshold = Paths(limits, 6, paths, seed=7), log_threshold(6, 2)
    order, sizes, within = np.random.default_rng(7), prefix_sizes(few.labeled), 0
    evidence = [[Evidence() for _ in range(paths)] for _ in limits]
    history: list[list[Counts]] = [[] for _ in range(paths)]
    alarms = 0
    for t in range(12):
        drawn = (few if t < 4 else worse).drawn(rng, paths)
        positive = drawn.positive

        fired = watchers.close(drawn)

        answers = split_many(positive, sizes, order) if t else np.zeros((paths, 1, 5), dtype=int)
        for path in range(paths):
            counts = counts_of(few, positive[path])
            rates = guess(history[path])
            blocks = [
                counts_of(replace(few, labeled=n), y)
                for n, y in zip(sizes, answers[path], strict=False)
            ]
            for place, limit in enumerate(limits):
                read, before = log_e_path(limit, blocks, rates), evidence[place][path]
                fires = reaches(before, read[:-1].tolist(), read[-1].tolist(), threshold)
                if read[-1].any():
                    evidence[place][path] = before.after(read[-1])
                assert fired[place, path] == fires, (t, limit, path)
                within += fires and not evidence[place][path].fires(threshold)
                if fires:
                    evidence[place][path] = Evidence()
                    alarms += 1
            history[path].append(counts)
    assert alarms > within > 0


def test_a_random_order_leaves_the_answers_of_each_block_as_they_would_be_drawn():
    labeled = np.array([[2, 0], [5, 3], [10, 8]])

    split = split_many(np.full((20_000, 2), [6, 2]), labeled, np.random.default_rng(1))

    assert split[:, -1].tolist() == [[6, 2]] * 20_000
    assert (np.diff(split, axis=1) >= 0).all()
    assert split.mean(axis=0) == pytest.approx(labeled * np.array([0.6, 0.25]), abs=0.03)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("side", ["at_least", "at_most"])
def test_the_evidence_of_many_guesses_is_that_of_each(name, side):
    rng = np.random.default_rng(6)
    rates = np.clip(RATES * rng.uniform(0.5, 1.1, (20, 5)), 1e-4, 0.99)
    labeled = np.array([60, 0, 80, 100, 0])
    positive = rng.binomial(labeled, rates)
    window = replace(FIVE, labeled=labeled)
    level = FIVE.value(name)
    assert level is not None
    limit = Limit(name, level + (-0.001 if side == "at_least" else 0.001), side)

    found = log_e_factor(limit, window.counted(positive), rates)

    each = [
        log_e_factor(limit, counts_of(window, y), g) for y, g in zip(positive, rates, strict=True)
    ]
    assert found == pytest.approx(np.array(each), abs=1e-6)


def test_a_window_that_says_nothing_is_no_step_for_any_path():
    window = Scenario.of([0, 900], [0, 90], [True, False], [0.5, 0.1])
    before = Scenario.of([50, 900], [40, 90], [True, False], [0.5, 0.1])
    watchers = Paths([PRECISION], 2, 2)
    watchers.history.append(before.counted(np.ones((2, 2), dtype=int)))

    fired = [watchers.close(window.counted(np.array([[0, 3], [0, 9]]))) for _ in range(30)]

    assert not np.any(fired)


# --- scenarios ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_drop_puts_the_metric_where_it_is_said_to_fall(name):
    level = FIVE.value(name)
    assert level is not None

    drop = 0.1 * min(level, 1 - level)

    after = FIVE.dropped(name, drop)

    assert after.value(name) == pytest.approx(level - drop, rel=1e-9)
    assert after.labels == FIVE.labels == 400


def test_in_a_drop_the_wrong_answers_of_one_class_grow_by_one_factor():
    less_precise, less_recall = FIVE.dropped("precision", 0.1), FIVE.dropped("recall", 0.1)

    grown = (1 - less_precise.rates[:2]) / (1 - RATES[:2])
    missed = less_recall.rates[2:] / RATES[2:]

    assert grown == pytest.approx([grown[0]] * 2)
    assert missed == pytest.approx([missed[0]] * 3)
    assert less_precise.rates[2:].tolist() == RATES[2:].tolist()
    assert less_recall.rates[:2].tolist() == RATES[:2].tolist()


def test_prevalence_alone_moves_precision_and_neither_recall_nor_fpr():
    doubled = FIVE.with_prevalence(2)

    assert doubled.value("recall") == pytest.approx(FIVE.value("recall"), rel=2e-3)
    assert doubled.value("fpr") == pytest.approx(FIVE.value("fpr"), rel=2e-2)
    prevalence = float(SIZE @ RATES) / SIZE.sum()
    assert doubled.value("prevalence") == pytest.approx(2 * prevalence, rel=2e-3)
    assert doubled.size.sum() == pytest.approx(SIZE.sum(), abs=2)
    assert FIVE.with_prevalence(1).rates == pytest.approx(RATES)


def test_a_moved_stratum_keeps_the_items_that_labels_are_asked_of_and_an_empty_one_stays_empty():
    fewer = Scenario.of([100, 1000], [100, 1000], [True, False], [0.5, 0.001]).with_prevalence(0.1)
    doubled = Scenario.of(
        [0, 100, 900], [0, 50, 50], [True, True, False], [0.5, 0.8, 0.1]
    ).with_prevalence(2)

    assert fewer.size.tolist() == [5 + 52, 1046 - 3]
    assert fewer.labeled.tolist() == [57, 1000]
    assert (doubled.size[0], doubled.rates[0]) == (0, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: SOME.with_prevalence(0), r"^a prevalence of 0.17 cannot become 0 times as high$"),
        (lambda: SOME.with_prevalence(6), r"^a prevalence of 0.17 cannot become 6 times as high$"),
        (lambda: TWO.dropped("precision", 0.86), "^precision cannot fall by 0.86 from "),
        (lambda: TWO.dropped("recall", -0.5), "^recall cannot fall by -0.5 from "),
        (lambda: EMPTY.dropped("precision", 0.1), "cannot fall by 0.1 where it is undefined$"),
        (
            lambda: FIVE.dropped("specificity", 0.5),
            "^specificity cannot fall by 0.5 from 0.9989: it would still be 0.9949 with 99.9% ",
        ),
        (
            lambda: FEW_PASSED.dropped("recall", 0.3, "in_lowest_band"),
            "by misses in the lowest band: it holds 100 items",
        ),
        (
            lambda: TWO.dropped("recall", 0.1, "in_lowest_band"),
            "by misses in one of several bands",
        ),
    ],
)
def test_a_change_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        change()


def test_the_smallest_drop_of_such_a_metric_is_sought_where_it_can_be():
    scenario = Scenario.of([1000, 1500], [400, 100], [True, False], [0.9, 0.1])
    limit = Limit("specificity", 0.9, "at_least")

    drop = smallest_drop(scenario, [limit], metric="specificity", paths=200)

    assert drop is not None
    assert 0.03 < drop < 0.5


def test_a_fall_goes_on_in_the_other_strata_where_one_has_only_wrong_answers():
    scenario = Scenario.of([100, 300, 4600], [50, 50, 400], [True, True, False], [0.6, 0.99, 0.02])

    after = scenario.dropped("precision", 0.5)

    assert after.value("precision") == pytest.approx(0.3925)  # from .8925
    assert after.rates.tolist() == pytest.approx([1 - CAP, 0.523, 0.02])


def test_an_undefined_metric_has_no_smallest_drop():
    assert EMPTY.value("precision") is None
    assert smallest_drop(EMPTY, [PRECISION], metric="precision") is None


def test_a_limit_is_broken_below_it_and_kept_at_it():
    at = TWO.moved(Limit("precision", 0.8, "at_least"))

    assert at.value("precision") == pytest.approx(0.8)
    assert at.breaks(Limit("precision", 0.8001, "at_least"))
    assert not at.breaks(Limit("precision", 0.7999, "at_least"))
    assert not at.breaks(Limit("precision", 0.8001, "at_least"), by=0.001)
    assert at.breaks(Limit("precision", 0.7999, "at_most"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labeled": [100]}, "must have the same shape"),
        ({"rates": [[0.5, 0.5]]}, "must have the same shape"),
        ({"labeled": [161, 400]}, "0 <= labeled <= size"),
        ({"labeled": [-1, 400]}, "0 <= labeled <= size"),
        ({"rates": [1.1, 0.5]}, r"rates lie in \[0, 1\], got \[1.1, 0.5\]"),
        ({"rates": [0.5, float("nan")]}, r"rates lie in \[0, 1\]"),
    ],
)
def test_impossible_scenarios_are_refused(change, sentence):
    asked = {
        "size": [160, 4840],
        "labeled": [100, 400],
        "is_flagged": [True, False],
        "rates": [0.86, 0.02],
    }

    with pytest.raises(ValueError, match=sentence):
        Scenario.of(**asked | change)


# --- what simulations say -------------------------------------------------------------------------


def found(*shares):
    return Detection(np.array(shares), false_alarms=0.0, labels=500, paths=1000)


def test_median_mean_and_share_are_read_off_the_shares_found():
    some = found(0.1, 0.5, 0.75, 0.9)

    assert some.median == 2
    assert found(0.1, 0.4999).median is None
    assert some.mean_delay == pytest.approx(1 + 0.9 + 0.5 + 0.25)
    assert (some.share_within(1), some.share_within(4)) == (0.1, 0.9)


def test_a_drop_that_breaks_no_limit_is_never_found():
    kept = detection(TWO, TWO.dropped("precision", 0.1), [Limit("precision", 0.7, "at_least")])

    assert not kept.detected_within.any()
    assert (kept.labels, kept.paths, kept.detected_within.size) == (500, 1000, 26)


def test_only_the_limits_that_a_drop_breaks_can_find_it():
    # recall falls too when flagged positives turn wrong, but keeps its limit
    limits = [Limit("precision", 0.8, "at_least"), Limit("recall", 0.05, "at_least")]
    after = TWO.dropped("precision", 0.15)
    one = detection(TWO, after, limits[:1])
    both = detection(TWO, after, limits, every=26)  # the threshold N m stays the same

    assert both.detected_within.tolist() == one.detected_within.tolist()


def test_false_alarms_stay_within_the_promise_at_both_limits_and_vanish_above_them():
    limits = [
        Limit("precision", 0.8, "at_least"),
        Limit("recall", TWO.value("recall") or 0, "at_least"),
    ]
    at = TWO.moved(limits[0]).moved(limits[1])

    worst, usual = (
        sum(alarms(scenario, within, every=10, paths=400, rounds=20))
        for scenario, within in ((at, limits), (TWO, limits[:1]))
    )
    run = detection(at, at.dropped("precision", 0.1), limits, every=5, paths=300, quiet=10)

    assert 0.2 < worst <= 2
    assert usual < 0.1
    assert alarms(at, limits, every=10, paths=400, rounds=0) == (0, 0)
    a_round = sum(alarms(at, limits, every=5, paths=300, rounds=10)) / 10
    assert run.false_alarms == pytest.approx(a_round)


def test_the_smallest_drop_found_is_found_as_often_as_asked_and_a_smaller_one_is_not():
    limits = [Limit("precision", 0.8, "at_least")]
    asked: dict[str, Any] = {"paths": 400, "seed": 3}

    drop = smallest_drop(TWO, limits, metric="precision", within=3, probability=0.7, **asked)

    assert drop is not None
    shares = [
        detection(TWO, TWO.dropped("precision", each), limits, **asked).share_within(3)
        for each in (drop + 0.01, drop - 0.02)
    ]
    assert shares[0] > 0.7 - 0.03 > shares[1]


def test_a_limit_that_nothing_breaks_in_time_has_no_smallest_drop():
    few = Scenario.of([160, 4840], [4, 4], [True, False], [0.86, 0.02])

    assert smallest_drop(few, [PRECISION], metric="precision", within=1, paths=100) is None
