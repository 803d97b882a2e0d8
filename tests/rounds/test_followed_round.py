"""How the labels of a round came, by the readings of it."""

from datetime import UTC, datetime

import pytest

from monitor.rounds.paces import DAY, FollowedRound
from monitor.storage.labels.provisional_store import PositiveCount

END = datetime(2025, 1, 1, tzinfo=UTC)


def followed(*counts, closed=True):
    """Make a round of which flagged positives were counted once a day."""
    readings = [
        PositiveCount(END + day * DAY, count, 0)
        for day, count in enumerate(counts)
        if count is not None
    ]
    return FollowedRound(END, closed, readings)


@pytest.mark.parametrize("cut", [(0, 0), (17, 3), (0, None)])
def test_readings_of_a_file_that_was_cut_off_for_a_while_are_as_if_nobody_had_looked(cut):
    whole = followed(10, 34, None, None, 35, 40)

    seen = followed(10, 34, *cut, 35, 40)

    assert seen.arrivals({True}) == whole.arrivals({True})
    assert [one.labels for one in seen.arrivals({True})] == [10, 24, 1, 5]


def test_a_few_labels_that_were_taken_back_never_came():
    assert [one.labels for one in followed(10, 34, 32, 40).arrivals({True})] == [10, 22, 8]


@pytest.mark.parametrize("closed", [True, False])
def test_a_round_that_lost_many_labels_says_how_many_and_nothing_of_the_pace(closed):
    cut = followed(10, 34, 17, closed=closed)

    assert cut.taken_back({True}) == (17, 34)
    assert cut.arrivals({True}) == []
    assert cut.taken_back({False}) is None
