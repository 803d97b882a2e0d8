"""`pr-monitor restate`: what a person types, reads before and after, and is refused."""

import json
from datetime import timedelta

import pytest

from tests.cli.test_labels_story import truth
from tests.cli.workplace import COLUMN, save
from tests.csv_files import read_rows

WHY = ("--reason", "the truth was exported wrongly", "--by", "ana")
LATER = timedelta(days=100)  # no round takes late labels then


@pytest.fixture
def rewritten(filled):
    """Eight closed rounds, of which the truth was turned around since."""
    filled.predictions(days=8, rows=1600, is_travel="(i + 1) % 2")
    return filled


def restate(place, *words):
    return place.run_at(place.now + LATER, "restate", *words)


def test_a_rewritten_column_is_read_again_and_shown_and_listed_beside_what_stood_there(rewritten):
    done = restate(rewritten, "7", "--truth", *WHY)
    newest, first = (
        rewritten.run("show", "7", *version).out for version in ((), ("--version", "1"))
    )

    assert done.code == 0, done.err
    assert "round 7, version 2 (" in done.out
    assert "round 8, version 2 (pools a restated one)" in done.out
    assert "alerts stay as they are" in done.out
    assert "by ana: the truth was exported wrongly; before: precision" in newest
    assert "restated since: version 2 is the newest, this is version 1 as it was" in first
    listed = {
        row["round"]: (row["version"], row["restated"])
        for row in rewritten.as_json("rounds")["rounds"]
    }
    assert (listed[6], listed[7], listed[8]) == ((1, False), (2, True), (2, False))
    assert "version 2, restated" in rewritten.run("rounds").out
    assert "note: round 8: pools round 7, restated" in rewritten.run("status").out


def test_a_preview_and_json_say_what_would_change(rewritten):
    done = restate(rewritten, "--from", "7", "--truth", "--dry-run", "--json", *WHY)

    told = json.loads(done.out)
    assert told["dry_run"]
    assert told["restated"][0]["labels_changed"] > 0
    assert {one["own"] for one in told["restated"]} == {True}
    assert "nothing was changed" in restate(rewritten, "8", "--truth", "--dry-run", *WHY).out
    assert "version 1 of 1" in rewritten.run("show", "8").out


def test_without_a_change_there_is_nothing_to_restate_also_where_the_truth_lost_all_rows(bare):
    bare.predictions("truth.parquet", days=8, rows=1600)
    truth = COLUMN.replace("predictions", "truth")
    bare.predictions(days=8, rows=1600)
    bare.config(truth.replace("}", ", missing_means: negative}"))
    bare.backfill(days=8)
    same = restate(bare, "--truth", *WHY)
    bare.predictions("truth.parquet", days=8, rows=1600, mail_id="'other' || i")

    done = restate(bare, "--truth", *WHY)

    *refused, outcome = done.lines
    assert same.lines == ["nothing to restate: every number comes out as it is"]
    assert (done.code, outcome) == (65, same.lines[0])
    assert len(refused) == len(bare.as_json("rounds")["rounds"])
    assert all("no item of the round has a row in the truth now" in line for line in refused)


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--reason", "a"], 2, "name rounds, or the first of them with --from"),
        (["3", "--reason", " "], 2, "write a few words"),
        (["3", "--reason", "w" * 301], 2, "301 characters; 300 are enough"),
        (["3"], 2, "Missing option '--reason'"),
        (["99", *WHY], 65, "mail has no round 99"),
        (["3", "--labels", "any.csv", *WHY], 65, "come from a column, not from people"),
    ],
)
def test_what_cannot_be_restated_is_refused(filled, words, code, why):
    done = restate(filled, *words)

    assert (done.code, why in " ".join(done.err.split())) == (code, True), done.err


def test_a_corrected_label_file_restates_the_rounds_that_it_answers_and_no_column_does(asked):
    place, todo = asked, asked.folder / "todo.csv"
    place.run("labels", "export", "--out", "todo.csv")
    rows = [{**row, "label": truth(row)} for row in read_rows(todo)]
    save(todo, rows)
    place.run("labels", "import", "todo.csv")
    place.run("run-once")
    wrong = [{**rows[0], "task": "0000feed"}]
    save(todo, [{**row, "label": "1"} for row in rows] + wrong)
    column = restate(place, "1", "--truth", *WHY)

    late = place.run_at(place.now + LATER, "labels", "import", "todo.csv")
    done = restate(place, "--labels", "todo.csv", *WHY)

    assert "belongs to no round that takes labels now" in late.out
    assert (late.code, done.code) == (65, 65)
    assert "refused: todo.csv row 42: " in done.out
    assert "it belongs to no round that is being restated" in done.out
    assert "round 1, version 2 (" in done.out
    page = place.as_json("show", "1")
    assert sum(row["positive"] for row in page["strata"]) == 40
    assert column.code == 65
    assert "people labeled these rounds of mail, so there is no column to read again" in column.err


def test_a_file_and_a_column_of_one_round_are_both_read_again(bare):
    place, todo = bare, bare.folder / "todo.csv"
    place.predictions()
    flagged = COLUMN.replace("{", "{checks: 5, ", 1)
    place.config(f"{{flagged: {flagged}, passed: {{kind: files}}}}")
    place.run("run-once")
    place.run("labels", "export", "--out", "todo.csv")
    rows = read_rows(todo)
    save(todo, [{**row, "label": "0"} for row in rows])
    place.run("labels", "import", "todo.csv")
    place.run("run-once")
    save(todo, [{**row, "label": "1"} for row in rows])

    done = restate(place, "1", "--labels", "todo.csv", "--truth", "--json", *WHY)

    [told] = json.loads(done.out)["restated"]
    assert told["labels_changed"] >= len(rows)
