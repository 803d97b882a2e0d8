"""Labeled items that cannot be used are refused with what was found, where, and what to do."""

import numpy as np
import pandas as pd
import pytest

import monitor
from monitor.domain.errors import InputRefused
from monitor.evaluation.rows import Column, read_rows
from tests.evaluation.sets import SIZES, cells

FRAME = cells(30, 9, 8, 40)


def with_values(column, *values):
    """The table with its first values replaced."""
    frame = FRAME.astype(object)
    frame.loc[range(len(values)), column] = list(values)
    return frame


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (with_values("label", 2), r"column 'label': the values 0, 1, 2; .* make the one"),
        (with_values("label", "spam"), "column 'label': 'spam' at position 0"),
        (
            with_values("label", 1, None, np.nan),
            "column 'label': no label in 2 of 87 rows, first at position 1; leave such rows out",
        ),
        (
            with_values("predicted", 0.37),
            r"values 0, 0.37, 1; .*; give a threshold if it is a scor",
        ),
        (with_values("predicted", None), "'predicted': no predicted class in 1 of 87 rows"),
        (FRAME.iloc[:0], "column 'label': it has no rows; expected labeled items"),
        (FRAME[FRAME.label == 1], r"none of the 38 items is negative \(0\) by column 'label'"),
        (FRAME[FRAME.predicted == 0], "none of the 48 items is flagged by column 'predicted'"),
        (FRAME[["predicted"]], "label names the column 'label', but the data has predicted"),
    ],
    ids=str,
)
def test_labels_and_predictions_are_0_or_1_and_of_both_kinds(frame, words):
    with pytest.raises(InputRefused, match=words):
        monitor.evaluate(frame, predicted="predicted")


@pytest.mark.parametrize(
    ("yes", "no"),
    [("yes", "no"), ("Yes ", "NO"), ("true", "f"), ("y", "n"), (True, False)],
    ids=str,
)
def test_labels_and_predictions_may_be_words_for_yes_and_no(yes, no):
    in_words = FRAME.assign(
        **{name: FRAME[name].map({1: yes, 0: no}) for name in ("label", "predicted")}
    )

    found = monitor.evaluate(in_words, predicted="predicted", sizes=SIZES)

    plain = monitor.evaluate(FRAME, predicted="predicted", sizes=SIZES)
    assert found.metrics == plain.metrics


def test_a_pair_of_other_words_is_refused_with_what_to_write():
    frame = FRAME.assign(label=FRAME.label.map({1: "fraud", 0: "fine"}))

    with pytest.raises(InputRefused, match=r"1 or 0, yes or no.*frame\['label'\] == 'fraud'"):
        monitor.evaluate(frame, predicted="predicted", sizes=SIZES)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"weight": np.ones(5)}, "the weights given: 5 values for 87 labels"),
        ({"weight": [-1.0, *[1.0] * 86]}, r"the weights given: -1 at position 0; .* more than 0"),
        ({"weight": [0.0, *[1.0] * 86]}, "given: 0 at position 0"),
        ({"weight": [np.nan, *[1.0] * 86]}, "given: no weight in 1 of 87 rows"),
        ({"weight": [np.inf, *[1.0] * 86]}, "given: inf at position 0"),
        ({"amount": [-1.0, *[1.0] * 86]}, "the amounts given: -1 at position 0; an amount is more"),
        ({"amount": [*[1.0] * 86, 0.0]}, "amounts given: 0 at position 86; .* count for nothing"),
        ({"amount": [np.nan, *[1.0] * 86]}, "amounts given: no amount in 1 of 87 rows"),
        ({"amount": ["x", *[1.0] * 86]}, "amounts given: 'x' at position 0; amounts are numbers"),
        ({"amount": "price", "random": True}, "amount names the column 'price', but the data has"),
        ({"amount": [1.0] * 87, "prevalence": 0.1}, "prevalence is a share of items, and amount"),
        ({"weight": "w"}, "weight names the column 'w', but the data has predicted, label, score"),
        ({"sizes": {"flagged": 900}}, "labels are also of passed; give the items of each stratum"),
        ({"sizes": {"flagged": 38, "passed": 900}}, "flagged is 38 items, but 39 of them are lab"),
        (
            {"sizes": {"flagged": 90.5, "passed": 900}},
            "the size of flagged is 90.5; .* whole number",
        ),
        ({"sizes": SIZES | {"doubt": 7}}, "doubt is 7 items, but none of them is labeled"),
        ({"sizes": 900}, "sizes is 900; it names the items of each stratum"),
        ({"sizes": SIZES, "stratum": ["x"] * 87}, "are also of x"),
        (
            {"sizes": {"x": 900}, "stratum": ["x"] * 87},
            "stratum x holds 39 flagged and 48 passed items; .* x/flagged and x/passed",
        ),
        ({"stratum": ["x"] * 87}, "a stratum is named but no sizes"),
        ({"sizes": SIZES, "stratum": [None, *["x"] * 86]}, "given: no stratum in 1 of 87 rows"),
        ({"prevalence": 0}, "prevalence is 0; it is a share of all items, over 0 and under 1"),
        ({"prevalence": 1.2}, r"prevalence is 1.2"),
        ({"prevalence": "2 %"}, "prevalence is '2 %'"),
        ({"flagged_rate": 3}, "flagged_rate is 3"),
        ({"prevalence": 0.1, "sizes": SIZES}, "sizes and prevalence were given; .* so give one"),
        ({"weight": np.ones(87), "random": True}, "random and weight were given"),
        ({"flagged_rate": 0.1, "sizes": SIZES}, "with sizes there is nothing to check"),
        ({"level": 95}, "level is 95; it is the probability inside an interval"),
        ({"score": "score", "threshold": 0.7}, "disagree on .* of 87 items; leave one of the two"),
        ({"score": "score", "threshold": float("nan")}, "threshold is nan"),
    ],
    ids=str,
)
def test_what_is_said_of_the_labels_has_to_fit_them(given, words):
    with pytest.raises(InputRefused, match=words):
        monitor.evaluate(FRAME, predicted="predicted", **given)


@pytest.mark.parametrize("prediction", [{"predicted": "label"}, {"score": "label", "threshold": 1}])
def test_labels_are_not_compared_with_themselves(prediction):
    with pytest.raises(InputRefused, match="column 'label' is the label and the prediction; name"):
        monitor.evaluate(FRAME, sizes=SIZES, **prediction)


def test_predictions_are_needed():
    with pytest.raises(
        InputRefused, match="there are no predictions; name the column of predicted"
    ):
        monitor.evaluate(FRAME)


def test_a_score_and_its_threshold_stand_for_the_predicted_class():
    by_class = monitor.evaluate(FRAME, predicted="predicted", score="score", random=True)

    by_score = monitor.evaluate(FRAME, score="score", threshold=0.5, random=True)

    assert by_score.estimates == by_class.estimates
    assert by_score.curves == by_class.curves


@pytest.mark.parametrize("kind", [bool, "Int64", float, str, "category"])
def test_labels_may_be_of_every_kind_that_says_0_and_1(kind):
    frame = FRAME.astype({"label": kind})

    found = monitor.evaluate(frame, predicted=pd.Index(["predicted"])[0], random=True)

    assert found.estimates == monitor.evaluate(FRAME, predicted="predicted", random=True).estimates


def test_a_score_of_32_bits_at_the_threshold_is_flagged():
    scores = np.tile(np.array([0.7, 0.1], dtype=np.float32), 43)

    rows = read_rows(Column("label", [1, 0] * 43), score=Column("score", scores), threshold=0.7)

    assert rows.flagged.sum() == 43
