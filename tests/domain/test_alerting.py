"""Evidence over closings: chains, firing, pausing, and evidence of recovery."""

import math
from dataclasses import replace

import pytest

from monitor.domain.alerting import evidence_after_each, evidence_of, keeps, next_reading
from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.detection.recovery import Recovery

THRESHOLD = log_threshold(52, 2)
QUIET, STRONG = (-0.5, -0.7, -1.2), (3.0, 5.0, 6.0)


def read(last, log_e=QUIET, **changes):
    asked = {
        "alert_open": False,
        "limit": 0.8,
        "log_threshold": THRESHOLD,
        "log_e": log_e,
        "log_recovery": None,
    }
    return next_reading(last, **(asked | changes))


def test_evidence_grows_over_the_rounds_of_a_chain():
    first = read(None, (1.0, 1.0, 1.0))
    second = read(first, (1.0, 1.0, 1.0))

    # M1 = e, M2 = (M1 + 1) e
    assert math.exp(second.log_evidence) == pytest.approx((math.e + 1) * math.e)
    assert (first.order, second.order, first.chain, second.chain) == (1, 2, 1, 1)


def test_evidence_of_other_alternatives_starts_anew():
    before = read(None, STRONG, log_threshold=99.0)
    older = replace(before, log_m=(1.0, 2.0, 3.0, 4.0))

    assert (read(before, log_threshold=99.0).chain, read(older, log_threshold=99.0).chain) == (1, 2)
    assert read(older, log_threshold=99.0).log_m == read(None, log_threshold=99.0).log_m


def test_evidence_that_is_enough_after_a_block_fires_though_the_round_ends_with_less():
    before = read(None, (0.1, 0.1, 0.1))
    within = read(before, QUIET, log_path=((0.0, 0.0, 0.0), STRONG, (1.0, 1.0, 1.0)))

    assert within.fires
    assert within.log_evidence < THRESHOLD
    assert within.log_m == read(before, QUIET).log_m
    assert not read(before, QUIET, log_path=((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))).fires
    assert read(within, QUIET).chain == within.chain + 1
    assert not read(before, QUIET, log_path=(STRONG,), alert_open=True).fires


def test_no_evidence_is_gathered_while_an_alert_is_open():
    fired = read(None, STRONG)
    paused = read(fired, STRONG, alert_open=True)

    assert fired.fires
    assert paused.log_m is None
    assert paused.log_evidence is None
    assert not paused.fires


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({}, {"limit": 0.7}),
        ({}, {"log_threshold": log_threshold(26, 2)}),
        ({"alert_open": True}, {}),
    ],
    ids=["another limit", "another promise", "an alert that ended"],
)
def test_a_new_chain_starts_from_nothing(before, change):
    last = read(read(None, STRONG), (1.0, 1.0, 1.0), **before)

    after = read(last, QUIET, **change)

    assert after.chain == last.chain + 1
    assert after.log_m == Evidence().after(QUIET).log_m


def recover(last, *log_recoveries):
    """Read the closings of rounds while an alert is open; None is a round that takes no step."""
    for log_recovery in log_recoveries:
        last = read(last, alert_open=True, log_recovery=log_recovery)
    return last


def test_rounds_after_the_firing_gather_evidence_of_recovery_as_worked_by_hand():
    fired = read(None, STRONG)

    now = recover(fired, math.log(4), math.log(3))

    # 4/2, then 4*3/2 + 3/6
    assert fired.recovery is None
    assert now.recovery.rounds == 2
    assert math.exp(now.recovery.log_r) == pytest.approx(6.5)
    assert recover(fired, 0.0, 0.0).recovery.rounds == 2  # that says nothing is a step too


def test_a_round_of_the_time_before_the_alert_takes_no_step_and_ends_nothing():
    disputed = recover(read(None, STRONG), math.log(100))  # so that it ended nothing
    late = recover(disputed, None)

    assert disputed.ends_alert
    assert late.recovery == disputed.recovery
    assert late.log_recovery is None
    assert not late.ends_alert


def test_evidence_of_recovery_starts_anew_with_the_next_alert_and_where_none_was_stored():
    first = recover(read(None, STRONG), 2.0, 2.0)
    between = read(first, QUIET, log_recovery=9.0)
    again = recover(read(between, STRONG, log_threshold=0.1), 1.0)

    older = replace(first, recovery=None)
    assert recover(older, 1.0).recovery == Recovery().updated(1.0)
    assert between.recovery is None
    assert again.recovery == Recovery().updated(1.0)


def test_a_value_keeps_a_limit_on_its_side_and_at_it():
    assert [keeps("at_least", 0.8, value) for value in (0.8, 0.79)] == [True, False]
    assert [keeps("at_most", 0.8, value) for value in (0.8, 0.81)] == [True, False]


def test_evidence_after_each_round_is_that_of_the_chain_up_to_it_and_equals_the_running_one():
    quiet = (0.0, 0.0, 0.0)  # takes no step
    log_e = [(0.3, 0.9, -0.2), quiet, (1.1, 2.0, 3.5), (-0.4, -1.0, -2.5), quiet]

    found = evidence_after_each(log_e)
    running, last = [], None
    for of_round in log_e:
        last = read(last, of_round, log_threshold=99.0)
        running.append(last.log_m)

    assert [each.log_m for each in found] == running
    assert found == [evidence_of(log_e[: place + 1]) for place in range(len(log_e))]
    assert len({each.log_m for each in found}) == 3
    assert evidence_after_each([]) == []
