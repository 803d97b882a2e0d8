"""A promise over a fleet: worked by hand, refused where it means nothing."""

import pytest

from monitor.stats.detection.fleet import shared_promise


def test_a_fleet_of_one_cadence_has_every_monitor_wait_as_many_times_longer():
    assert shared_promise([52, 52, 52, 52], at_most=1) == 4 * 52
    assert shared_promise([52, 52, 52, 52], at_most=8) == 26


def test_shares_are_in_proportion_to_the_rounds_and_add_up_to_the_promise():
    rounds = [52.0, 365.0, 12.0]

    every = shared_promise(rounds, at_most=3)

    assert every == pytest.approx(143)
    assert sum(count / every for count in rounds) == pytest.approx(3)


@pytest.mark.parametrize(
    ("rounds", "at_most", "message"),
    [
        ([], 1, r"^every monitor needs rounds in the time .* got \["),
        ([52, 0], 1, r"^every monitor needs rounds in the time .* got \["),
        ([52], 0, "false alarms cannot be kept; give more than 0$"),
        ([52], float("nan"), "false alarms cannot be kept; give more than 0$"),
    ],
)
def test_a_promise_of_no_alarms_or_without_rounds_is_refused(rounds, at_most, message):
    with pytest.raises(ValueError, match=message):
        shared_promise(rounds, at_most=at_most)
