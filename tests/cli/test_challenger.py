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
    assert shown.line("each interval is valid for a single look")
    assert page["pooled"]["rounds"] == 2
    assert [row["metric"] for row in page["alone"]["metrics"]] == ["precision", "recall", "f1"]


REFUSED, FOUND = "PROBLEM  source of mail: in the newest window", "ok       source of mail"
V8 = "{score: v8, threshold: 0.7}"


@pytest.mark.parametrize(
    ("setting", "column", "line", "said"),
    [
        ("{score: v9, threshold: 0.5}", "1", REFUSED, "has no column 'v9' (challenger.score)"),
        ("{predicted: v8}", "null", REFUSED, "it made no decision on 200 of 200 items"),
        (V8, "100 * score", FOUND, "the classifier's lie between 0"),
        (V8, "case when i % 200 > 0 then score end", FOUND, "made no decision on 1 items (0.5 %)"),
    ],
)
def test_check_refuses_what_cannot_be_compared_and_tells_the_rest(
    bare, setting, column, line, said
):
    with_challenger(bare, setting, v8=column)

    checked = bare.run("check")

    assert said in checked.line(line)
    assert (checked.code == 65) == (line == REFUSED)
