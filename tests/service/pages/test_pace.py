"""How long the rest takes, from how long the last items took."""

from datetime import UTC, datetime, timedelta

from monitor.service.pages.labeling.pace import AT_FIRST, seconds_each

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def times(*gaps):
    """Times of answers with these seconds between them, in no order."""
    found = [NOW]
    for gap in gaps:
        found.append(found[-1] + timedelta(seconds=gap))
    return found[::-1]


def test_the_pace_is_that_of_the_last_items_and_pauses_are_none():
    assert seconds_each(times(3, 4, 5, 6, 3600, 4)) == 4
    assert seconds_each(times(4, 4, 4, 4, 4, 119)) == 4


def test_until_enough_is_known_a_usual_pace_is_assumed():
    assert seconds_each([]) == AT_FIRST
    assert seconds_each(times(1, 1, 1, 1)) == AT_FIRST
    assert seconds_each(times(1, 1, 1, 1, 1)) == 1
