"""Where few labels decide a number, the commands say so beside it."""

import json

MATRIX = ["--tp", "90", "--fp", "10", "--fn", "2", "--tn", "898"]
SIZES = ["--flagged-size", "1000", "--passed-size", "99000"]
SAID = "few labels decide this, about 2 positive among the passed"


def test_estimate_says_once_which_metrics_few_labels_decide(bare):
    lines = bare.run("estimate", *MATRIX, *SIZES).lines

    assert [line for line in lines if "few labels" in line] == [
        f"recall, f1, npv, prevalence: {SAID}"
    ]


def test_estimate_says_it_of_each_metric_as_json(bare):
    found = json.loads(bare.run("estimate", *MATRIX, *SIZES, "--json").out)["estimates"]

    told = {row["metric"]: row["caution"] for row in found if row["estimand"] == "rate"}
    assert told["recall"] == SAID
    assert told["precision"] is None


def test_show_says_it_of_a_round_and_so_does_its_report(closed):
    lines = closed.run("show", 1).lines  # 40 labels: a handful of the passed are positive
    page = json.loads(closed.run("show", 1, "--json").out)

    caution = page["cautions"]["recall"]
    assert caution.startswith("few labels decide this, about ")
    assert caution.endswith(" positive among the passed")
    assert [line for line in lines if line.startswith("recall") and line.endswith(caution)]
