"""Which versions an alias named for a window, by the looks at it."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.model import Window
from monitor.domain.registered import AliasObservation, alias_of, named_in

MONDAY = datetime(2025, 3, 3, tzinfo=UTC)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
WEEK = Window(MONDAY, MONDAY + 7 * DAY)


def looks(*found):
    """Looks from (version, first day, last day), counted from the begin of the window."""
    return [
        AliasObservation(version, MONDAY + first * DAY, MONDAY + last * DAY)
        for version, first, last in found
    ]


@pytest.mark.parametrize(
    ("found", "versions"),
    [
        ([], ()),
        ([("7", -9, 8)], ("7",)),
        ([("7", 7, 8)], ("7",)),  # never looked at before: what the first look found
        ([("7", -9, -3), ("8", -2, 8)], ("8",)),
        ([("7", -9, 2), ("8", 3, 8)], ("7", "8")),
        ([("7", -9, 8), ("8", 9, 10)], ("7",)),
        ([("7", -9, -1), ("8", 1, 8)], ("7", "8")),  # it may have moved on either side
        ([("7", -9, 6), ("8", 8, 8)], ("7", "8")),
        ([("7", -9, 2), ("8", 3, 4), ("7", 5, 8)], ("7", "8", "7")),
        ([("6", -9, -8), ("7", -7, 2), ("8", 3, 8), ("9", 9, 9)], ("7", "8")),
        ([("7", -9, 2), (None, 3, 8)], ("7",)),
        ([("7", -9, 2), (None, 3, 4), ("7", 5, 8)], ("7",)),
        ([("7", -9, 2), (None, 3, 4), ("8", 5, 8)], ("7", "8")),
        ([(None, -9, 8)], ()),
        ([(None, -9, -5), ("7", 8, 8)], ("7",)),
    ],
)
def test_a_window_is_of_each_version_that_may_have_been_in_use(found, versions):
    assert named_in(WEEK, looks(*found)).versions == versions


@pytest.mark.parametrize("end", [WEEK.start, WEEK.end])
def test_a_move_at_the_very_end_of_a_window_is_between_two_windows(end):
    found = [
        AliasObservation("7", MONDAY - 30 * DAY, end - MINUTE / 2),
        AliasObservation("8", end + MINUTE / 2, MONDAY + 30 * DAY),
    ]
    before, after = Window(end - 7 * DAY, end), Window(end, end + 7 * DAY)

    assert named_in(before, found).versions == ("7",)
    assert named_in(after, found).versions == ("8",)


def test_an_alias_that_is_gone_is_told_from_one_that_nobody_looked_at():
    gone = named_in(WEEK, looks(("7", -9, 2), (None, 3, 8)))
    old = named_in(WEEK, looks(("7", -9, 2)))

    assert (gone.is_removed, gone.last_check) == (True, MONDAY + 8 * DAY)
    assert (old.is_removed, old.last_check) == (False, MONDAY + 2 * DAY)


@pytest.mark.parametrize("uri", [None, "models:/mail/7", "models:/m-0af3", "mail@champion"])
def test_what_names_no_alias_has_none(uri):
    assert alias_of(uri) is None
