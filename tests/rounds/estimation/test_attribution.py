"""Why precision is not what it was, in words."""

import re

import pytest

from monitor.rounds.parts.cause import precision_cause
from tests.rounds.estimation.tallies import tally_by_class

POINTS = 2**10


def tally(tp=430, fp=70, fn=5, tn=995, flagged=3_300, passed=96_700):
    return tally_by_class(tp, fp, fn, tn, flagged=flagged, passed=passed)


def told(now, *earlier):
    return precision_cause(now, earlier, seed=1)


def test_nothing_is_told_without_an_earlier_round():
    assert told(tally()) is None


def test_nothing_is_told_where_a_class_has_no_label():
    blank = tally(tp=0, fp=0)

    assert told(blank, tally()) is None
    assert told(tally(), blank) is None
    assert told(tally(tp=0, fp=0, flagged=0), tally()) is None


def test_equal_rounds_differ_by_no_more_than_noise():
    cause = told(tally(), tally(), tally())

    assert cause.rounds == 2
    assert cause.sentence.startswith(
        "precision 0.86 [0.83, 0.89] in this round alone and 0.86 [0.84, 0.88] in the 2 rounds "
        "before differ by no more than noise (0.00, -0.04 to +0.04)"
    )
    assert cause.recall_sentence.startswith("recall 0.85 [")
    assert "in the 2 rounds before differ by no more than noise (0.00, -" in cause.recall_sentence


def test_rarer_positives_are_named_as_the_cause():
    """The classifier stays (TPR .85, FPR .0048), prevalence falls from 3.3 to 1.6 %."""
    usual = tally(tp=860, fp=140, fn=10, tn=1990)
    rare = tally(tp=740, fp=260, fn=5, tn=1995, flagged=1_900, passed=98_100)

    cause = told(rare, usual)

    parts = cause.by_prevalence, cause.by_classifier
    assert parts[0][0] + parts[1][0] == pytest.approx(cause.change[0], abs=1e-5)
    assert parts[0][2] < 0
    assert parts[1][1] < 0 < parts[1][2]
    assert cause.sentence.startswith(
        "precision fell from 0.86 [0.84, 0.88] in the round before to 0.74 [0.71, 0.77] in this "
        "round alone: prevalence "
    )
    assert "(TPR, FPR)" in cause.sentence
    assert cause.sentence.endswith("within noise)")


def test_a_worse_classifier_is_named_as_the_cause():
    worse = tally(tp=700, fp=300, fn=18, tn=1982)

    cause = told(worse, *[tally()] * 3)

    assert cause.by_classifier[2] < 0
    assert ", a worse classifier (TPR, FPR) -0." in cause.sentence
    assert not cause.sentence.endswith("within noise)")
    assert " in the 3 rounds before to 0.70 [" in cause.sentence


def test_a_fall_of_recall_alone_is_told_in_numbers_with_intervals():
    blind = tally(fn=30, tn=970)

    cause = told(blind, *[tally()] * 3)

    assert cause.changes["precision"].is_noise
    assert cause.changes["recall"].is_fall
    assert re.fullmatch(
        r"recall fell from 0\.85 \[0\.\d\d, 0\.\d\d\] in the 3 rounds before to 0\.49 "
        r"\[0\.\d\d, 0\.\d\d\] in this round alone, by -0\.36 \(-0\.\d\d to -0\.\d\d\)",
        cause.recall_sentence,
    )


def test_a_better_classifier_is_called_better():
    cause = told(tally(tp=980, fp=20), tally())

    assert cause.sentence.startswith("precision rose from 0.86 [")
    assert "a better classifier (TPR, FPR) +0." in cause.sentence
