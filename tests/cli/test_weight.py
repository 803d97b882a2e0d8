"""A monitor by amount: from `check` to what each reader is told of a closed round."""

import json
import re
from datetime import timedelta

import pytest

from monitor import history

BUDGET = ("max_labels: 40, bands: {flagged: 1, passed: 1}", "max_labels: 600")
WEIGHT = ("score: score,", "score: score, weight: amount,")
AMOUNT = "case when i % 200 < 20 then 900.0 when i % 5 = 0 then 40.0 else 10.0 end"
"""A tenth of the predictions holds most of the money, and of these the flagged are never right."""
POSITIVE = "case when i % 10 > 0 then i % 20 = 1 else i % 200 >= 20 end::int"


@pytest.fixture
def payments(bare):
    bare.predictions(
        rows=20_000, mail_id="'m' || i", is_travel=POSITIVE, amount=f"({AMOUNT})::double"
    )
    return bare


def by_amount(place):
    [(precision, recall)] = place.select_from(
        "select sum(amount) filter (score >= 0.5 and is_travel = 1) / sum(amount) filter (score >="
        " 0.5), sum(amount) filter (score >= 0.5 and is_travel = 1) / sum(amount) filter (is_travel"
        " = 1)"
    )
    return {"precision": precision, "recall": recall}


def test_metrics_are_of_amounts_and_every_reader_is_told(payments):
    truth = by_amount(payments)
    payments.config(budget=BUDGET, weight=WEIGHT)

    checked = payments.run("check")
    payments.run("run-once")
    page = payments.as_json("show", "1")
    payments.run("report", "1", "--out", "report.html")
    payments.run("report", "--period", f"{payments.slot:%Y}", "--out", "period.html")

    rows = {row["metric"]: row for row in page["estimates"] if row["basis"] == "round"}
    for metric, value in truth.items():
        assert rows[metric]["low"] < value < rows[metric]["high"]
    assert rows["precision"]["high"] < 0.9, "as which it counts by items"
    assert "an amount of" in checked.out
    for text in (
        json.dumps(page),
        payments.run("status").out,
        payments.description(),
        (payments.folder / "period.html").read_text(),
        (payments.folder / "report.html").read_text(),
    ):
        assert "counted by amount (source.columns.weight)" in text
    assert re.search(
        r"Units of the amount of predictions from .* UTC: [\d,]+, of them [\d,]+ flagged; 560 ",
        payments.description(),
    )
    assert "closed, by amount" in payments.run("rounds").out
    assert [row["by_amount"] for row in payments.as_json("rounds")["rounds"]] == [True]
    assert "rounds by amount (source.columns.weight): all" in repr(history())
    assert "units of the amount of flagged predictions are right" in text
    assert "passed, by amount (source.columns.weight)" in payments.run("plan").out


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"weight": ("score: score,", "score: score, weight: amuont,")}, "did you mean 'amount'"),
        ({"weight": ("score: score,", "score: score, weight: subject,")}, "wanted numbers"),
        ({"weight": ("score: score,", "score: score, weight: score,")}, "is the score column"),
        (
            {"weight": ("score: score,", "score: score, weight: amount, segments: [amount],")},
            "is the weight column; a segment",
        ),
        (
            {"weight": WEIGHT, "budget": (BUDGET[0], "max_labels: all")},
            "all counts items, and source.columns.weight",
        ),
        (
            {
                "weight": WEIGHT,
                "kept": ("threshold: 0.5", "threshold: 0.5\n      kept_with: 0.1"),
            },
            "cannot be combined with source.kept_with",
        ),
    ],
)
def test_wrong_settings_are_refused_by_name(payments, changes, reason):
    payments.config(**{"budget": BUDGET} | changes)

    checked = payments.run("check")

    assert reason in checked.out + checked.err


@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        ("case when i % 20 = 0 then -5 else 10 end", "amount negative"),
        ("case when i % 3 = 0 then 0 else 10 end", "amount 0, which count for nothing"),
        ("case when i % 20 = 0 then null else 10 end", "250 of 5000 rows cannot be used"),
        ("case when i % 20 = 0 then 'inf'::double else 10 end", "amount missing or not a number"),
        ("0", "can be sampled (5000 rows with the amount 0, which count for nothing)"),
        ("1e16", "give them in a larger unit"),
        ("case when i = 17000 then 1e7 else 10 end", "one item holds 9"),
    ],
)
def test_amounts_that_cannot_be_meant_are_told_by_check(bare, amount, reason):
    bare.predictions(rows=20_000, mail_id="'m' || i", amount=f"({amount})::double")
    bare.config(budget=BUDGET, weight=WEIGHT)

    checked = bare.run("check")

    assert reason in checked.out, checked.out


def test_amounts_in_another_unit_than_before_are_told_by_check_and_by_the_round(bare):
    amount = "case when i >= 14930 then 1000 else 10 end"
    bare.predictions(rows=20_000, mail_id="'m' || i", amount=f"({amount})::double")
    bare.config(budget=BUDGET, weight=WEIGHT)
    first, last = (f"{bare.slot - timedelta(days=n):%Y-%m-%dT%H:%M}" for n in (3, 1))
    bare.run("backfill", "--from", first, "--to", last)

    checked = bare.run("check")
    bare.run("run-once")

    for text in (checked.out, bare.run("status").out):
        assert (
            "prediction (source.columns.weight) is 1,000 on average; in the last 2 rounds" in text
        )
