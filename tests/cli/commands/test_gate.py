"""`pr-monitor gate` on files and on rounds: exit codes, and what it refuses."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from tests.evaluation.sets import cells
from tests.pages import blocks, page

LABELS = cells(138, 22, 108, 4732)
SIZES = ("--flagged-size", 1600, "--passed-size", 48400)
BY_CLASS = ("labels.csv", "--predicted", "predicted", *SIZES)


@pytest.fixture
def labeled(bare):
    """A folder with a labeled file, and another classifier for the same items."""
    frame = LABELS.assign(id=[f"{item:05}" for item in range(len(LABELS))])
    frame.to_csv(bare.folder / "labels.csv", index=False)
    other = frame["predicted"].where(frame.index % 4 > 0, 0)  # it finds a quarter less
    pd.DataFrame({"id": frame["id"], "predicted": other}).to_parquet(bare.folder / "other.parquet")
    frame[["id", "predicted"]].to_csv(bare.folder / "same.csv", index=False)
    return bare


@pytest.mark.parametrize(
    ("limits", "code", "begins"),
    [
        (("precision=0.8", "recall=0.5"), 0, "KEPT: precision is at least 0.8: 0.863 [0."),
        (("precision=0.8", "recall=0.7"), 3, "BROKEN: precision is at least 0.8: 0.863 [0."),
        (("recall=0.55",), 4, "UNDECIDED: recall may be over or under 0.55: 0.561 [0."),
    ],
)
def test_the_exit_code_and_one_line_say_what_the_labels_show(labeled, limits, code, begins):
    words = [word for limit in limits for word in ("--at-least", limit)]

    ended = labeled.run("gate", *BY_CLASS, *words)

    assert ended.code == code
    [line] = ended.lines
    assert line.startswith(begins)
    assert line.endswith("drawn by predicted class from 50,000 items, in 2 strata)")


def test_amounts_decide_otherwise_than_numbers_of_items_and_the_line_says_so(labeled):
    frame = pd.read_csv(labeled.folder / "labels.csv")
    missed = (frame["label"] == 1) & (frame["predicted"] == 0)
    frame.assign(amount=np.where(missed, 100, 10)).to_csv(labeled.folder / "paid.csv", index=False)
    words = ("paid.csv", "--predicted", "predicted", *SIZES, "--at-least", "recall=0.5")

    by_item = labeled.run("gate", *words)
    by_amount = labeled.run("gate", *words, "--amount", "amount")
    compared = labeled.run(
        "gate", *words, "--amount", "amount", "--not-worse-than", "other.parquet"
    )

    assert (by_item.code, by_amount.code) == (0, 3)
    assert "labels of 50,000 items, by amount and not by number of items" in by_amount.out
    assert "--not-worse-than compares items" in compared.err


def test_the_page_shows_what_its_command_prints(labeled):
    [command, _], [printed] = (blocks(page("how-to/gate"), kind) for kind in ("sh", "text"))

    ended = labeled.run(*shlex.split(command)[1:])

    assert ended.out.strip() == printed.strip()


def test_a_set_with_chosen_proportions_does_not_pass_as_a_plain_random_sample(labeled):
    cells(180, 20, 3, 297).to_csv(labeled.folder / "chosen.csv", index=False)
    words = ("gate", "chosen.csv", "--predicted", "predicted", "--at-least", "recall=0.9")

    doubtful = labeled.run(*words, "--random")
    contradicted = labeled.run(*words, "--flagged-rate", 0.03)
    sure = labeled.run(*words, "--flagged-rate", 0.4)

    assert (doubtful.code, contradicted.code, sure.code) == (4, 4, 0)
    assert doubtful.out.startswith("UNDECIDED: recall is at least 0.9: 0.98")
    assert "200 flagged and 300 passed items are labeled: round numbers" in doubtful.out
    assert "but 3 % of all: they are not a plain random sample" in contradicted.out


def told(place, *words, code=0):
    ended = place.run("gate", *words, "--json")
    assert ended.code == code, ended.err
    return json.loads(ended.out)


def test_an_item_that_is_there_twice_is_refused(labeled):
    frame = pd.read_csv(labeled.folder / "labels.csv", dtype={"id": str})
    pd.concat([frame, frame[:3]]).to_csv(labeled.folder / "labels.csv", index=False)

    ended = labeled.run("gate", *BY_CLASS, "--at-least", "recall=0.5")

    assert ended.code == 65
    assert "3 of 5,003 rows repeat a value of column 'id', such as '00000'" in ended.err


def test_rows_without_a_label_are_counted_as_the_population_which_may_be_too_small(labeled):
    frame = LABELS.assign(label=LABELS["label"].where(np.arange(len(LABELS)) % 3 > 0))
    frame.to_csv(labeled.folder / "all.csv", index=False)

    ended = labeled.run(
        "gate", "all.csv", "--predicted", "predicted", "--at-least", "precision=0.86"
    )

    assert ended.code == 4
    assert "3,333 labels drawn by predicted class from 5,000 items" in ended.out
    assert "but only 1,667 items have none: this population cannot decide" in ended.out


def test_ids_stay_as_they_are_written_and_a_worse_classifier_is_told(labeled):
    worse = told(labeled, *BY_CLASS, "--not-worse-than", "other.parquet", code=4)
    frame = pd.read_parquet(labeled.folder / "other.parquet")
    frame.merge(LABELS.assign(id=frame["id"])[["id", "label"]]).to_csv("other.csv", index=False)
    words = ("other.csv", "--predicted", "predicted", *SIZES, "--not-worse-than")
    better = told(labeled, *words, "labels.csv", code=3)

    assert [check["verdict"] for check in worse["checks"]][1] == "kept"
    assert [check["verdict"] for check in better["checks"]][1] == "broken"
    assert better["checks"][1]["interval"]["high"] < 0


def test_a_closed_round_is_decided_by_its_own_labels(closed):
    show = closed.as_json("show", 1)
    [row] = [
        row
        for row in show["estimates"]
        if (row["metric"], row["basis"], row["estimand"]) == ("precision", "round", "window")
    ]

    found = told(closed, "--round", 1, "--at-least", "precision=0.2")

    assert found["checks"][0]["interval"]["low"] == row["low"]
    assert found["labeled"] == sum(each["labeled"] for each in show["strata"])
    assert found["verdict"] == "kept"


def test_another_classifier_is_compared_on_the_labels_of_a_round(closed):
    words = ("--id", "mail_id", "--score", "score", "--threshold", 0.55)

    found = told(closed, "--round", 1, "--not-worse-than", "predictions.parquet", *words, code=4)

    same = closed.as_json("compare", 1, "--threshold", 0.55)
    by_metric = {each["metric"]: each["difference"] for each in same["metrics"]}
    interval = found["checks"][1]["interval"]
    assert interval["point"] == pytest.approx(-by_metric["recall"]["point"], abs=0.02)


SAMPLE = "labels.csv --predicted predicted --flagged-size 1600 --passed-size 48400"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (SAMPLE, 65, "nothing is required; give --at-least precision=0.80 or --not-worse-than"),
        ("--at-least recall=0.5", 65, "name a labeled file, or a closed round by --round"),
        (f"{SAMPLE} --at-least recal=0.5", 2, "'recal' is not a metric; use one of"),
        (f"{SAMPLE} --at-least recall=50", 2, "recall=50 is not a share between 0 and 1"),
        (
            f"{SAMPLE} --at-least recall=0.9 --at-least recall=0.1",
            2,
            "recall has two numbers, 0.9 and 0.1; give one",
        ),
        (f"{SAMPLE} --round 3 --at-least recall=0.5", 65, "--round 3 is of a monitor"),
        ("--round 1 --random --at-least recall=0.5", 65, "--random is of a labeled file; a round"),
        (
            "--round 1 --threshold 0.7 --at-least recall=0.5",
            65,
            "--threshold 0.7 is of --not-worse-than; a round knows",
        ),
        (
            "labels.csv --predicted predicted --at-least recall=0.5",
            65,
            "say how the labels of labels.csv were drawn",
        ),
        ("labels.csv --random --at-least recall=0.5", 65, "there are no predictions"),
        (
            "labels.csv --predicted predicted --random --not-worse-than same.csv",
            65,
            "--not-worse-than needs the numbers of flagged and passed items",
        ),
        (f"{SAMPLE} --label truth --at-least recall=0.5", 65, "column 'truth', but"),
        (f"{SAMPLE} --id key --not-worse-than same.csv", 65, "column 'key'"),
        (
            f"{SAMPLE} --at-least recall=0.5 --junit no/gate.xml",
            65,
            "no/gate.xml cannot be written",
        ),
    ],
)
def test_what_cannot_be_decided_is_refused(labeled, words, code, message):
    ended = labeled.run("gate", *words.split())

    assert ended.code == code
    assert message in " ".join(ended.err.replace("│", " ").split())
