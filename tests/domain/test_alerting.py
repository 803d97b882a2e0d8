"""Evidence over closings: chains, firing, pausing, resolving."""

import math
from dataclasses import replace

import pytest

from monitor.domain.alerting import Reading, evidence_of, next_reading, resolves
from monitor.stats.detection.e_detector import Evidence, log_threshold

THRESHOLD = log_threshold(52, 2)
QUIET, STRONG = (-0.5, -0.7, -1.2), (3.0, 5.0, 6.0)


def read(last, log_e=QUIET, **changes):
    asked = {
        "alert_open": False,
        "limit": 0.8,
        "log_threshold": THRESHOLD,
        "log_e": log_e,
        "recovered": 0.5,
    }
    return next_reading(last, **(asked | changes))


def test_evidence_grows_over_the_rounds_of_a_chain():
    first = read(None, (1.0, 1.0, 1.0))
    second = read(first, (1.0, 1.0, 1.0))

    # M1 = e, M2 = (M1 + 1) e
    assert math.exp(second.log_evidence) == pytest.approx((math.e + 1) * math.e)
    assert (first.order, second.order, first.chain, second.chain) == (1, 2, 1, 1)


def test_a_strong_round_fires():
    assert read(read(None), STRONG).fires


def test_evidence_of_other_alternatives_starts_anew():
    before = read(None, STRONG, log_threshold=99.0)
    older = replace(before, log_m=(1.0, 2.0, 3.0, 4.0))

    assert (read(before, log_threshold=99.0).chain, read(older, log_threshold=99.0).chain) == (1, 2)
    assert read(older, log_threshold=99.0).log_m == read(None, log_threshold=99.0).log_m


def test_a_round_that_says_nothing_takes_no_step():
    before = read(None, QUIET)

    assert read(before, (0.0, 0.0, 0.0)).log_m == before.log_m


def test_a_thousand_rounds_that_say_nothing_never_fire():
    last = None
    for _ in range(1000):
        last = read(last, (0.0,) * 3)
        assert not last.fires


def test_no_evidence_is_gathered_while_an_alert_is_open():
    fired = read(None, STRONG)
    paused = read(fired, STRONG, alert_open=True)

    assert paused.log_m is None
    assert paused.log_evidence is None
    assert not paused.fires


def test_a_new_chain_starts_from_nothing_after_an_alert_ended():
    paused = read(read(None, STRONG), alert_open=True)

    again = read(paused, QUIET)

    assert again.chain == paused.chain + 1
    assert again.log_m == Evidence().after(QUIET).log_m


@pytest.mark.parametrize("change", [{"limit": 0.7}, {"log_threshold": log_threshold(26, 2)}])
def test_another_limit_or_promise_restarts_the_evidence(change):
    before = read(None, (1.0, 1.0, 1.0))

    after = read(before, QUIET, **change)

    assert after.chain == before.chain + 1
    assert after.log_m == Evidence().after(QUIET).log_m


def reading(recovered):
    return Reading(0.8, THRESHOLD, 1, 1, QUIET, None, fires=False, recovered=recovered)


@pytest.mark.parametrize(
    ("last", "now", "expected"),
    [
        (reading(0.95), reading(0.95), True),
        (reading(0.85), reading(0.99), False),
        (reading(0.99), reading(0.85), False),
    ],
)
def test_an_alert_resolves_after_two_sure_rounds_running(last, now, expected):
    assert resolves(last, now) is expected


def test_recomputed_evidence_equals_the_running_one():
    rounds = [(0.5, 0.4, 0.3), (0.0,) * 3, (1.0, 1.5, 2.0)]
    last = None
    for log_e in rounds:
        last = read(last, log_e)

    assert last is not None
    assert evidence_of(rounds).log_m == last.log_m
