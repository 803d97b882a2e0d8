"""`plan`: from assumed values, from scores, a reference or earlier rounds; what it refuses."""

import json

import pytest

import monitor
from tests.cli.workplace import COLUMN, PEOPLE

ASSUMED = "plan --precision .79 --recall .67 --flagged-rate .044 --size 1000000"
CLASSES = ("flagged", "passed")
BANDS = ("max_labels: 40, bands: {flagged: 1, passed: 1}", "max_labels: 200")


def test_assumed_values_need_neither_config_nor_data(bare):
    done = bare.run(*ASSUMED.split(), "--margin", ".05", "--labels", "1000")

    assert done.code == 0
    assert "an assumed window: 44,000 flagged, 956,000 passed" in done.lines
    assert "planned by the values given: precision 0.790, recall 0.670" in done.lines
    assert any(line.startswith("1,000 labels give precision +-") for line in done.lines)
    assert "are within precision +-5 %, recall +-5 %: precision 0.00, recall 0.00." in done.out
    assert "To be within that with probability 0.8 would take 4,885." in done.lines
    assert "Every item" not in done.out
    unanswered = 'Each passed item answered "cannot tell" lowers the low end of recall by about '
    assert any(line.startswith(unanswered) for line in done.lines)
    assert ["+-5 %", "4,885", "6,748"] in [line.rsplit(maxsplit=2) for line in done.lines]
    assert [path.name for path in bare.folder.iterdir()] == ["monitor.db"]


def test_the_notebook_says_what_the_command_says(bare):
    said = bare.as_json(*ASSUMED.split(), "--recall-margin", ".06")

    found = monitor.plan(
        precision=0.79,
        recall=0.67,
        flagged_rate=0.044,
        size=1_000_000,
        recall_margin=0.06,
    )

    assert json.loads(json.dumps(found.to_dict())) == said
    assert found["asked"] == {"recall": 0.06}
    assert found["margins"]["recall"] == pytest.approx(0.0587, abs=1e-4)
    assert (found["assurance"], found["assured"]["recall"] >= 0.8) == (0.8, True)
    assert [each["metric"] for each in found["alerts"]] == ["precision", "recall"]


def test_dear_labels_move_the_plan_and_their_cost_is_told(place):
    place.config(PEOPLE, reference=REFERENCE, bands=BANDS)
    alike = place.as_json("plan", "--margin", ".1")
    place.config(PEOPLE, reference=REFERENCE, dear=(BANDS[0], "max_labels: 200, cost: {passed: 4}"))
    dear, shown = place.as_json("plan", "--margin", ".1"), place.run("plan", "--margin", ".1").lines

    labels = [
        [sum(s["labels"] for s in found["strata"] if s["stratum"].startswith(of)) for of in CLASSES]
        for found in (alike, dear)
    ]
    assert alike["cost"] == alike["labels"] == sum(labels[0])
    assert dear["cost"] == labels[1][0] + 4 * labels[1][1]
    assert labels[1][0] > labels[0][0]
    assert any("(cost " in line for line in shown)
    assert any(line.split() == ["labels", "precision", "recall", "cost"] for line in shown)


def test_before_any_round_the_scores_steer_the_plan_and_nothing_is_drawn(place):
    place.config(PEOPLE, bands=BANDS)

    asked = ("plan", "mail", "--labels", 60)
    found, said = place.as_json(*asked), place.run(*asked).out

    assert found["basis"] == "the scores alone, trusted little until a round is labeled"
    assert found["later_margins"].keys() == found["margins"].keys() == {"precision", "recall"}
    assert "60 labels: the first round gives precision +-" in said
    assert ", from the second on precision +-" in said
    assert found["labels"] == 60
    assert found["recall_with_one_more"] > 0
    assert sum(each["size"] for each in found["strata"]) == found["size"] == 200
    assert len(found["strata"]) > 2
    assert place.as_json("rounds") == {"rounds": [], "hidden": 0, "has_older": False}
    goal = place.as_json("plan", "--margin", ".2")
    low, high = goal["plausible"]["needed"]
    assert low <= goal["needed"] <= high
    for metric, (least, most) in goal["plausible"]["assured"].items():
        assert 0 <= least <= goal["assured"][metric] <= most <= 1


REFERENCE = ("    labeling", "    reference: {tp: 40, fp: 10, fn: 20, tn: 930}\n    labeling")


@pytest.mark.parametrize(("labeling", "is_told"), [(PEOPLE, True), (COLUMN, False)])
def test_check_tells_before_people_label_what_an_answer_cannot_tell_costs(place, labeling, is_told):
    place.config(labeling, reference=REFERENCE)

    lines = place.run("check").lines

    told = 'ok       answers of mail: each passed item answered "cannot tell" lowers the low end of'
    assert any(line.startswith(told) for line in lines) == is_told


def test_with_a_reference_the_plan_rests_on_it(place):
    place.config(PEOPLE, reference=REFERENCE)

    found = place.as_json("plan", "mail", "--margin", ".2")

    place.config(PEOPLE, reference=REFERENCE, bands=BANDS)
    banded = place.as_json("plan")
    assert found["basis"] == "the labeled reference"
    assert banded["basis"] == "the reference matrix, spread evenly over the bands"
    assert found["expected"]["precision"] == pytest.approx(40.5 / 51)
    assert found["asked"] == {"precision": 0.2, "recall": 0.2}
    assert found["plausible"] is banded["plausible"] is None


def test_after_rounds_the_plan_rests_on_them_and_on_the_limits(filled):
    found = filled.as_json("plan")

    assert found["basis"] == "8 earlier rounds"
    assert found["limits_assumed"] is False
    [alert] = found["alerts"]
    assert (alert["metric"], alert["at_least"], found["false_alarm_every"]) == ("recall", 0.95, 10)
    assert found["labels"] == 40


def test_with_nothing_known_half_of_the_labels_go_to_each_class(place):
    place.predictions(score="case when i % 10 = 0 then 7 else i % 5 end")
    place.config(PEOPLE)

    found = place.as_json("plan")
    shown = place.run("plan").lines

    assert found["basis"].startswith("nothing")
    assert [each["labels"] for each in found["strata"]] == [20, 20]
    assert found["margins"] == {}
    assert found["alerts"] == []
    assert "40 labels." in shown
    assert any("no margin can be predicted" in line for line in shown)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("plan --precision .8", 65, "precision is not enough to plan from; give recall and "),
        (f"{ASSUMED} --margin 5", 65, "between 0 and 1; got precision=5.0"),
        ("plan --precision 2 --recall .6 --flagged-rate .1", 65, "precision must lie strictly"),
        (ASSUMED.replace("plan", "plan mail"), 65, "plan either for the monitor mail or for"),
        ("plan", 78, "config.yaml"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(bare, words, code, message):
    done = bare.run(*words.split())

    assert done.code == code
    assert message in " ".join(done.err.replace("│", " ").split())


def test_no_predictions_are_refused_with_the_way_out(place):
    place.predictions(rows=0)
    place.config(PEOPLE)

    done = place.run("plan")

    assert done.code == 65
    assert "mail has no predictions yet; to plan without any, give --precision" in done.err
