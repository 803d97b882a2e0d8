"""Labels that become known later than ``matures``: what `check` and a round say."""

import re
from datetime import datetime, timedelta

import pytest

COLUMN = (
    "{kind: column, path: truth.parquet, id: mail_id, value: is_travel, time: seen, "
    "matures: MATURES, missing_means: negative}"
)
DAYS = 40
WHOLE = ("max_labels: 40", "max_labels: all")
TELL = ("check", "status")
TRUTH = {"precision": 8 / 10, "recall": 8 / 13}


def labels_after(place, late_days, matures, *, from_day=0, later=0, **changes):
    """Write labels of which one in three is known after some days, the others after one.

    All labels of items before ``from_day`` are known after a day. They are read ``later`` than now.
    """
    start = (place.now - timedelta(days=DAYS)).isoformat()
    scored = f"timestamptz '{start}' + {DAYS * 86_400 / 4000} * i * interval 1 second"
    is_late = f"i % 3 = 0 and i >= {100 * from_day}"
    seen = f"{scored} + case when {is_late} then {late_days} else 1 end * interval 1 day"
    is_bad = "(i % 10 = 0 and i % 50 > 0) or i % 20 = 1"
    read_at = place.now + timedelta(days=later)
    known = f"({seen}) <= timestamptz '{read_at.isoformat()}'"
    place.predictions(rows=4000, days=DAYS)
    place.predictions(
        "truth.parquet",
        rows=4000,
        days=DAYS,
        is_travel=f"case when ({is_bad}) and {known} then 1 end",
        seen=seen,
    )
    place.config(COLUMN.replace("MATURES", matures), **changes)


def late(place):
    """Six rounds whose late labels are still to come."""
    labels_after(place, late_days=9, matures="4d", limits=WHOLE)
    place.backfill(days=6)


def test_check_and_the_round_say_that_labels_come_after_matures_and_what_is_long_enough(copied):
    place = copied(late)

    for said in (place.run(words).line("later than labeling.matures") for words in TELL):
        [(share, days)] = re.findall(r"(\d+) % of the positive .* labeling.matures to (\d+)d", said)
        assert 20 < int(share) < 47
        assert 8 <= int(days) <= 9


def test_labels_that_come_in_time_need_no_word(bare):
    labels_after(bare, late_days=3, matures="4d")

    checked = bare.run("check")
    bare.backfill(days=3)

    assert "labeling.matures" not in checked.out
    assert "labeling.matures" not in bare.run("status").out


@pytest.mark.parametrize(
    ("from_day", "late_days", "said"),
    [(0, 12, "in all of this time, .*labeling.matures to 1[12]d"), (18, 9, "since ")],
)
def test_the_sentence_says_since_when_labels_are_late(bare, from_day, late_days, said):
    labels_after(bare, late_days=late_days, matures="4d", from_day=from_day)

    line = bare.run("check").line("later than labeling.matures")

    begun = re.search(r"(in all of this time|since (\d{4}-\d\d-\d\d))", line)
    assert begun is not None
    assert re.search(said, line)
    if from_day:
        first = bare.now - timedelta(days=DAYS - from_day)
        assert abs(datetime.fromisoformat(begun[2] + "T12:00Z") - first) < timedelta(days=5)


def own_rows(page):
    """The estimates of precision and recall from a round alone."""
    return {
        row["metric"]: row
        for row in page["estimates"]
        if (row["basis"], row["estimand"]) == ("round", "window") and row["metric"] in TRUTH
    }


def test_a_closed_round_allows_for_labels_that_are_still_to_come_until_they_are_there(copied):
    place = copied(late)
    number = place.as_json("status")["monitors"][0]["last_round"]

    early = place.as_json("show", number)
    status = " ".join(place.run("status").out.split())

    for metric, row in own_rows(early).items():
        assert row["low"] < TRUTH[metric] < row["high"]
        assert row["high"] - row["low"] > 0.02
    refused = place.run("threshold", "--precision", "0.5")
    assert (refused.code, "are still to come; take an earlier round" in refused.err) == (65, True)
    pooled = [row["reason"] for row in early["estimates"] if row["basis"] == "pooled"]
    assert all("labeling.matures is too short" in reason for reason in pooled)
    assert "provisional, 6" in status


def test_labels_still_to_come_are_no_change_and_an_alert_has_numbers_of_the_round_alone(bare):
    limit = ("    labeling:", "    limits: {precision: 0.99}\n    labeling:")
    labels_after(bare, late_days=9, matures="4d", limits=WHOLE, alert=limit)

    bare.backfill(days=8)
    [monitor] = bare.as_json("status")["monitors"]
    last = bare.as_json("show", monitor["last_round"])

    assert (last["round"] > 1, last["cause"]) == (True, None)
    said = bare.run("status").line("mail: precision is under its limit 0.99")
    assert re.search(r"limit 0.99: 0.\d\d \(95 % interval .*\) in this round\. Fired ", said)
    bare.run("report", "--out", "last.html")
    page = (bare.folder / "last.html").read_text()
    assert re.search(r"Precision is 0.\d\d .* in this round alone, below its limit 0.99: ", page)
    assert page.count('<p class="faint">this round alone</p>') == len(TRUTH)


@pytest.mark.parametrize("comes", [True, False])
def test_a_round_is_final_once_its_labels_are_there_though_the_last_never_came(copied, comes):
    place = copied(late)
    number = place.as_json("status")["monitors"][0]["last_round"]
    counted = place.as_json("show", number)["strata"]
    if comes:
        labels_after(place, late_days=9, matures="4d", later=20, limits=WHOLE)

    place.run_at(place.now + timedelta(days=20), "run-once")
    final = place.as_json("show", number)

    assert not [row for row in final["notices"] if row["kind"] == "provisional"]
    assert (final["strata"] == counted) is not comes
    for row in own_rows(final).values():
        assert row["low"] == row["point"] == row["high"]
    place.run_at(place.now + timedelta(days=21), "run-once")
    assert place.as_json("show", number)["version"] == final["version"] > 1
