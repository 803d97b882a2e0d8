"""What the codes of the statistics say in words."""

import pytest

import monitor
from monitor.presentation.estimates import caution_text, reason_text
from monitor.presentation.reasons import no_estimate_reason, plan_note, undefined_reason, worded
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import METRICS
from monitor.stats.core.reasons import (
    AuditAtChance,
    Contradiction,
    Undefined,
    UndefinedDraws,
)
from monitor.stats.design.notes import FloorsLowered, Remark
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.small_counts import DecidingClass


def test_every_undefined_metric_and_a_contradicted_audit_have_a_reason_in_words():
    for why in Undefined:
        text = undefined_reason(why)

        assert len(text.split()) > 3
        assert no_estimate_reason(UndefinedDraws(why, share=1, most=0.05)) == text
    assert "contradict the checks" in str(no_estimate_reason(Contradiction.AUDIT))


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (
            AuditAtChance(0.9174, positive=30, positive_right=10, negative=30, negative_right=15),
            "labels are no better than chance with probability 0.92 by the checks (10 of 30 "
            "positive and 15 of 30 negative items labeled right), so nothing can be corrected; "
            "check more items",
        ),
        (None, None),
    ],
)
def test_a_missing_estimate_has_its_reason_in_words(why, text):
    assert no_estimate_reason(why) == text


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (Remark.EVERYTHING_FLAGGED, "everything was flagged, so recall is 1 and needs no labels"),
        (
            FloorsLowered(24, 44),
            "24 labels are fewer than the floors of all strata ask for (44), so every stratum's "
            "floor was lowered alike",
        ),
    ],
)
def test_a_note_on_a_plan_is_said_in_words(note, text):
    assert plan_note(note) == text
    assert all(len(plan_note(each).split()) > 3 for each in Remark)


def test_where_a_reason_is_shown_it_says_once_that_there_is_no_estimate():
    counts = Counts.of_matrix(tp=0, fp=0, fn=7, tn=93, flagged_size=0, passed_size=5000)

    texts = [worded(estimate) for estimate in estimates(counts, metrics=tuple(METRICS))]

    reasons = {text["reason"] for text in texts if text["reason"]}
    assert len(reasons) > 1
    assert all(reason_text(why).count("not estimable") == 1 for why in reasons)
    assert not any(text["metric"] in (text["reason"] or "").split() for text in texts)


def test_few_labels_are_named_with_their_class_and_answer():
    flagged = DecidingClass("flagged", "negative", 3.2)
    passed = DecidingClass("passed", "positive", 1.9)

    assert caution_text([flagged, passed]) == (
        "few labels decide this, about 3 negative among the flagged and about 2 positive among the "
        "passed"
    )
    assert caution_text([]) is None


def test_the_python_api_has_words_and_no_codes():
    found = monitor.estimate(tp=0, fp=0, fn=2, tn=98, flagged_size=0, passed_size=900)["estimates"]

    said = {(each["metric"], each["estimand"]): each for each in found}
    assert said["precision", "rate"]["reason"] == "nothing was predicted positive (TP + FP = 0)"
    assert said["recall", "rate"]["reason"] == (
        "the window holds no flagged item, so it carries no information about the "
        "classifier; see the window estimate"
    )
    few = "few labels decide this, about 2 positive among the passed"
    assert said["npv", "rate"]["caution"] == few
