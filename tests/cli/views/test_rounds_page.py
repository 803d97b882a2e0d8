"""`rounds`: what it leaves out, and where something new began; `backfill`, `report`."""

import re
from datetime import timedelta

import pytest

from tests.cli.workplace import COLUMN, PEOPLE
from tests.engine import engine

DAY = timedelta(days=1)


def numbers(done):
    return [line.split()[3] for line in done.lines if line.startswith("mail   ")]


def test_rounds_leaves_out_skipped_ones_and_says_how_many_unless_asked(place):
    place.run_at(place.slot - 3 * DAY, "run-once")
    place.run("run-once")
    done = place.run("rounds")

    assert numbers(done) == ["1", "4"]
    assert done.lines[-1] == "2 skipped rounds not shown; --skipped shows them too"
    everything = place.run("rounds", "--skipped")
    assert numbers(everything) == ["1", "2", "3", "4"]
    assert "not shown" not in everything.out
    some, all_ = (place.as_json("rounds", *more) for more in ([], ["--skipped"]))
    assert (some["hidden"], len(some["rounds"])) == (2, 2)
    assert (all_["hidden"], len(all_["rounds"])) == (0, 4)


def test_check_says_that_another_threshold_means_a_new_history_and_rounds_where_it_began(place):
    place.run_at(place.slot - 2 * DAY, "run-once")
    assert "note " not in place.run("check").out
    changed = ("threshold: 0.5", "threshold: 0.6")
    place.config(threshold=changed, zone=("time_zone: UTC", "time_zone: Etc/GMT"))
    check, told = place.run("check"), place.as_json("check")["checks"]
    place.config(threshold=changed)
    place.run_at(place.slot - DAY, "run-once")
    done = place.run("rounds")
    place.config()
    place.run("run-once")

    back, last = place.run("rounds"), place.as_json("rounds")["rounds"][-1]

    notes = [line for line in check.lines if line.startswith("note     changes of mail: ")]
    assert "begins a new history" in notes[0]
    assert "begins where the last one" in notes[1]
    assert len([each for each in told if each["note"] is not None]) == 2
    assert done.lines[-1] == "mail: round 2 begins a new history (source.threshold 0.5 -> 0.6)"
    continues = "continues an earlier history (source.threshold 0.6 -> 0.5)"
    assert back.lines[-1] == f"mail: round 3 {continues}"
    settings = ["source.threshold 0.6 -> 0.5"]
    assert last["begins"] == [{"what": "earlier history", "settings": settings}]


def test_a_backfill_that_asks_people_says_what_it_waits_for(place):
    place.config(labeling=PEOPLE)

    done = place.backfill(days=2)

    first, second = done.out.splitlines()
    assert first.startswith("mail: 2 of 2 windows opened, due ")
    assert first.endswith(" UTC: 2 labeling")
    assert second.startswith("mail: 80 items wait for people until 2")
    assert second.endswith(
        f" UTC: fill copies of the files in {place.folder}/labels and put them into "
        f"{place.folder}/labels/filled; then run pr-monitor run-once"
    )
    assert len(list((place.folder / "labels").glob("*.csv"))) == 2


def test_rounds_before_the_first_due_one_are_shown_and_compared_by_their_number(closed):
    closed.backfill(days=3)

    listed = numbers(closed.run("rounds"))
    shown, compared = closed.run("show", "-1"), closed.run("compare", "-1", "--threshold", "0.6")

    assert listed == ["-1", "0", "1"]
    assert shown.code == 0
    assert shown.lines[0].startswith("mail, round -1: closed")
    assert (compared.code, compared.err) == (0, "")


def test_rounds_lists_the_newest_of_each_monitor_and_says_that_there_are_more(filled):
    newest, everything = filled.run("rounds", "--last", "3"), filled.run("rounds")
    beyond = filled.run("rounds", "--last", "9" * 20)  # more than a store counts
    lists = [filled.as_json("rounds", *more) for more in (["--last", "3"], [])]

    how = "older rounds not shown; --last NUMBER lists more of each monitor"
    assert (numbers(newest), newest.lines[-1]) == (["6", "7", "8"], how)
    assert numbers(everything) == numbers(beyond) == [str(number) for number in range(1, 9)]
    assert "not shown" not in everything.out
    assert [(each["has_older"], len(each["rounds"])) for each in lists] == [(True, 3), (False, 8)]


# `pr-monitor report`: which round it writes, and where


def written(place, name):
    text = (place.folder / name).read_text()
    return " ".join(re.sub("<[^>]*>", " ", text.partition("<body>")[2]).split())


def test_it_writes_the_newest_round_that_has_a_report(closed):
    ended = closed.run("report")

    assert (ended.code, ended.out) == (0, "mail-round-1.html: mail, round 1, version 1\n")
    assert "mail, round 1" in written(closed, "mail-round-1.html")
    assert (closed.folder / "mail-round-1.html").read_text().startswith("<!doctype html>")


def test_before_any_round_has_closed_it_says_so(asked):
    assert asked.run("report").err == (
        "pr-monitor: no round of mail has a report yet: none has closed\n"
    )
    assert asked.run("report", 1).err == (
        "pr-monitor: round 1 of mail has no report yet: it is labeling\n"
    )


def test_the_first_run_of_a_column_names_the_backfill_of_earlier_windows_once(place):
    place.config(COLUMN)

    first, second = place.run("run-once"), place.run("run-once")

    hint = next(line for line in first.lines if "pr-monitor backfill" in line)
    assert hint.startswith("mail: 2 earlier windows can run now: pr-monitor backfill --from 2")
    assert "pr-monitor backfill" not in second.out
    command = hint.partition("pr-monitor ")[2].split()
    assert place.run(*command).out.startswith("mail: 2 of 3 windows filled")


def test_a_backfill_that_ends_early_names_the_windows_that_no_run_fills(place):
    begin = place.now - timedelta(days=5)
    ending = f"timestamptz '{begin}' + 400 * i * interval 1 second"  # 31 hours ago
    place.predictions(scored_at=ending)
    start, early = (place.at(place.slot - timedelta(days=days)) for days in (3, 2))
    span = ("--from", start.replace(" ", "T"), "--to", early.replace(" ", "T"))

    done = place.run("backfill", *span)

    second = place.at(place.slot - timedelta(days=1))
    assert done.lines[1] == (
        f"mail: run-once opens only the newest window and skips 1 window due from {second} UTC on: "
        f"pr-monitor backfill --from {span[3]}Z -m mail fills all"
    )
    assert "skips" not in place.run("backfill", "--from", span[1]).out
    assert "skips" not in place.run("backfill", *span).out


@pytest.mark.parametrize(
    ("labeling", "opens"),
    [
        (PEOPLE, "fill copies of the files in {folder}/labels and put them into {folder}/labels"),
        ("{kind: page, question: 'Travel?'}", "pr-monitor label opens the page"),
    ],
)
def test_run_once_says_how_many_items_wait_for_people_and_what_opens_them(place, labeling, opens):
    place.config(labeling=labeling)

    drawn, again = place.run("run-once"), place.run("run-once")

    wanted = f"mail: 40 items wait for people: {opens.format(folder=place.folder)}"
    assert drawn.lines[-1].startswith(wanted)
    assert again.lines[-1] == drawn.lines[-1]
    assert drawn.lines[-1].endswith("; then run pr-monitor run-once")
    assert "backfill" not in drawn.out


def test_items_without_a_row_are_not_called_missing_answers_where_they_count_as_negative(place):
    with engine() as connection:
        connection.execute(
            f"copy (select * from '{place.folder}/predictions.parquet' where is_travel = 1) "
            f"to '{place.folder}/positives.parquet'"
        )
    few = "matures: 9d, missing_means: negative, passed_without_rows: accept"
    place.config(COLUMN.replace("predictions", "positives").replace("matures: 1s", few))

    place.run("run-once")
    waiting, status = place.run("run-once"), place.run("status")

    rows = r"rows of \d+ of 40 items so far; items without one are negative from 2"
    for shown in (waiting, status):
        assert re.search(f"is labeling: {rows}", shown.out)
    assert "answers" not in waiting.out
