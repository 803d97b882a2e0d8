"""What `check` asks of a monitor's parts."""

from datetime import timedelta

import pytest

from monitor.cli.commands.data_checks import check_source
from monitor.domain.errors import SourceRefused
from tests.rounds.scene import MONDAY, Scene, settings


@pytest.fixture
def scene(database):
    scene = Scene(database, settings())
    scene.week(1)
    scene.now = MONDAY + timedelta(hours=1)
    return scene


def test_a_source_is_told_by_what_a_round_would_find(scene):
    flagged = sum(row["score"] >= 0.5 for row in scene.source.rows)

    found = check_source(scene.context).text

    assert found.startswith("2000 predictions in the newest window, 2025-02-24 06:00 to")
    assert found.endswith(f", {flagged} flagged")


def test_a_few_bad_rows_are_told(scene):
    scene.source.rows[0]["score"] = None

    assert check_source(scene.context).text.endswith("; left out: 1 score missing")


def test_so_many_bad_rows_that_a_round_would_be_abandoned_are_refused(scene):
    for row in scene.source.rows[:40]:
        row["score"] = None

    with pytest.raises(SourceRefused, match=r"newest window.*40 of 2000 rows cannot be used"):
        check_source(scene.context)


def test_a_window_without_predictions_is_told_with_the_newest_there_is(scene):
    scene.now += timedelta(days=7)

    found = check_source(scene.context)

    assert "no predictions in the newest window" in found.text
    assert "the newest is of 2025-03-03 05:" in found.text
    assert "are they still written" in found.looks[0]
