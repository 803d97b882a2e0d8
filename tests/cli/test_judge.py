"""A judge from the config to the page of a round; what `check` and `plan` say of one."""

import pytest

SCHEDULE = "    schedule:"


def with_judge(place, judge, **columns):
    place.predictions(**columns)
    place.config(judge=(SCHEDULE, f"    judge: {judge}\n{SCHEDULE}"))


ASSUMED = ("--precision", 0.79, "--recall", 0.67, "--flagged-rate", 0.044)
VERDICT = "case when score > 0.4 then 'yes' when score > 0.05 then 'no' end"


def test_show_has_the_judge_of_a_round_and_check_its_verdicts(bare):
    with_judge(bare, '{column: verdict, positive: "yes", version: prompt 1}', verdict=VERDICT)

    checked = bare.run("check")
    bare.backfill(days=2)
    shown = bare.run("show", 2)
    page = bare.as_json("show", 2)["judge"]
    planned = bare.as_json("plan")["strata"]

    assert "the judge says yes to " in checked.line("ok       source of mail")
    assert shown.line("Judge: verdict = yes (prompt 1)")
    assert shown.line("says yes to positives")
    assert shown.line("the estimates rest on people's labels")
    assert page["pooled"]["rounds"] == 2
    assert page["missing"] > 0
    assert all(row["size"] for row in planned)  # nothing flagged is without a verdict


def test_check_refuses_a_judge_whose_column_is_missing(bare):
    with_judge(bare, '{column: verdikt, positive: "yes"}', verdict=VERDICT)

    checked = bare.run("check")

    assert checked.code == 65
    assert "has no column 'verdikt' (judge.column)" in checked.line("PROBLEM  source of mail")


def test_plan_tells_what_an_assumed_judge_would_save(bare):
    plain = bare.as_json("plan", *ASSUMED)
    rates = ("--judge-tpr", 0.8, "--judge-fpr", 0.02)
    told = bare.run("plan", *ASSUMED, *rates)
    page = bare.as_json("plan", *ASSUMED, *rates)
    useless = bare.as_json("plan", *ASSUMED, "--judge-tpr", 0.3, "--judge-fpr", 0.3)
    half = bare.run("plan", *ASSUMED, "--judge-tpr", 0.8)

    assert plain["judged"] is None
    assert page["labels"] == plain["labels"]
    assert 0.3 < page["judged"]["labels"] / page["labels"] < 0.45
    assert 0.95 < useless["judged"]["labels"] / useless["labels"] < 1.05
    assert f"{page['judged']['labels']:,} labels give" in " ".join(told.lines)
    assert (half.code, "go together" in half.err) == (65, True)


def pilot(rows):
    return "verdict,label,predicted\n" + "".join(
        f"{verdict},{label},{predicted}\n" * count for verdict, label, predicted, count in rows
    )


def test_plan_reads_the_rates_of_a_judge_from_a_pilot_by_predicted_class(bare):
    (bare.folder / "pilot.csv").write_text(
        pilot(
            [
                *[("yes", 1, 1, 95), ("no", 1, 1, 5), ("yes", 1, 0, 20), ("no", 1, 0, 20)],
                *[("yes", 0, 1, 12), ("no", 0, 1, 8), ("yes", 0, 0, 4), ("no", 0, 0, 396)],
            ]
        )
    )

    told = bare.run("plan", *ASSUMED, "--judge-pilot", "pilot.csv")
    page = bare.as_json("plan", *ASSUMED, "--judge-pilot", "pilot.csv")
    same = bare.as_json("plan", *ASSUMED, "--judge-tpr", 0.8, "--judge-fpr", 0.02)

    assert page["judged"]["tpr"] == pytest.approx({"flagged": 95.5 / 101, "passed": 20.5 / 41})
    assert page["judged"]["fpr"]["flagged"] == pytest.approx(12.5 / 21)
    assert same["judged"]["labels"] < page["judged"]["labels"] < page["labels"]
    text = " ".join(told.lines)
    assert "94.6 % of the flagged positives, 50 % of the missed ones" in text
    assert "a pilot of 560 items, 140 of them positive" in text


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "verdict,truth\nyes,1\nno,0\n",
            (),
            "the pilot names the column 'label', but the data has",
        ),
        ("", (), "the pilot pilot.csv cannot be read as CSV or Parquet"),
        ("verdict,label\nyes,1\nno,0\n", ("--judge-tpr", 0.8, "--judge-fpr", 0.1), "leave out"),
    ],
    ids=["no label", "empty", "rates too"],
)
def test_a_pilot_that_cannot_be_used_is_refused_with_the_reason(bare, text, options, said):
    (bare.folder / "pilot.csv").write_text(text)

    refused = bare.run("plan", *ASSUMED, *options, "--judge-pilot", "pilot.csv")

    assert refused.code == 65
    assert said in " ".join(refused.err.split())


def test_values_that_probably_are_no_verdict_of_no_need_a_look(bare):
    odd = "case when score > 0.4 then 'Yes' when score > 0.05 then 'no' else 'I am sorry' end"
    with_judge(bare, '{column: verdict, positive: "yes", negative: "no"}', verdict=odd)
    listed = [line for line in bare.run("check").lines if line.startswith("LOOK")]
    with_judge(bare, '{column: verdict, positive: "yes"}', verdict=odd)

    unlisted = [line for line in bare.run("check").lines if line.startswith("LOOK")]
    bare.backfill(days=1)
    status = bare.run("status")

    assert any("'Yes' (" in line and "counts as no verdict" in line for line in listed)
    assert any("'I am sorry' (" in line and "are not verdicts" in line for line in listed)
    assert any("'I am sorry' (" in line and "which count as no;" in line for line in unlisted)
    assert "'Yes' (" in status.line("and so counts as no;")
