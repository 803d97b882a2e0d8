"""A labeled reference file becomes arrays, or is refused for its first bad row."""

import math

import numpy as np
import pytest

from monitor.domain.adapters import ItemFormat
from monitor.domain.errors import SourceRefused
from monitor.sources.reference import read_reference
from tests.sources.prediction_files import write_csv

BY_CLASS = ItemFormat(score="score", predicted="class")
BY_SCORE = ItemFormat(score="score")
HEADER = ("score", "class", "label")
ROWS = [
    ("0.9", "1", "1"),
    ("0.5", "1", "0"),
    ("0.1", "0", "false"),
    ("", "0", "true"),
    ("", "", ""),
]


@pytest.fixture
def reference(tmp_path):
    write_csv(tmp_path / "r.csv", ROWS, HEADER)
    return tmp_path


def test_scores_classes_and_labels_come_in_the_order_of_the_file(reference):
    found = read_reference("r.csv", reference, BY_CLASS)

    assert np.array_equal(found.score, [0.9, 0.5, 0.1, math.nan], equal_nan=True)
    assert found.flagged.tolist() == [True, True, False, False]
    assert found.positive.tolist() == [True, False, False, True]
    assert found.unlabeled == 1


def test_a_threshold_decides_the_class_as_in_a_scan(tmp_path):
    write_csv(tmp_path / "r.csv", ROWS[:3], HEADER)

    reference = read_reference("r.csv", tmp_path, BY_SCORE, threshold=0.5)

    assert reference.flagged.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (("0.9", "1", "maybe"), "r.csv: column 'label' holds 'maybe'; a label is 1 or 0"),
        (("high", "1", "1"), "r.csv: column 'score' holds 'high' on a labeled row"),
        (("nan", "1", "1"), "r.csv: column 'score' holds 'nan' on a labeled row"),
        (("0.9", "", "1"), "r.csv: a labeled row has no predicted class"),
    ],
)
def test_a_bad_row_refuses_the_file(tmp_path, row, sentence):
    write_csv(tmp_path / "r.csv", [*ROWS, row], HEADER)

    with pytest.raises(SourceRefused, match=sentence):
        read_reference("r.csv", tmp_path, BY_CLASS)


def test_a_missing_score_is_refused_where_it_decides_the_class(reference):
    with pytest.raises(SourceRefused, match="column 'score' holds None on a labeled row"):
        read_reference("r.csv", reference, BY_SCORE, threshold=0.5)


@pytest.mark.parametrize(
    ("items", "changes", "sentence"),
    [
        (ItemFormat(), {}, "needs either a predicted column or a score with a threshold"),
        (ItemFormat(predicted="klass"), {}, r"no column 'klass' \(reference.predicted\).* 'class'"),
        (BY_CLASS, {"value": "truth"}, r"no column 'truth' \(reference.value\)"),
        (ItemFormat(score="p", predicted="class"), {}, r"no column 'p' \(reference.score\)"),
    ],
)
def test_what_cannot_be_read_is_said(reference, items, changes, sentence):
    with pytest.raises(SourceRefused, match=sentence):
        read_reference("r.csv", reference, items, **changes)


def test_a_word_for_a_missing_label_leaves_its_row_out(tmp_path):
    rows = [(0.9, "fraud"), (0.8, "nan"), (0.1, "legit"), (0.2, "<NA>"), (0.3, " fraud\u00a0")]
    write_csv(tmp_path / "r.csv", rows, ("score", "label"))

    found = read_reference("r.csv", tmp_path, BY_SCORE, positive="fraud", threshold=0.5)

    assert (found.positive.tolist(), found.unlabeled) == ([True, False, True], 2)


def test_a_label_that_differs_from_the_positive_one_in_case_alone_is_refused(tmp_path):
    write_csv(tmp_path / "r.csv", [(0.9, "Fraud")], ("score", "label"))

    with pytest.raises(SourceRefused, match="holds 'Fraud'"):
        read_reference("r.csv", tmp_path, BY_SCORE, positive="fraud", threshold=0.5)


def test_a_score_of_32_bits_at_the_threshold_is_flagged_in_the_reference(tmp_path):
    score = float(np.float32(0.7))
    write_csv(tmp_path / "r.csv", [(score, "", "1"), (0.69, "", "0")], HEADER)

    found = read_reference("r.csv", tmp_path, BY_SCORE, threshold=0.7)

    assert found.flagged.tolist() == [True, False]


def test_an_item_that_is_there_twice_is_refused(tmp_path):
    rows = [("a", 0.9, "1"), ("b", 0.1, "0"), ("a", 0.9, "1"), ("b", 0.1, "0")]
    write_csv(tmp_path / "r.csv", rows, ("mail_id", "score", "label"))

    with pytest.raises(SourceRefused, match="id 'a' of column 'mail_id' is there 2 times and 1 ot"):
        read_reference("r.csv", tmp_path, ItemFormat("mail_id", "score"), threshold=0.5)
    assert len(read_reference("r.csv", tmp_path, BY_SCORE, threshold=0.5).positive)
