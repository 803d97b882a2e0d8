"""A judge from the config to the page of a round; what `check` and `plan` say of one."""

import json
from datetime import timedelta

import pytest

SCHEDULE = "    schedule:"


def with_judge(place, judge, show=None, **columns):
    place.predictions(**columns)
    changes = {"judge": (SCHEDULE, f"    judge: {judge}\n{SCHEDULE}")}
    place.config(**changes, **({} if show is None else {"show": show}))


def line_of(done, start):
    [line] = [line for line in done.lines if start in line]
    return line


VERDICT = "case when score > 0.4 then 'yes' when score > 0.05 then 'no' end"


def test_show_has_the_judge_of_a_round_and_check_its_verdicts(bare):
    with_judge(bare, '{column: verdict, positive: "yes", version: prompt 1}', verdict=VERDICT)

    checked = bare.run("check")
    start = bare.slot - timedelta(days=2)
    bare.run("backfill", "--from", f"{start:%Y-%m-%dT%H:%M}")
    shown = bare.run("show", 2)
    page = json.loads(bare.run("show", 2, "--json").out)["judge"]
    planned = json.loads(bare.run("plan", "--json").out)["strata"]

    assert "the judge says yes to " in line_of(checked, "ok       source of mail")
    assert line_of(shown, "Judge: verdict = yes (prompt 1)")
    assert line_of(shown, "says yes to positives")
    assert line_of(shown, "the estimates rest on people's labels")
    assert page["pooled"]["rounds"] == 2
    assert page["missing"] > 0
    assert all(row["size"] for row in planned)  # nothing flagged is without a verdict


def test_check_refuses_a_judge_without_any_verdict(bare):
    with_judge(bare, '{column: verdikt, positive: "yes"}', verdict=VERDICT)

    checked = bare.run("check")

    assert checked.code == 65
    assert "has no column 'verdikt' (judge.column)" in line_of(checked, "PROBLEM  source of mail")


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("{column: verdict}", "wanted either positive or threshold"),
        ("{column: score, threshold: 0.5}", "'score' is the score column"),
        ("{column: subject, positive: spam}", "label what the judge said"),
        ("{column: is_travel, positive: 1}", "is labeling.value, the truth"),
    ],
)
def test_a_judge_that_can_be_none_is_refused_where_it_stands(bare, judge, said):
    with_judge(bare, judge)

    refused = bare.run("check")

    assert refused.code == 78
    assert said in refused.err
    assert "monitors[mail].judge" in refused.err


def test_plan_tells_what_an_assumed_judge_would_save(bare):
    values = ("--precision", 0.79, "--recall", 0.67, "--flagged-rate", 0.044)

    plain = json.loads(bare.run("plan", *values, "--json").out)
    rates = ("--judge-tpr", 0.8, "--judge-fpr", 0.02)
    told = bare.run("plan", *values, *rates)
    page = json.loads(bare.run("plan", *values, *rates, "--json").out)
    useless = json.loads(
        bare.run("plan", *values, "--judge-tpr", 0.3, "--judge-fpr", 0.3, "--json").out
    )
    half = bare.run("plan", *values, "--judge-tpr", 0.8)

    assert plain["judged"] is None
    assert page["labels"] == plain["labels"]
    assert 0.3 < page["judged"]["labels"] / page["labels"] < 0.45
    assert 0.95 < useless["judged"]["labels"] / useless["labels"] < 1.05
    assert f"{page['judged']['labels']:,} labels give" in " ".join(told.lines)
    assert (half.code, "go together" in half.err) == (65, True)
