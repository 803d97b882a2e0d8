"""The command simulate: from given numbers, from closed rounds, from a reference, and refused."""

import json

import pytest

LIMITS = "{precision: 0.76, recall: 0.62}"
NUMBERS = [
    *("--precision", "0.79", "--recall", "0.67", "--flagged-rate", "0.045", "--size", "200000"),
    *("--paths", "100"),
]


@pytest.fixture
def limited(bare):
    """A monitor with limits and predictions, and no rounds."""
    bare.predictions()
    bare.config(
        limits=("    labeling:", f"    limits: {LIMITS}\n    labeling:"),
        labels=("max_labels: 40", "max_labels: 1250"),
    )
    return bare


def test_a_drop_of_a_classifier_given_in_numbers_is_found(limited):
    done = limited.run("simulate", "--drop", "precision=-0.15", *NUMBERS)

    assert done.code == 0
    assert done.lines[0] == (
        "mail: 1,250 labels a round in 1 + 1 strata, going by the values given"
    )
    assert "precision at least 0.76  0.790  kept   0.640  broken" in done.lines
    assert "recall at least 0.62     0.670  kept   0.622  kept" in done.lines
    assert any(line.startswith("without a drift: 0.0") for line in done.lines)
    assert "promised: at most 1" in done.out
    assert "precision falls by 0.15: found within 4 rounds in " in done.out
    assert "in nine of ten by " in done.out


def test_the_same_seed_gives_the_same_numbers_as_json(limited):
    asked = ("simulate", "mail", "--drop", "recall=-0.2", "--rounds", "26", "--json", *NUMBERS)

    first, again, other = (
        limited.run(*asked, *more).out for more in ((), (), ("--seed", "7", "--rounds", "25"))
    )

    told = json.loads(first)
    assert first == again != other
    assert (told["monitor"], told["labels_per_round"], told["rounds"]) == ("mail", 1250, 26)
    assert told["promised_alarms"] == 0.5
    assert told["alarms_without_drift"] <= told["alarms_at_limits"] <= told["promised_alarms"]
    assert [each["broken"] for each in told["limits"]] == [False, True]
    assert told["limits"][1]["after"] == pytest.approx(0.47)
    assert told["drift"]["broken"] == ["recall at least 0.62"]
    assert told["drift"]["found_within"]["8"] > 0.9
    assert told["drift"]["labels_until_found"] == 1250 * told["drift"]["median_rounds"]


def test_prevalence_alone_breaks_no_limit_on_recall(limited):
    done = limited.run("simulate", "--prevalence", "x2", *NUMBERS)

    assert "precision at least 0.76  0.790  kept   0.889  kept" in done.lines
    assert "recall at least 0.62     0.670  kept   0.670  kept" in done.lines
    assert (
        "positives become 2 times as common: every limit is kept, so nothing should alert; "
        "0.00 alarms in 52 rounds" in done.lines
    )


def test_alarms_on_a_limit_that_is_broken_before_any_drift_are_true(limited):
    broken = ("--limit", "recall=0.8", "--limit", "precision=0.76")
    done = limited.run("simulate", "--drop", "precision=-0.1", *broken, *NUMBERS)
    told = limited.as_json("simulate", *broken, *NUMBERS)

    assert "recall at least 0.8      0.670  broken  0.639  broken" in done.lines
    [true] = [line for line in done.lines if "alarms on it are true" in line]
    assert true.startswith("without a drift: recall at least 0.8 is broken, so alarms on it are")
    assert any(line.startswith("without a drift: 0.0") for line in done.lines)
    assert told["true_alarms_without_drift"]["recall at least 0.8"] > 10
    assert told["alarms_without_drift"] < 0.1
    assert told["smallest_drops"].keys() == {"precision"}
    assert told["smallest_drops"]["precision"]["in_proportion"] > 0.05  # recall's do not find it
    worse = limited.run("simulate", "--drop", "recall=-0.1", *broken, *NUMBERS)
    assert "recall falls by 0.1: no further limit is broken, so nothing new should alert" in (
        worse.lines
    )


def test_closed_rounds_are_what_it_goes_by(filled):
    done = filled.run("simulate", "--drop", "precision=-0.1", "--paths", "100")

    assert done.lines[0] == (
        "mail: 40 labels a round in 1 + 1 strata, going by 8 earlier rounds, at the estimates that "
        "status shows"
    )
    shown = filled.as_json("status")["monitors"][0]["estimates"]
    [recall] = [row for row in shown if (row["metric"], row["basis"]) == ("recall", "pooled")]
    [limit] = filled.as_json("simulate", "--paths", "100")["limits"]
    assert limit["metric"] == "recall"
    assert limit["now"] == pytest.approx(recall["point"], abs=0.001)


def test_check_says_which_limits_are_broken_now_and_which_drops_the_labels_can_find(filled):
    text = (filled.folder / "config.yaml").read_text().replace("max_labels: 40", "max_labels: 400")

    def alerts(limit):
        filled.write("config.yaml", text.replace("recall: 0.95", f"recall: {limit}"))
        [told] = [line for line in filled.run("check").lines if "alerts of mail" in line]
        return told

    assert alerts(0.95).startswith("ok       alerts of mail: recall at least 0.95 is broken now (")
    told = alerts(0.3)
    assert told.startswith(
        "ok       alerts of mail: found within 4 rounds in 8 of 10 cases: recall"
    )
    assert "(200 labels a round; more by simulate)" in told


@pytest.mark.parametrize(
    ("asked", "code", "sentence"),
    [
        (["--drop", "precision=-10", *NUMBERS], 2, "write precision=-0.10 for ten points"),
        (["--drop", "mcc=-0.1", *NUMBERS], 2, "'mcc' cannot be simulated; use one of precision"),
        (["--drop", "recall=-0.9", *NUMBERS], 65, "recall cannot fall by 0.9 from 0.67"),
        (["--prevalence", "0", *NUMBERS], 2, "write x2 for twice as common"),
        (["--prevalence", "x40", *NUMBERS], 65, "cannot become 40 times as high"),
        (["--limit", "recall=62", *NUMBERS], 2, "did you mean 0.62?"),
        (["--precision", "0.8"], 2, "give --precision, --recall and --flagged-rate together"),
        (NUMBERS[:6], 2, "Give --size too"),
        ([*NUMBERS[:2], "--recall", "0.001", *NUMBERS[4:]], 65, "more positives would be missed"),
        ([], 65, "mail has no closed round and no reference to go by; give --precision"),
        (["post", *NUMBERS], 78, "there is no monitor 'post'"),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_a_sentence(limited, asked, code, sentence):
    done = limited.run("simulate", *asked)

    assert done.code == code
    assert sentence in " ".join(done.err.split())
    assert "Traceback" not in done.err
