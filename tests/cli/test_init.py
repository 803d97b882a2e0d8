"""What `init` answers about a file of predictions before anybody labels."""

import shlex

import pytest
import yaml

import monitor
from tests.cli.workplace import Workplace

USUAL = "(case when i % 10 = 0 then i % 50 > 0 else i % 20 = 1 end)::int"


def answer(place: Workplace, *words, name="predictions.parquet"):
    """What `init` says of the only monitor, for programs."""
    [said] = place.as_json("init", name, *words)["answers"]
    return said


def plan_of(said, place):
    """What the named command prints, for programs."""
    return place.as_json(*shlex.split(said["costs"]["command"])[1:])


def test_the_labels_needed_are_those_of_plan(bare):
    bare.predictions(rows=4000, days=10)

    said = answer(bare)

    plan = plan_of(said, bare)
    needed = {each["margins"]["recall"]: each["labels"] for each in plan["labels_for_margins"]}
    costs = said["costs"]
    assert [each["labels"] for each in costs["needed"]] == [needed[0.1], needed[0.05]]
    assert costs["plausible"] == plan["plausible"]["needed"]
    expected = {name: costs["expected"][name] for name in ("precision", "recall")}
    assert expected == {name: plan["expected"][name] for name in expected}
    assert costs["needed"][1]["seconds"] == 5 * needed[0.05]
    assert costs["needed"][1]["with_flagged_labeled"] < needed[0.05]


def test_without_scores_rates_are_assumed_and_the_plan_of_these_is_the_same(bare):
    bare.predictions(rows=4000, days=10, score="'x'", predicted="(i % 10 = 0)::int")

    said = answer(bare)

    plan = plan_of(said, bare)
    needed = [each["labels"] for each in plan["labels_for_margins"]]
    assert said["costs"]["basis"] == "nothing"
    assert [each["labels"] for each in said["costs"]["needed"]] == needed[:2]
    assert "this assumes precision 0.8, recall 0.6" in again(bare).out


def again(place, *words, name="predictions.parquet"):
    """The same for people."""
    (place.folder / "config.yaml").unlink(missing_ok=True)
    return place.run("init", name, *words)


@pytest.mark.usefixtures("uncosted")
def test_labels_in_a_column_give_an_estimate_with_a_warning_where_only_some_items_have_one(bare):
    bare.predictions(rows=4000, is_travel=f"case when i % 11 < 4 then {USUAL} end")

    said = answer(bare)
    shown = again(bare).out

    labeled = [i for i in range(4000) if i % 11 < 4]
    tp = sum(i % 10 == 0 and i % 50 > 0 for i in labeled)
    fn = sum(i % 20 == 1 for i in labeled)
    fp = sum(i % 10 == 0 for i in labeled) - tp
    sizes = {"flagged_size": 400, "passed_size": 3600}
    same = monitor.estimate(tp=tp, fp=fp, fn=fn, tn=len(labeled) - tp - fp - fn, **sizes)
    labels = said["labels"]
    assert (labels["flagged"]["positive"], labels["passed"]["positive"]) == (tp, fn)
    assert labels["result"] == same.to_dict()
    assert [warning.split(",")[0] for warning in labels["warnings"]] == [
        "each label counts as drawn at random from the flagged or from the passed items. Labels "
        "that were picked in another way"
    ]
    assert "WARNING: each label counts as drawn at random" in shown
    assert "--label is_travel, the config takes them from this column" in " ".join(shown.split())


@pytest.mark.usefixtures("uncosted")
def test_labels_that_were_picked_by_their_score_are_called_so(bare):
    bare.predictions(rows=4000, is_travel=f"case when i % 90 > 60 then {USUAL} end")

    warnings = answer(bare)["labels"]["warnings"]

    assert warnings[-1].startswith("the passed items with a label have other scores than")
    assert warnings[-1].endswith("so they were not drawn at random")


@pytest.mark.usefixtures("uncosted")
def test_rows_that_cannot_be_used_are_counted_by_reason(bare):
    bare.predictions(rows=400, score="case when i % 4 > 0 then i / 500 end")

    said = answer(bare)

    assert said["omitted"] == {"score missing": 100}
    assert "score missing" in said["problem"]


@pytest.mark.usefixtures("uncosted")
def test_a_folder_is_read_as_the_files_in_it_which_are_of_one_kind(bare):
    (bare.folder / "days" / "may").mkdir(parents=True)
    bare.predictions("days/may/a.parquet", rows=300)
    bare.predictions("days/may/b.parquet", rows=200, mail_id="'n' || i")

    said = answer(bare, name="days")
    bare.predictions("days/may/c.csv")
    refused = again(bare, name="days")

    assert said["rows"] == 500
    assert said["labels"]["warnings"] == [], "all items have one"
    assert (refused.code, "days holds files of several kinds" in refused.err) == (65, True)


ALONE = "case when i % 10 = 0 then i % 200 > 0 end"
RULE = "is this the rule in use (--threshold)?"


@pytest.mark.parametrize(
    ("columns", "words", "said"),
    [
        ({"is_travel": ALONE}, (), "(few labels decide this, about 2 negative among the flagged)"),
        ({"is_travel": ALONE}, (), "not estimable: none of the 360 passed items is labeled"),
        ({"is_travel": "'spam'"}, ("--label", "is_travel"), "'is_travel' (--label) holds 'spam'"),
        ({}, ("--threshold", 2), f"No item is flagged: {RULE}"),
        ({}, ("--threshold", -1), f"No item is passed: {RULE}"),
        ({"rows": 1, "days": 0.001}, (), "\n1 prediction from "),
        (
            {"llm_verdict": "case when i % 3 > 0 then 'yes' else 'no' end"},
            (),
            "Column 'llm_verdict' may hold such verdicts",
        ),
    ],
)
def test_odd_labels_and_classes_and_what_would_save_labels_are_said(bare, columns, words, said):
    bare.predictions(**{"rows": 400} | columns)

    ended = bare.run("init", "predictions.parquet", *words)

    assert ended.code == 0
    assert said in ended.out


@pytest.mark.usefixtures("uncosted")
def test_several_monitors_are_answered_in_a_table(bare):
    bare.predictions(rows=4000, kind="['a', 'b', 'c'][1 + i % 3]", score="'x'")

    shown = bare.run("init", "predictions.parquet", "--classes", "kind").out

    table = [line.split()[:3] for line in shown.splitlines() if line.startswith("predictions-")]
    sizes = {"a": ["1,334", "2,666"], "b": ["1,333", "2,667"], "c": ["1,333", "2,667"]}
    assert table == [[f"predictions-{name}", *size] for name, size in sizes.items()]


@pytest.mark.usefixtures("uncosted")
@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("Y", "N")])
def test_the_config_names_the_words_for_yes_and_no_of_a_column_of_labels(bare, yes, no):
    bare.predictions(rows=2000, checked=f"case when i % 10 = 0 then '{yes}' else '{no}' end")

    bare.run("init", "predictions.parquet", "--label", "checked")

    written = yaml.safe_load((bare.folder / "config.yaml").read_text())["monitors"][0]["labeling"]
    assert (written["positive"], written["negative"]) == ([yes], [no])
    assert "PROBLEM  labels" not in bare.run("check").out
