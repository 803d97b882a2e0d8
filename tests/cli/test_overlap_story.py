"""Second copies by hand: exported apart, labeled by another person, decided by a third."""

import pytest

from tests.cli.test_labels_story import truth
from tests.cli.workplace import save
from tests.csv_files import read_rows

PEOPLE = "{kind: files, overlap: 0.2, adjudicator: eve}"


@pytest.fixture
def place_of_two(place):
    """A round of 40 items, 8 of them for a second person too."""
    place.config(PEOPLE)
    assert place.run("run-once").code == 0
    assert place.run("labels", "export", "--out", "first.csv").code == 0
    exported = place.run("labels", "export", "--second", "--out", "second.csv")
    assert exported.lines[0].startswith("8 items written to second.csv")
    return place


def fill(place, name, who, *, wrong=0):
    """Answer a file, the first ``wrong`` rows differently than everybody else would."""
    rows = read_rows(place.folder / name)
    for number, row in enumerate(rows):
        right = truth(row)
        row |= {"label": "10"[int(right)] if number < wrong else right, "annotator": who}
    save(place.folder / name, rows)
    return place.run("labels", "import", name)


def test_a_round_waits_for_two_people_says_how_far_they_agree_and_a_third_decides(place_of_two):
    first = fill(place_of_two, "first.csv", "ada")
    waiting = place_of_two.run("run-once")
    by_the_same = fill(place_of_two, "second.csv", "ada")
    second = fill(place_of_two, "second.csv", "bob", wrong=1)
    place_of_two.run("run-once")

    assert first.lines[0] == "40 new answers, 0 known already, 0 rows refused"
    assert "is labeling: 40 of 48 answers, deadline" in waiting.out
    assert by_the_same.code == 65
    assert by_the_same.lines[-1] == "0 new answers, 0 known already, 8 rows refused"
    assert "a second copy of an item that 'ada' answered already;" in by_the_same.lines[0]
    assert second.lines[0] == "8 new answers, 0 known already, 0 rows refused"
    page = place_of_two.as_json("show", 1)
    assert (page["agreement"]["items"], page["agreement"]["disagreed"]) == (8, 1)
    assert sum(row["declined"] for row in page["strata"]) == 1
    assert page["answers"]["labeled"] == 39
    shown = place_of_two.run("show", 1).out
    assert "agreement: 2 people, 8 items with two answers, 1 of them contradicting" in shown
    assert "1 of 40 answers are missing (2.5 %): 0 not given, 1 “cannot tell”" in shown
    the_adjudicator_decides_the_disputed_item(place_of_two)


def the_adjudicator_decides_the_disputed_item(place_of_two):
    exported = place_of_two.run("labels", "export", "--disputed", "--out", "disputed.csv")
    decided = fill(place_of_two, "disputed.csv", "eve")
    place_of_two.run("run-once")

    assert exported.lines[0].startswith("1 item written to disputed.csv")
    assert decided.lines[0] == "1 new answer, 0 known already, 0 rows refused"
    page = place_of_two.as_json("show", 1)
    assert page["version"] == 2
    assert sum(row["declined"] for row in page["strata"]) == 0
    assert page["agreement"]["disagreed"] == 1
    again = place_of_two.run("labels", "export", "--disputed", "--out", "more.csv")
    assert again.lines == ["no item waits for an answer; more.csv is not written"]
