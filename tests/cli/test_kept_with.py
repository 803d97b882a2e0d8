"""A log that keeps a sample of the predictions, from `check` to the recall of a closed round."""

import json
from datetime import timedelta

import pytest

FLAGGED = "(i % 10 = 0)"
POSITIVE = f"(case when {FLAGGED} then i % 50 > 0 else i % 20 = 1 end)::int"
BUDGET = ("max_labels: 40, bands: {flagged: 1, passed: 1}", "max_labels: 600")
RECALL = 0.64  # 4 of 5 flagged items are positive, and 1 of 20 passed ones: .08 of .125
BY_CLASS, BY_ROW = "{flagged: 1, passed: 0.25}", "likely"


def declared(value):
    return ("threshold: 0.5", f"threshold: 0.5\n      kept_with: {value}")


@pytest.fixture
def guardrail(bare):
    """A log of all flagged items and a quarter of the passed, drawn at random."""
    bare.predictions(
        "all.parquet",
        rows=20_000,
        mail_id="'m' || i",
        is_travel=POSITIVE,
        likely=f"case when {FLAGGED} then 1::double else 0.25 end",
        country="i % 3",
    )
    bare.select(
        "all.parquet", f"{FLAGGED.replace('i', 'mail_id[2:]::int')} or hash(mail_id) % 4 = 0"
    )
    return bare


def recall_of(place):
    page = place.as_json("show", "1")
    assert page["state"] == "closed"
    rows = [row for row in page["estimates"] if row["metric"] == "recall"]
    return page, {(row["estimand"], row["basis"]): row for row in rows}


def test_recall_is_far_off_if_nobody_says_that_the_log_is_a_sample_and_check_asks(guardrail):
    guardrail.config(budget=BUDGET)

    checked = guardrail.run("check")
    guardrail.run("run-once")
    _, rows = recall_of(guardrail)

    assert rows["window", "round"]["low"] > RECALL + 0.1
    for text in (checked.out, guardrail.run("status").out, guardrail.description()):
        assert "predictions are flagged (3" in text
        assert "give source.kept_with" in text


@pytest.mark.parametrize("value", [BY_CLASS, BY_ROW])
def test_recall_is_right_by_a_number_for_each_class_or_a_column(guardrail, value):
    guardrail.config(budget=BUDGET, kept=declared(value))

    checked = guardrail.run("check")
    guardrail.run("run-once")
    page, rows = recall_of(guardrail)

    assert "kept_with" not in checked.out
    for row in rows.values():
        assert row["point"] == pytest.approx(RECALL, abs=0.1)
    sizes = dict.fromkeys((True, False), 0)
    for one in page["strata"]:
        sizes[one["flagged"]] += one["size"]
    assert sizes[True] == 500
    assert sizes[False] == pytest.approx(4_500, rel=0.1)
    assert "rows of a log that keeps a sample" in json.dumps(page)
    assert "passed, estimated (source.kept_with)" in guardrail.run("plan").out


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("0", "kept_with"),
        ("{flagged: 1, passed: 1.5}", "less than or equal to 1"),
        ("{flagged: 1, pased: 0.1}", "did you mean passed?"),
        ("score", "'score' holds something else; name the column of probabilities"),
        ("subject", "'subject' is also in columns.show"),
        ("likly", "no column 'likly' (kept_with)"),
        ("country_name", "wanted numbers"),
        (
            f"{BY_CLASS}\n      released_with: 0.5",
            "cannot be combined with source.columns.released",
        ),
    ],
)
def test_wrong_settings_are_refused_by_name(guardrail, value, reason):
    guardrail.select("all.parquet", "true", extra="'x' as country_name")
    released = ("score: score,", "score: score, released: likely,")
    more = {"mark": released} if "released" in value else {}
    guardrail.config(budget=BUDGET, kept=declared(value), **more)

    checked = guardrail.run("check")

    assert "kept_with" in checked.out + checked.err
    assert reason in checked.out + checked.err


@pytest.mark.parametrize("chance", ["1e-9", "1.5", "null", "'nan'::double"])
def test_rows_without_a_usable_probability_are_bad_rows(guardrail, chance):
    guardrail.select("all.parquet", "true", extra=f"({chance})::double as share")
    guardrail.config(budget=BUDGET, kept=declared("share"))

    checked = guardrail.run("check")

    assert "PROBLEM" in checked.out
    assert "probability of being kept not from 0.000001 to 1" in checked.out


@pytest.mark.parametrize(("ratio", "asks"), [("0.1", True), ("1", False), ("much", False)])
def test_check_asks_where_a_tracing_library_keeps_a_sample(bare, monkeypatch, ratio, asks):
    monkeypatch.setenv("MLFLOW_TRACE_SAMPLING_RATIO", ratio)

    checked = bare.checked()

    assert ("give source.kept_with: 0.1" in checked.out) == asks


@pytest.mark.parametrize(("changes", "asks"), [({}, True), ({"kept": declared("1")}, False)])
def test_check_asks_where_passed_items_are_a_round_number_of_times_as_many(bare, changes, asks):
    checked = bare.checked(columns={"rows": 8_000}, **changes)

    assert ("exactly 9 for each of 200 flagged ones" in checked.out) == asks


def test_one_row_that_stands_for_much_of_a_class_is_told_by_check_and_by_the_round(guardrail):
    guardrail.select("all.parquet", "true", extra="if(mail_id = 'm17001', 1e-4, 1.0) as share")
    guardrail.config(budget=BUDGET, kept=declared("share"))

    checked = guardrail.run("check")
    guardrail.run("run-once")

    for text in (checked.out, guardrail.run("status").out):
        assert "one row stands for 69 % of the passed predictions (source.kept_with)" in text


@pytest.mark.parametrize("was_whole", [True, False])
def test_rounds_after_another_kept_with_are_compared_with_none_before_it(bare, was_whole):
    days = [bare.slot - timedelta(days=number) for number in range(6, -1, -1)]
    whole = f"scored_at < timestamptz '{days[3]}'" if was_whole else "false"
    bare.predictions("all.parquet", rows=16_000, days=8, mail_id="'m' || i")
    bare.select("all.parquet", f"{whole} or mail_id[2:]::int % 10 = 0 or hash(mail_id) % 20 = 0")
    for changes, slots in (({}, days[:4]), ({"kept": declared("{passed: 0.05}")}, days[4:])):
        bare.config(budget=BUDGET, **changes)
        for slot in slots:
            bare.run_at(slot, "run-once")

    rounds = [bare.as_json("show", number) for number in range(1, 8)]

    assert {page["state"] for page in rounds} == {"closed"}
    assert not any(page["concerns"] for page in rounds)


@pytest.mark.parametrize(("says", "state"), [("0.2", "closed"), ("1", "open")])
def test_rows_are_missing_only_where_the_column_has_no_smaller_share_of_the_log(bare, says, state):
    is_new = f"scored_at >= timestamptz '{bare.slot - timedelta(days=1)}'"
    bare.predictions("all.parquet", rows=16_000, days=8, mail_id="'m' || i")
    bare.select(
        "all.parquet",
        f"not {is_new} or mail_id[2:]::int % 5 = 0",
        extra=f"if({is_new}, {says}, 1)::double as likely",
    )
    bare.config(budget=BUDGET, kept=declared(BY_ROW))
    for days in (4, 3, 2, 1, 0):
        bare.run_at(bare.slot - timedelta(days=days), "run-once")

    page = bare.as_json("show", "5")

    assert page["state"] == state
    assert page["concerns"] == []
    assert ("are predictions missing?" in (page["reason"] or "")) == (state == "open")
