"""The lines of `pr-monitor status` read right for one and for many."""

from datetime import UTC, datetime

from monitor.presentation.status import upcoming_line

MONDAY = datetime(2025, 3, 3, 6, tzinfo=UTC)


def test_one_round_lies_ahead_of_the_clock_and_several_lie_ahead():
    one, three = upcoming_line(1, 7, MONDAY), upcoming_line(3, 9, MONDAY)

    assert one == (
        "round 7, due 2025-03-03 06:00 UTC, lies ahead of the clock, which was ahead itself when "
        "it was opened"
    )
    assert three == (
        "3 rounds up to round 9, due 2025-03-03 06:00 UTC, lie ahead of the clock, which was ahead "
        "itself when they were opened"
    )
