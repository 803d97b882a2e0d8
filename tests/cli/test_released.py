"""A model that prevents outcomes, from its predictions to the precision of a closed round."""

import json

import pytest

from tests.cli.workplace import COLUMN

NEGATIVE = COLUMN.replace(
    "matures: 1s", "matures: 1s, missing_means: negative, passed_without_rows: accept"
)
MARK = ("score: score,", "score: score, released: let_through,")
FLAGGED = "(i % 10 = 0)"
LIKELY = "case when i % 20 = 0 then 0.5::double else 0.25 end"  # of even flagged items, of odd ones
LET_THROUGH = f"case when {FLAGGED} then (hash(i) % 100 < 100 * ({LIKELY}))::int end"
POSITIVE = "i % 20 = 0 or (i % 10 = 0 and i % 50 = 10)"  # .6 of all flagged items
TRUTH = f"case when not {FLAGGED} then i % 20 = 1 when ({LET_THROUGH}) = 1 then {POSITIVE} end::int"
BUDGET = ("max_labels: 40", "max_labels: 2000")


def declared(probability):
    return ("threshold: 0.5", f"threshold: 0.5\n      released_with: {probability}")


@pytest.fixture
def blocker(bare):
    """Predictions of which the truth is there for passed items and for released ones."""
    bare.predictions(
        rows=40_000,
        mail_id="'m' || i",
        let_through=LET_THROUGH,
        likely=LIKELY,
        is_travel=TRUTH,
        country="i % 3",
    )
    return bare


def precision_of(place):
    page = place.as_json("show", "1")
    assert page["state"] == "closed"
    [row] = [
        row
        for row in page["estimates"]
        if (row["metric"], row["estimand"], row["basis"]) == ("precision", "window", "round")
    ]
    return page, row


def test_precision_of_a_blocker_is_right_where_missing_outcomes_as_negatives_are_far_off(blocker):
    blocker.config(NEGATIVE, mark=MARK, probability=declared("likely"), budget=BUDGET)
    checked = blocker.run("check")
    blocker.run("run-once")
    page, row = precision_of(blocker)
    blocker.config(NEGATIVE, budget=BUDGET)
    text = (blocker.folder / "config.yaml").read_text()
    blocker.write(
        "naive.yaml", text.replace("name: mail", "name: naive").replace("monitor.db", "naive.db")
    )
    blocker.run("run-once", "--config", "naive.yaml")
    shown = blocker.as_json("show", "1", "-m", "naive", "--config", "naive.yaml")
    naive = next(each for each in shown["estimates"] if each["metric"] == "precision")

    assert "let through, where" not in checked.out
    assert row["low"] < 0.6 < row["high"]
    assert row["high"] - row["low"] < 0.2
    assert naive["high"] < 0.4
    assert "flagged items were let through" in json.dumps(page)


def test_the_same_round_is_drawn_where_predictions_are_in_a_database(blocker):
    blocker.stored_predictions()
    database = (
        "path: predictions.parquet\n",
        "kind: sql\n      url: sqlite:///p.sqlite\n      table: scored\n",
    )
    blocker.config(
        NEGATIVE, mark=MARK, probability=declared("likely"), budget=BUDGET, database=database
    )

    blocker.run("run-once")
    _, row = precision_of(blocker)

    assert row["low"] < 0.6 < row["high"]
    drawn = {item for [item] in blocker.query("select id from items where predicted")}
    released = blocker.query("select mail_id from scored where let_through = 1", store="p.sqlite")
    assert drawn <= {item for [item] in released}


def test_a_column_counts_passed_items_whole_and_answers_only_for_released_flagged_ones(blocker):
    parts = f"{{flagged: {NEGATIVE}, passed: {NEGATIVE}}}"
    blocker.config(parts, mark=MARK, probability=declared("likely"), budget=BUDGET)

    blocker.run("run-once")
    page, row = precision_of(blocker)

    assert row["low"] < 0.6 < row["high"]
    planned = {one["flagged"]: one["planned"] == one["size"] for one in page["strata"]}
    assert planned == {True: False, False: True}
    assert blocker.query("select distinct predicted from items") == [(1,)]


def test_a_share_that_contradicts_the_probability_is_a_concern_of_check_and_of_the_round(blocker):
    blocker.config(NEGATIVE, mark=MARK, probability=declared(0.01))

    checked, _ = blocker.run("check"), blocker.run("run-once")

    for text in (checked.out, blocker.run("status").out):
        assert "flagged items were let through, where source.released_with says 1" in text


def test_too_few_released_items_say_so(bare):
    few = {"let_through": f"case when {FLAGGED} then (i % 40 = 0)::int end"}

    checked = bare.checked(NEGATIVE, columns=few, mark=MARK, probability=declared(0.25))

    assert "of 20 flagged items 5 were let through" in checked.out


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"let_through": f"case when {FLAGGED} then 'maybe' end"}, "released neither 1 nor 0"),
        ({"likely": "case when i % 20 = 0 then 1.5 else 0.5 end"}, "not in (0, 1]"),
    ],
)
def test_flagged_rows_whose_release_cannot_be_read_are_bad_rows_by_name(bare, columns, reason):
    columns = {"let_through": LET_THROUGH, "likely": LIKELY} | columns

    checked = bare.checked(NEGATIVE, columns=columns, mark=MARK, probability=declared("likely"))

    assert "PROBLEM" in checked.out
    assert reason in checked.out
