"""What `check` says of a column of groups, and what rounds then estimate."""

from datetime import timedelta
from unittest.mock import Mock

import pytest

from monitor.domain.errors import SourceRefused
from monitor.rounds import versions
from tests.cli.workplace import COLUMN as TRUTH

SHOWN = "show: [subject]"
IN_GROUPS = (SHOWN, f"{SHOWN}, group: team")
COLUMN = "column 'team' (source.columns.group)"


def checked(place, team, group="team"):
    place.predictions(team=team)
    place.config(group=(SHOWN, f"{SHOWN}, group: {group}"))
    return place.run("check")


@pytest.mark.parametrize(
    ("team", "sentence"),
    [
        ("null::text", "has no value in any of 200 predictions that could be drawn"),
        (
            "case when i % 4 = 0 then null else 'team ' || i % 60 end",
            "has no value in 50 of 200 predictions that could be drawn: each of these is a group",
        ),
        ("'all'", "has only 1 value among"),
        ("i", "has another value in each of 200 predictions that could be drawn"),
        (
            "case when i % 2 = 0 then 'Team ' || i % 30 else 'team ' || (i - 1) % 30 end",
            "writes a value in several ways, ",
        ),
        ("case when i % 3 = 0 then '-1' else 'team ' || i % 60 end", "has the value '-1' in "),
        ("case when i % 2 = 0 then i % 30 || '.0' else ((i - 1) % 30)::text end", "several ways"),
    ],
)
def test_check_says_what_is_odd_about_the_values(bare, team, sentence):
    ended = checked(bare, team)

    line = " ".join(each for each in ended.lines if sentence in each)
    assert COLUMN in line
    assert "LOOK" in line or "look" in line.lower()


def test_check_says_nothing_of_groups_that_hold_several_items(bare):
    assert "columns.group" not in checked(bare, "'team ' || i // 2").out


def test_a_missing_column_is_named_with_the_setting(bare):
    ended = checked(bare, "'a'", group="taem")

    lines = [each for each in ended.lines if "has no column 'taem' (columns.group)" in each]
    assert "did you mean team" in lines[0].replace("'", "")


@pytest.mark.parametrize("role", ["mail_id", "score", "scored_at"])
def test_a_group_is_none_of_the_other_columns(bare, role):
    ended = checked(bare, "'a'", group=role)

    assert f"'{role}' is the " in ended.line("columns.group")
    assert "a group is what several items belong to" in ended.line("columns.group")


def test_rounds_with_groups_have_wider_intervals_of_the_rate_alone(bare):
    widths = {}
    for name, changes in (("without", {}), ("with", {"group": IN_GROUPS})):
        bare.predictions(rows=4000, team="i // 100", is_travel="(i // 100 % 3 = 0)::int")
        more = {"sample": ("max_labels: 40", "max_labels: 150")}
        bare.config(store=("monitor.db", f"{name}.db"), **more, **changes)
        bare.run("run-once")
        rows = bare.as_json("show", 1)["estimates"]
        widths[name] = {
            row["estimand"]: row["high"] - row["low"]
            for row in rows
            if (row["metric"], row["basis"]) == ("precision", "round")
        }

    shown = bare.run("show", 1)
    planned = bare.run("plan")

    assert "Items of one group are alike: by the last round" in planned.out
    assert bare.as_json("plan")["group_effect"] > 1.5
    assert widths["with"]["rate"] > 1.2 * widths["without"]["rate"]
    assert widths["with"]["window"] < 1.2 * widths["without"]["window"]
    assert "flagged labels are worth" in shown.line("items of one group")


def test_ids_that_begin_alike_are_asked_about_once_there_is_no_group(bare):
    bare.predictions(mail_id="'user' || i // 4 || '-' || i")
    bare.config()

    line = bare.run("check").line("share their beginning")

    assert "200 of 200 ids share their beginning with another, such as 'user" in line
    assert "alarms more frequent than promised; source.columns.group names the column" in line


@pytest.mark.parametrize(
    "ids", ["'2026-03-0' || (i % 7 + 1) || '-' || i", "'m' || i", "'mail-' || i", "md5(i::text)"]
)
def test_dates_numbers_and_one_beginning_for_all_are_no_groups(bare, ids):
    bare.predictions(mail_id=ids)
    bare.config()

    assert "columns.group" not in bare.run("check").out


def test_equal_texts_are_asked_about(place):
    place.predictions(subject="'subject ' || i % 40")
    place.config("{kind: files}")

    line = place.run("check").line("show equal content")

    assert "items show equal content: if such items belong together" in line


def test_different_texts_are_not_asked_about(place):
    place.predictions()
    place.config("{kind: files}")

    assert "equal content" not in place.run("check").out


IN_TURN = "(i // 100 % 3 = 0)::int"
"""Truth of which a hundred items in a row are alike."""
SAID = "items come in runs: in the order of time"


def test_labels_in_runs_are_asked_about_by_check_and_by_status_in_each_version(bare):
    bare.predictions(rows=4000, is_travel=IN_TURN)
    bare.config(sample=("max_labels: 40", "max_labels: 300"))

    checked = bare.run("check").line(SAID)
    bare.run("run-once")
    [note] = [line for line in bare.as_json("status")["monitors"][0]["notes"] if SAID in line]
    [turned, *_] = bare.query("select id from items where stratum like 'passed%' order by id")[0]
    bare.predictions(rows=4000, is_travel=f"case when mail_id = '{turned}' then 1 - {IN_TURN} end")
    bare.run("run-once")
    page = bare.as_json("show", "1")

    assert "labels of passed items come in runs" in checked
    assert "independent ones; if such items belong together" in note
    assert "times as frequent as promised; source.columns.group names the column" in note
    [row] = [row for row in page["notices"] if row["kind"] == "runs"]
    assert (row["subject"], row["value"] > 2) == ("passed", True)
    assert note == f"round 1: {row['sentence']}"


def test_labels_that_change_before_a_second_try_of_the_closing_leave_no_note(bare, monkeypatch):
    bare.predictions(rows=4000, is_travel=IN_TURN)
    bare.config(sample=("max_labels: 40", "max_labels: 300"))
    with monkeypatch.context() as patched:
        patched.setattr(versions, "commit_version", Mock(side_effect=SourceRefused("gone")))
        bare.run("run-once")
    bare.predictions(rows=4000, is_travel="(i % 3 = 0)::int")

    bare.run("run-once")

    assert bare.as_json("show", "1")["state"] == "closed"
    assert SAID not in bare.run("show", "1").out


def test_labels_in_runs_are_not_asked_for_a_column_that_is_named_but_empty(bare):
    bare.predictions(rows=4000, is_travel=IN_TURN, team="null::text")
    bare.config(sample=("max_labels: 40", "max_labels: 300"), group=IN_GROUPS)

    bare.run("run-once")
    page = bare.as_json("show", "1")

    [row] = [row for row in page["notices"] if row["kind"] == "runs"]
    assert row["sentence"].endswith(f"as promised; {COLUMN} has no value in any of them")


@pytest.mark.parametrize(
    ("truth", "group"), [("(i % 3 = 0)::int", (SHOWN, SHOWN)), (IN_TURN, IN_GROUPS)]
)
def test_labels_in_turn_or_with_a_group_are_not_asked_about(bare, truth, group):
    bare.predictions(rows=4000, is_travel=truth, team="i // 100")
    bare.config(sample=("max_labels: 40", "max_labels: 300"), group=group)

    checked = bare.run("check")
    bare.run("run-once")

    assert SAID not in checked.out
    assert SAID not in bare.run("show", "1").out


@pytest.mark.parametrize(
    ("moment", "is_asked"),
    [
        ("case when i % 3 > 0 then 431.3 * (i // 6) * 6 else 431.3 * i end", True),
        ("431.3 * (i // 6) * 6", False),  # a batch job
        ("431.3 * i", False),
        ("3600 * (431 * i // 3600)", False),  # whole hours
    ],
)
def test_bursts_of_equal_times_are_asked_about(bare, moment, is_asked):
    start = bare.slot.replace(minute=0) - timedelta(days=4)
    bare.predictions(scored_at=f"timestamptz '{start}' + ({moment}) * interval 1 second")
    bare.config()

    said = "have the same time as another: if such items belong together" in bare.run("check").out

    assert said == is_asked


@pytest.mark.parametrize(("of_small", "is_noted"), [("i % 20 > 7", True), ("i % 20 > 0", False)])
def test_a_round_tells_if_large_groups_are_better_than_small_ones(bare, of_small, is_noted):
    is_large, of_large = "i % 400 < 200", "i % 20 > 0"
    bare.predictions(
        rows=20_000,
        mail_id="'m' || i",
        team=f"case when {is_large} then 'team ' || i // 400 else 'alone ' || i end",
        score="(i % 100) / 100",
        is_travel=f"(case when {is_large} then {of_large} else {of_small} end)::int",
    )
    bare.config(group=IN_GROUPS, sample=("max_labels: 40", "max_labels: 600"))
    bare.run("run-once")

    told = "flagged items of large groups (source.columns.group) are positive more often"
    assert (told in bare.run("show", 1).out) == is_noted


def test_a_round_of_older_files_without_the_column_says_so_wherever_its_numbers_are(bare):
    old_and_new = ("path: predictions.parquet\n", "path: predictions-*.parquet\n")
    bare.predictions("predictions-old.parquet")
    bare.predictions("predictions-new.parquet", rows=1, days=0, mail_id="'new'", team="'team 1'")
    bare.config(TRUTH.replace("predictions", "predictions-*"), path=old_and_new, group=IN_GROUPS)

    bare.run("run-once")

    for text in (bare.run("status").out, bare.run("show", 1).out, bare.description()):
        assert f"{COLUMN[1:]} has no value in any of 200 predictions" in text
