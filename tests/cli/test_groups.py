"""What `check` says of a column of groups, and what rounds then estimate."""

from datetime import timedelta
from unittest.mock import Mock

import pytest

from monitor.domain.errors import SourceRefused
from monitor.rounds import versions
from tests.cli.workplace import COLUMN as TRUTH

SHOWN = "show: [subject]"
IN_GROUPS = (SHOWN, f"{SHOWN}, group: team")
IDS = "'user' || i // 4 || '-' || i"
"""Ids of which four begin alike."""
COLUMN = "column 'team' (source.columns.group)"


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
    ended = bare.checked(columns={"team": team}, group=IN_GROUPS)

    line = " ".join(each for each in ended.lines if sentence in each)
    assert COLUMN in line
    assert "LOOK" in line or "look" in line.lower()


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("taem", "did you mean 'team'?"),
        ("mail_id", "'mail_id' is the id column; a group is what several items belong to"),
        ("score", "'score' is the score column"),
        ("scored_at", "'scored_at' is the time column"),
    ],
)
def test_a_column_that_is_missing_or_has_another_role_is_refused_by_name(bare, group, said):
    ended = bare.checked(columns={"team": "'a'"}, group=(SHOWN, f"{SHOWN}, group: {group}"))

    assert any(said in line for line in ended.lines if "columns.group" in line), ended.out


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


EQUAL_TIMES = "have the same time as another: if such items belong together"


def moments(place, seconds):
    """Times of predictions by their seconds since a whole hour four days ago."""
    start = place.slot.replace(minute=0) - timedelta(days=4)
    return {"scored_at": f"timestamptz '{start}' + ({seconds}) * interval 1 second"}


def test_ids_that_begin_alike_equal_texts_and_bursts_of_equal_times_are_asked_about(bare):
    ids = bare.checked(columns={"mail_id": IDS})
    texts = bare.checked("{kind: files}", columns={"subject": "'subject ' || i % 40"})
    burst = "case when i % 3 > 0 then 431.3 * (i // 6) * 6 else 431.3 * i end"
    times = bare.checked(columns=moments(bare, burst))

    line = ids.line("share their beginning")
    assert "200 of 200 ids share their beginning with another, such as 'user" in line
    assert "alarms more frequent than promised; source.columns.group names the column" in line
    assert "items show equal content: if such items belong together" in texts.out
    assert EQUAL_TIMES in times.out


@pytest.mark.parametrize(
    "seconds",
    ["431.3 * (i // 6) * 6", "431.3 * i", "3600 * (431 * i // 3600)"],
    ids=["a batch job", "each its own", "whole hours"],
)
def test_times_of_batches_and_whole_hours_are_no_groups(bare, seconds):
    assert EQUAL_TIMES not in bare.checked(columns=moments(bare, seconds)).out


@pytest.mark.parametrize(
    ("labeling", "columns", "group"),
    [
        (TRUTH, {"team": "'team ' || i // 2", "mail_id": IDS}, IN_GROUPS),
        (TRUTH, {"mail_id": "'2026-03-0' || (i % 7 + 1) || '-' || i"}, (SHOWN, SHOWN)),
        (TRUTH, {"mail_id": "'mail-' || i"}, (SHOWN, SHOWN)),
        (TRUTH, {"mail_id": "md5(i::text)"}, (SHOWN, SHOWN)),
        ("{kind: files}", {}, (SHOWN, SHOWN)),
    ],
)
def test_named_groups_dates_and_different_texts_are_not_asked_about(bare, labeling, columns, group):
    checked = bare.checked(labeling, columns=columns, group=group)

    assert "columns.group" not in checked.out
    assert "equal content" not in checked.out


IN_TURN = "(i // 100 % 3 = 0)::int"
"""Truth of which a hundred items in a row are alike."""
SAID = "items come in runs: in the order of time"
MANY_LABELS = ("max_labels: 40", "max_labels: 300")


def test_labels_in_runs_are_asked_about_by_check_and_by_status_in_each_version(bare):
    bare.predictions(rows=4000, is_travel=IN_TURN)
    bare.config(sample=MANY_LABELS)

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
    bare.config(sample=MANY_LABELS)
    with monkeypatch.context() as patched:
        patched.setattr(versions, "commit_version", Mock(side_effect=SourceRefused("gone")))
        bare.run("run-once")
    bare.predictions(rows=4000, is_travel="(i % 3 = 0)::int")

    bare.run("run-once")

    assert bare.as_json("show", "1")["state"] == "closed"
    assert SAID not in bare.run("show", "1").out


@pytest.mark.parametrize(
    ("truth", "group"), [("(i % 3 = 0)::int", (SHOWN, SHOWN)), (IN_TURN, IN_GROUPS)]
)
def test_labels_in_turn_or_with_a_group_are_not_asked_about(bare, truth, group):
    columns = {"rows": 4000, "is_travel": truth, "team": "i // 100"}

    checked = bare.checked(columns=columns, sample=MANY_LABELS, group=group)
    bare.run("run-once")

    assert SAID not in checked.out
    assert SAID not in bare.run("show", 1).out


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
