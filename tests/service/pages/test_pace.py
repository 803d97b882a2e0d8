"""How long the rest takes, from how long the last items took."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.service.pages.labeling.pace import AT_FIRST, AnnotatorProgress, seconds_each

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def times(*gaps):
    """Times of answers with these seconds between them, in no order."""
    found = [NOW]
    for gap in gaps:
        found.append(found[-1] + timedelta(seconds=gap))
    return found[::-1]


@pytest.mark.parametrize(
    ("left", "each", "text"),
    [
        (0, 5.0, "Nothing to go"),
        (1, 5.0, "1 to go, less than a minute"),
        (12, 5.0, "12 to go, about 1 minute"),
        (120, 4.5, "120 to go, about 9 minutes"),
        (1500, 4.0, "1,500 to go, about 2 hours"),
    ],
)
def test_what_is_left_is_said_in_words(left, each, text):
    assert AnnotatorProgress(left, 0, each).text == text


def test_the_pace_is_that_of_the_last_items_and_pauses_are_none():
    assert seconds_each(times(3, 4, 5, 6, 3600, 4)) == 4
    assert seconds_each(times(4, 4, 4, 4, 4, 119)) == 4


def test_until_enough_is_known_a_usual_pace_is_assumed():
    assert seconds_each([]) == AT_FIRST
    assert seconds_each(times(1, 1, 1, 1)) == AT_FIRST
    assert seconds_each(times(1, 1, 1, 1, 1)) == 1
