"""Clauses become sentences by a full stop, and read right for one round and for many."""

from datetime import UTC, datetime

import pytest

from monitor.domain.model import Window
from monitor.presentation import notices, windows
from monitor.presentation.rounds import attention_sentence
from monitor.presentation.status import upcoming_line

WINDOW = Window(datetime(2025, 3, 3, tzinfo=UTC), datetime(2025, 3, 10, tzinfo=UTC))


@pytest.mark.parametrize(
    "clause",
    [
        windows.no_rows_sentence(WINDOW),
        windows.never_any_sentence(WINDOW),
        windows.gap_sentence(WINDOW, WINDOW.start),
        windows.ended_before_sentence(WINDOW, WINDOW.start, None),
        windows.ended_before_sentence(WINDOW, WINDOW.start, ("mail", WINDOW.start)),
        windows.many_late_rows_sentence(2, 100, 30),
        notices.inverted_sentence("labels of this round", (0.2, 0.1, 0.3)),
    ],
)
def test_a_clause_that_asks_something_does_so_in_brackets_and_ends_no_sentence(clause):
    sentence = attention_sentence("mail", 2, clause)

    assert sentence == f"mail, round 2 needs a look: {clause}."
    assert clause[-1] not in ".?!"


def test_one_round_lies_ahead_of_the_clock_and_several_lie_ahead():
    one, three = upcoming_line(1, 7, WINDOW.start), upcoming_line(3, 9, WINDOW.start)

    assert one == (
        "round 7, due 2025-03-03 00:00 UTC, lies ahead of the clock, which was ahead itself when "
        "it was opened"
    )
    assert three == (
        "3 rounds up to round 9, due 2025-03-03 00:00 UTC, lie ahead of the clock, which was ahead "
        "itself when they were opened"
    )
