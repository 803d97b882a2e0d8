"""A round is drawn by the settings that it was opened with, also where the config changed since."""

import json

import pytest

from monitor.domain.errors import MonitorError
from tests.rounds.test_recounts import FIRST, ITEMS, WEEK, Weeks

COLUMNS = {"id": "id", "time": "at", "score": "score", "segments": ["country"]}
OPENED = {"sample": {"max_labels": 40}}


@pytest.fixture
def waiting(store_folder):
    """Return a monitor whose predictions are not there yet; one class has 30 of 60 items."""
    weeks = Weeks(store_folder, now=FIRST + WEEK)
    (store_folder / "predictions").rename(store_folder / "later")
    return weeks


def attempt(weeks, **config):
    """Look at the monitor once; returns what stopped it."""
    try:
        weeks.play(**(OPENED | config))
    except MonitorError as error:
        return str(error)
    return None


def arrive(weeks, name="predictions"):
    """Let the predictions arrive."""
    (weeks.folder / "later").rename(weeks.folder / name)


def flagged(weeks):
    """State and flagged items of the first round."""
    query = (
        "select r.state, sum(s.size) from rounds r join strata s on s.round_id = r.id "
        "where s.flagged and r.number = 1 group by r.state"
    )
    return weeks.rows(query)


@pytest.mark.parametrize(
    "changed",
    [
        {"threshold": 0.7},
        {"threshold": None, "columns": COLUMNS | {"predicted": "tier"}, "positive": "a"},
        {"columns": COLUMNS | {"score": "score", "segments": []}, "threshold": 0.2},
    ],
    ids=["threshold", "predicted", "both"],
)
def test_a_round_flags_as_it_was_opened(waiting, changed):
    assert attempt(waiting) is not None

    arrive(waiting)
    attempt(waiting, source=changed)
    waiting.now += WEEK / 7
    attempt(waiting, source=changed)

    assert flagged(waiting) == [("closed", ITEMS / 2)]
    assert waiting.concerns() == []


def test_a_wrong_column_can_be_corrected_while_the_round_waits(waiting):
    arrive(waiting)
    wrong = {"columns": COLUMNS | {"score": "scroe"}}
    assert "scroe" in (attempt(waiting, source=wrong) or "")

    attempt(waiting)

    [(_, sentence)] = waiting.concerns()
    assert sentence.startswith("source.columns.score changed while the round was open")
    assert flagged(waiting) == [("closed", ITEMS / 2)]
    [(settings,)] = waiting.rows("select settings from rounds")
    assert json.loads(settings)["source"]["columns"]["score"] == "score"


def test_a_path_that_is_wrong_both_times_is_told_both_times(waiting):
    attempt(waiting, source={"path": "first.csv"})

    message = attempt(waiting, source={"path": "second.csv"}) or ""

    assert "first.csv" in message
    assert "by the config of today" in message
    assert "second.csv" in message
