"""A first round in two waves, as who runs the commands sees it."""

import re
from datetime import timedelta

import pytest

from tests.cli.workplace import PEOPLE, save
from tests.csv_files import read_rows

DAY = timedelta(days=1)


@pytest.fixture
def banded(bare):
    """A monitor with score bands, whose first round is to be drawn."""
    bare.predictions(rows=1600)
    bare.config(
        PEOPLE,
        sample=("max_labels: 40, bands: {flagged: 1, passed: 1}", "max_labels: 200"),
    )
    return bare


def fill(place):
    """Answer every item that is out, as people do."""
    place.run("labels", "export", "--out", "todo.csv")
    tasks = read_rows(place.folder / "todo.csv")
    rows = [{**row, "label": "1" if row["subject"].endswith("0") else "0"} for row in tasks]
    save(place.folder / "todo.csv", rows)
    return place.run("labels", "import", "todo.csv")


def test_each_command_says_which_wave_is_out_and_what_follows(banded):
    drawn = banded.run("run-once")
    waiting = banded.run("run-once")
    shown = banded.run("show", "1")
    fill(banded)
    second = banded.run("run-once")
    shown_after = banded.run("show", "1")
    after = banded.run("run-once")

    assert "in two waves of which this is the first" in drawn.line("round 1")
    assert re.search(
        r"waits for 80 answers of 80 to its first wave, and hands out 120 more items then, at "
        r"\S+ \S+ UTC at the latest",
        waiting.line("round 1"),
    )
    assert second.line("round 1").endswith("its second wave of items is out now")
    assert re.search(r"waits for 120 answers of 200, until", after.line("round 1"))
    assert "two waves: 80 of the 200 items are out" in shown.out
    assert "the first of two waves: 120 more follow" in shown.out
    assert "two waves: 80 of the 200 items went out first" in shown_after.out


def test_nothing_is_called_a_census_of_which_only_the_first_wave_is_out(banded):
    banded.predictions(rows=160)
    banded.run("run-once")

    shown = banded.run("show", "1")

    assert "two waves" in shown.out
    assert "census" not in shown.out
