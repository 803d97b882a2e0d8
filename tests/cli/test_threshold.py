"""`pr-monitor threshold`: a threshold that the labels of closed rounds allow."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.workplace import COLUMN, working_in

BANDS = ("bands: {flagged: 1, passed: 1}", "cells: {flagged: 8, passed: 8}")
SCORE = "least(0.999, (i * 7919 % 4000) / 4000)"
POSITIVE = f"(hash(i) % 1000) / 1000 < {SCORE}"


@pytest.fixture(scope="module")
def labeled(tmp_path_factory):
    """A folder with one closed round whose scores are the chance of being positive."""
    with working_in(tmp_path_factory.mktemp("threshold")) as place:
        place.predictions(rows=4000, score=SCORE, is_travel=POSITIVE)
        place.config(COLUMN, bands=BANDS, sample=("max_labels: 40", "max_labels: 2000"))
        place.run("run-once")
        place.backfill(days=2)
        yield place


def test_a_lower_precision_allows_a_lower_threshold_that_flags_more(labeled):
    low, high = (labeled.as_json("threshold", "--precision", target) for target in (0.55, 0.8))

    assert low["proposed"]["threshold"] < low["current"]["threshold"] == 0.5
    assert high["proposed"]["threshold"] > 0.5
    assert low["proposed"]["flagged"] > low["current"]["flagged"] > high["proposed"]["flagged"]
    interval = high["proposed"]["intervals"]["precision"]
    assert interval["low"] < high["proposed"]["precision"] < interval["high"]
    assert high["proposed"]["precision"] > 0.8


@pytest.mark.parametrize("goal", [("--precision", 0.55), ("--precision", 0.8), ("--recall", 0.85)])
def test_the_proposed_threshold_is_the_last_whose_p_is_at_most_the_allowed_one(labeled, goal):
    found = labeled.as_json("threshold", *goal)

    passing = [row for row in found["curve"] if row["p"] <= row["allowed_p"]]
    last = -1 if goal[0] == "--precision" else 0
    assert found["proposed"]["threshold"] == passing[last]["threshold"]
    allowed = {round(row["allowed_p"], 4) for row in found["curve"]}
    assert 0.0125 in allowed
    assert max(allowed) <= 0.05


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (("--precision", 0.55), "tested from the highest on. Each of up to 4 starts has a part of"),
        (("--recall", 0.85), "tested from the lowest on"),
        (("--cost-fp", 1, "--cost-fn", 20), "all thresholds share 0.05 equally"),
    ],
)
def test_the_answer_has_both_intervals_and_the_order_of_testing(labeled, goal, words):
    shown = labeled.run("threshold", *goal)

    assert shown.lines[0].startswith("mail, round ")
    assert any(line.startswith("propose 0.") and "more flagged" in line for line in shown.lines)
    [row] = [line for line in shown.lines if "proposed" in line and "[" in line]
    assert row.count("[") == 2
    assert "p: probability of labels this good where the threshold" in shown.out
    assert words in shown.out


def test_recall_costs_and_capacity_are_goals_too(labeled):
    by_recall = labeled.as_json("threshold", "--recall", 0.85)
    by_cost = labeled.as_json("threshold", "--cost-fp", 1, "--cost-fn", 20)
    by_capacity = labeled.as_json("threshold", "--capacity", 300)

    assert by_recall["proposed"]["threshold"] < 0.5
    assert by_recall["proposed"]["recall"] > 0.85
    assert (by_cost["proposed"]["threshold"] < 0.5, by_cost["sure"]) == (True, True)
    assert by_capacity["proposed"]["flagged"] <= 300 < by_capacity["current"]["flagged"]
    assert by_capacity["proposed"]["p"] is None


def test_what_labels_cannot_show_keeps_the_present_threshold(labeled):
    nothing = labeled.as_json("threshold", "--precision", 0.999)
    in_use = labeled.run("threshold", "--capacity", nothing["current"]["flagged"] + 1)

    assert (nothing["keep"], nothing["proposed"]) == (True, None)
    assert "keep 0.5: these labels" in labeled.run("threshold", "--precision", 0.999).out
    assert "keep 0.5: no threshold is tested" in labeled.run("threshold", "--capacity", 0.01).out
    assert "keep 0.5: it is that threshold already" in in_use.out


def test_rounds_of_one_history_are_pooled_and_no_more_than_there_are(labeled):
    pooled = labeled.as_json("threshold", "--precision", 0.8, "--rounds", 2)
    alone = labeled.as_json("threshold", "--precision", 0.8)
    too_many = labeled.run("threshold", "--precision", 0.8, "--rounds", 9)

    assert len(pooled["rounds"]) == 2
    assert pooled["labeled"] > 1.5 * alone["labeled"]
    assert too_many.code == 65
    assert "9 rounds were asked for" in too_many.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "no goal given"),
        (["--precision", 0.8, "--recall", 0.5], "--precision and --recall given"),
        (["--precision", 1.5], "--precision is 1.5"),
        (["--cost-fp", 1], "go together"),
        (["--capacity", -2], "--capacity is -2"),
        (["--capacity", 10**7], "so any threshold keeps that --capacity"),
        (["--precision", 0.8, "--confidence", 0.05], "did you mean 0.95?"),
        (["--precision", 0.8, "--round", 99], "99"),
    ],
)
def test_wrong_goals_are_refused_by_name(labeled, words, problem):
    ended = labeled.run("threshold", *words)

    assert ended.code == 65
    assert problem in ended.err


def test_a_monitor_whose_classes_come_from_a_column_has_no_threshold_to_move(bare):
    bare.predictions(predicted="(i % 10 = 0)::int")
    bare.config(
        COLUMN,
        threshold=("      threshold: 0.5\n", ""),
        columns=("score: score,", "score: score, predicted: predicted,"),
    )
    before = bare.run("threshold", "--precision", 0.8)
    bare.run("run-once")
    ended = bare.run("threshold", "--precision", 0.8)

    assert "has no closed round yet" in before.err
    assert ended.code == 65
    assert "its predictions have no threshold to change" in ended.err


@pytest.fixture
def labels(bare):
    """A folder with 1,000 labels of either predicted class, whose scores are the chances."""
    rng = np.random.default_rng(3)
    score = np.concatenate([rng.uniform(0.5, 1, 1000), rng.uniform(0, 0.5, 1000)])
    frame = pd.DataFrame({"score": score, "label": (rng.random(2000) < score).astype(int)})
    frame.to_csv("labels.csv", index=False)
    return bare


OF_FILE = ("--labels", "labels.csv", "--threshold", 0.5)
WITHOUT_FILE = ("--labels", "none.csv", "--threshold", 0.5)
BY_CLASS = (*OF_FILE, "--flagged-size", 10_000, "--passed-size", 10_000)


def test_a_labeled_file_gets_the_same_answer_by_the_way_it_was_drawn(labels):
    """With even scores precision at t is (1 + t) / 2: .8 from .6 on, and .7 from .4 on."""
    high, low = (
        labels.as_json("threshold", *BY_CLASS, "--precision", target) for target in (0.8, 0.7)
    )
    words = labels.run("threshold", *BY_CLASS, "--precision", 0.8).out

    assert 0.6 < high["proposed"]["threshold"] < 0.7
    assert 0.4 < low["proposed"]["threshold"] < 0.5
    assert low["proposed"]["flagged"] > 10_000 > high["proposed"]["flagged"]
    assert (high["labeled"], high["current"]["threshold"]) == (2000, 0.5)
    assert "drawn by predicted class from 20,000 items" in words
    assert "flagged of 20,000" in words


def test_of_a_labeled_file_weights_say_the_same_as_sizes_and_prevalence_moves_precision(labels):
    frame = pd.read_csv("labels.csv").assign(w=10.0)
    frame.to_csv("labels.csv", index=False)

    by_size, by_weight = (
        labels.as_json("threshold", *words, "--recall", 0.8)
        for words in (BY_CLASS, (*OF_FILE, "--weight", "w"))
    )
    rare = labels.as_json("threshold", *OF_FILE, "--prevalence", 0.05, "--recall", 0.5)

    assert by_weight["proposed"]["recall"] == pytest.approx(by_size["proposed"]["recall"], abs=0.03)
    assert rare["current"]["precision"] < 0.2
    assert "by predicted class" in rare["warnings"][0]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((*OF_FILE, "--precision", 0.8), "say how the labels of --labels were drawn: --random"),
        ((*OF_FILE, "--random", "--precision", 0.8, "--rounds", 2), "--rounds 2 is of a monitor's"),
        ((*OF_FILE, "--flagged-size", 9000, "--recall", 0.8), "give both"),
        ((*BY_CLASS, "--capacity", 30), "a labeled set has no days"),
        (("--random", "--precision", 0.8), "--random is of a labeled file"),
        (
            ("--labels", "labels.csv", "--threshold", 50, "--random", "--precision", 0.8),
            "flagged by column 'score', 0.000",
        ),
        ((*WITHOUT_FILE, "--random", "--precision", 0.8), "none.csv cannot be"),
        ((*BY_CLASS, "--precision", 0.8, "--weight", "w"), "--weight names the column 'w'"),
        (("--labels", "labels.csv", "--random", "--precision", 0.8), "needs --threshold"),
        (("--random", "--precision", 0.8), "give --labels too"),
        (
            ("--labels", "other.csv", "--threshold", 0.5, "--random", "--precision", 0.8),
            "--labels needs the column 'label', but the data has truth, score",
        ),
    ],
)
def test_what_does_not_fit_a_labeled_file_is_refused(labels, words, problem):
    Path("other.csv").write_text("truth,score\n1,0.9\n")

    ended = labels.run("threshold", *words)

    assert ended.code == 65
    assert problem in ended.err


def test_swapped_classes_are_warned_about(labels):
    frame = pd.read_csv("labels.csv")
    right = labels.as_json("threshold", *BY_CLASS, "--precision", 0.8)
    frame.assign(label=1 - frame["label"]).to_csv("labels.csv", index=False)
    swapped = labels.as_json("threshold", *BY_CLASS, "--precision", 0.8)

    assert right["warnings"] == []
    assert "see whether 1 is the class that is looked for" in swapped["warnings"][0]
    assert "WARNING: " in labels.run("threshold", *BY_CLASS, "--precision", 0.8).out


@pytest.mark.parametrize(
    ("few", "said"),
    [
        (lambda frame: frame.head(1001), "a single label"),
        (lambda frame: frame.assign(label=[1] * 5 + [0] * 1995), "5 positive"),
    ],
)
def test_of_few_labels_of_a_class_or_kind_none_is_proposed(labels, few, said):
    few(pd.read_csv("labels.csv")).to_csv("labels.csv", index=False)

    assert said in labels.run("threshold", *BY_CLASS, "--recall", 0.8).err
