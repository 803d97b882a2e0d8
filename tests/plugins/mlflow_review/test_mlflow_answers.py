"""What counts of what people, programs and strangers write at a trace in MLflow."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.model import Answer
from monitor.plugins.mlflow_review.answers import ReviewReading, stored_text
from monitor.plugins.mlflow_review.settings import CANNOT_TELL

QUESTION = "Is it really about travel?"
NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def said(value, *, name=QUESTION, who="ada", minute=0, kind="HUMAN", **changes):
    at = (NINE + minute * MINUTE).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "assessment_id": f"a-{name}-{who}-{minute}",
        "assessment_name": name,
        "source": {"source_type": kind, "source_id": who},
        "create_time": at,
        "last_update_time": at,
        "feedback": {"value": value},
        "valid": True,
        **changes,
    }


def unclear(value, **more):
    return said(value, name=CANNOT_TELL, **more)


def read(*assessments):
    reading = ReviewReading()
    reading.take("key", QUESTION, list(assessments))
    return reading


@pytest.mark.parametrize(
    ("assessments", "answer"),
    [
        ([said(True)], Answer.POSITIVE),
        ([said(False)], Answer.NEGATIVE),
        ([unclear(True)], Answer.CANNOT_TELL),
        ([said(True), unclear(True, minute=1)], Answer.CANNOT_TELL),
        ([said(True, minute=1), unclear(True)], Answer.CANNOT_TELL),
        ([said(False), unclear(False)], Answer.NEGATIVE),
        ([said(True), said(False, minute=1)], Answer.NEGATIVE),
        ([said(False, minute=1), said(True)], Answer.NEGATIVE),
    ],
)
def test_two_questions_make_one_answer_and_cannot_tell_wins(assessments, answer):
    reading = read(*assessments)

    assert reading.answers["key"]["ada"].answer is answer
    assert reading.refused == []


@pytest.mark.parametrize(
    "ignored",
    [
        said(True, kind="LLM_JUDGE"),
        said(True, kind="CODE"),
        said(True, valid=False),
        {"assessment_name": QUESTION, "feedback": {"value": True}},
        "no assessment",
    ],
)
def test_what_no_person_says_is_no_label_and_nobody_is_told(ignored):
    reading = read(ignored)

    assert (reading.answers, reading.refused) == ({"key": {}}, [])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (said("yes"), 'says "yes", and only yes (true) or no (false) count'),
        (said(1), "says 1, and only yes (true)"),
        (said(None), "says null, and only yes (true)"),
        (said([True]), "says [true], and only"),
        (said(True, feedback=None, expectation={"value": True}), "says null, and only"),
        (said(True, name="Is it spam?"), "answers 'Is it spam?', which was not asked"),
        (said(True, who=""), "has no name of who answered"),
        (said(True, who="a" * 201), "is not a name: expected up to 200 characters"),
        (said(True, who="ad\x00a"), "is not a name"),
        (said(True, last_update_time="soon"), "expected ISO 8601"),
        (said(True, last_update_time=None), "has no name of who answered, or no time"),
        (unclear(False), "says that it can be told and not what it is"),
    ],
)
def test_what_is_no_answer_is_refused_with_the_reason(wrong, why):
    reading = read(wrong)

    [refusal] = reading.refused
    assert reading.answers == {"key": {}}
    assert why in refusal.reason
    assert refusal.where.startswith("task key")


def test_what_is_kept_reads_as_what_was_said():
    reading = read(said(True), unclear(True, who="bob"))
    kept = ReviewReading()

    kept.take_stored("key", stored_text(reading.answers["key"]))

    assert kept.answers == reading.answers


@pytest.mark.parametrize(
    "kept", ["", "{}", '[["ada", "perhaps", "2026-03-02T09:00:00Z"]]', "[[1]]"]
)
def test_what_somebody_else_wrote_where_answers_are_kept_is_refused(kept):
    reading = ReviewReading()

    reading.take_stored("key", kept)

    assert reading.answers == {}  # so nothing of it is taken back
    assert "cannot be read" in reading.refused[0].reason
