"""Label files from the draw to the closing: places that change, and what is told of the files."""

import pytest

from tests.cli.workplace import COLUMN, save
from tests.csv_files import read_rows

ELSEWHERE = "{kind: files, folder: elsewhere}"


def fill(place, folder="labels", into=None, answers=40, **changes):
    """Answer tasks as people do, and let the file be some seconds old."""
    [path] = (place.folder / folder).glob("mail-*.csv")
    filled = [
        {**row, "label": str(int(row["subject"].endswith("0"))), "annotator": "ada"} | changes
        for row in read_rows(path)[:answers]
    ]
    return save(place.folder / f"{into or folder}/filled/ada.csv", filled)


def rounds(place):
    return place.query("select state, partial from rounds")


# What a round was opened with it keeps


@pytest.mark.parametrize("labeling", [ELSEWHERE, COLUMN, "{kind: files, format: jsonl}"])
def test_answers_count_where_their_tasks_went_whatever_the_config_says_later(asked, labeling):
    asked.config(labeling)
    fill(asked)

    done = asked.run("run-once")

    assert "round 1" in done.out
    assert rounds(asked) == [("closed", 0)]
    assert asked.query("select count(*) from label_events where annotator = 'ada'") == [(40,)]


def test_tasks_of_a_round_opened_for_people_are_exported_and_imported_under_a_column(asked):
    asked.config(COLUMN)

    asked.run("labels", "export", "--out", "todo.csv")
    rows = [row | {"label": "0"} for row in read_rows(asked.folder / "todo.csv")]
    save(asked.folder / "todo.csv", rows)
    taken = asked.run("labels", "import", "todo.csv")

    assert taken.lines[0] == "40 new answers, 0 known already, 0 rows refused"


# What is told


def test_a_refused_row_is_logged_once_in_all_processes(asked):
    rows = [{"task": key, "label": "maybe"} for (key,) in asked.query("select key from tasks")]
    save(asked.folder / "labels/filled/ida.csv", rows[:1])
    first = asked.run("run-once")

    fill(asked, answers=5)
    second = asked.run("run-once")
    save(asked.folder / "labels/filled/ida.csv", rows[:2])
    third = asked.run("run-once")

    said = [each.err.count("label 'maybe' is not known") for each in (first, second, third)]
    assert said == [1, 0, 2]
    assert asked.query("select count(*) from label_events") == [(5,)]


def test_a_file_of_unknown_tasks_is_a_problem_in_status_until_it_is_put_right(asked):
    path = fill(asked)
    text = path.read_text()
    rows = read_rows(path)
    ids = dict(asked.query("select key, item_id from tasks"))
    save(asked.folder / "labels/filled/ada.csv", [row | {"task": ids[row["task"]]} for row in rows])

    logged = asked.run("run-once")
    status = asked.as_json("status")["monitors"][0]
    path.write_text(text)
    asked.run("run-once")
    after = asked.as_json("status")["monitors"][0]

    [problem] = [each for each in status["problems"] if each.startswith("ada.csv")]
    assert "no task in it is known: 40 answered rows, such as 'm" in problem
    assert problem.endswith("copy it as it was exported")
    assert logged.err.count("no task in it is known") == 1
    assert status["status"] == "stale"
    assert not [each for each in after["problems"] if each.startswith("ada.csv")]
    assert rounds(asked) == [("closed", 0)]


def test_the_first_line_of_a_file_behind_a_link_stands_neither_in_the_log_nor_in_status(asked):
    (asked.folder / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (asked.folder / "labels" / "filled" / "ada.csv").symlink_to(asked.folder / "passwd")

    done = asked.run("run-once")
    status = asked.run("status")

    assert "ada.csv is a link" in done.err
    assert "ada.csv is a link" in " ".join(" ".join(status.lines).split())
    assert "root:" not in done.out + done.err + status.out + status.err


def test_an_answer_that_changes_is_called_changed(asked):
    keys = [key for (key,) in asked.query("select key from tasks limit 4")]
    assert all(key[0].isalpha() for key in keys)  # no spreadsheet makes a number of it
    rows = [{"task": key, "label": "0", "annotator": "ada"} for key in keys]
    save(asked.folder / "ada.csv", rows[:3])
    asked.run("labels", "import", "ada.csv")
    save(asked.folder / "ada.csv", [rows[0], *({**row, "label": "1"} for row in rows[1:])])

    told = asked.run("labels", "import", "ada.csv")
    as_json = asked.as_json("labels", "import", "ada.csv")

    assert told.lines[0] == "1 new answer, 2 changed, 1 known already, 0 rows refused"
    assert as_json == {"new": 0, "changed": 0, "older": 0, "known": 4, "refused": []}
