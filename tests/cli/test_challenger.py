"""A challenger from the config to the page of a round; what `check` says of one."""

import pytest

THRESHOLD = "threshold: 0.5"


def with_challenger(place, setting, **columns):
    place.predictions(**columns)
    place.config(challenger=(THRESHOLD, f"{THRESHOLD}\n      challenger: {setting}"))


def test_show_has_the_round_and_all_rounds_together(bare):
    with_challenger(bare, "{name: v8, score: v8, threshold: 0.7}", v8="1 - score")
    bare.backfill(days=2)

    shown = bare.run("show", 2)
    page = bare.as_json("show", 2)["challenger"]

    assert shown.line("  this round, 40 labels")
    assert shown.line("  2 rounds together, 80 labels")
    assert shown.line("each interval holds for one look")
    assert page["pooled"]["rounds"] == 2
    assert [row["metric"] for row in page["alone"]["metrics"]] == ["precision", "recall", "f1"]


@pytest.mark.parametrize(
    ("setting", "columns", "said"),
    [
        ("{score: v9, threshold: 0.5}", {}, "has no column 'v9' (challenger.score)"),
        ("{predicted: v8}", {"v8": "null"}, "it made no decision on 200 of 200 items"),
    ],
)
def test_check_refuses_what_can_never_be_compared(bare, setting, columns, said):
    with_challenger(bare, setting, **columns)

    checked = bare.run("check")

    assert checked.code == 65
    assert said in checked.line("PROBLEM  source of mail: in the newest window")


@pytest.mark.parametrize(
    ("setting", "columns", "said"),
    [
        ("{score: v8, threshold: 0.7}", {"v8": "100 * score"}, "the classifier's lie between 0"),
        (
            "{score: v8, threshold: 0.7}",
            {"v8": "case when i % 200 > 0 then score end"},
            "made no decision on 1 items (0.5 %)",
        ),
    ],
)
def test_check_tells_what_may_be_meant(bare, setting, columns, said):
    with_challenger(bare, setting, **columns)

    checked = bare.run("check")

    assert said in checked.line("ok       source of mail")
