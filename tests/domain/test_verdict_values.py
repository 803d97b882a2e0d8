"""Which values of a column of verdicts are doubtful."""

import pytest

from monitor.domain.judge import Judge
from monitor.domain.values import core_text
from monitor.domain.verdict_values import doubtful_verdicts


@pytest.mark.parametrize(
    "text",
    ["Yes", " YES. ", "**yes**", "```\nyes\n```", '```json {"verdict": "yes"} ```', '["Yes"]'],
)
def test_only_the_form_of_these_differs_from_yes(text):
    judge = Judge(column="verdict", positive="yes")

    doubtful = doubtful_verdicts(judge, {"no": 900, text: 1}, 10)

    assert (core_text(text), doubtful.positive_in_form) == ("yes", {text: 1})
    assert not doubtful.unlisted


@pytest.mark.parametrize("text", ["not yes", "yesterday", "no", '{"verdict": "yes", "why": "it"}'])
def test_another_word_is_another_value(text):
    judge = Judge(column="verdict", positive="yes")

    assert not doubtful_verdicts(judge, {text: 900}, 10).positive_in_form


@pytest.mark.parametrize(
    ("values", "unlisted"),
    [
        ({"no": 900}, False),
        ({"no": 900, "n0": 10}, False),
        ({"no": 900, "I cannot help with that": 11}, True),
        ({"I cannot help with that": 900}, True),
        ({"unknown": 900}, True),
        ({"```no```": 900}, True),
        ({}, False),
    ],
)
def test_without_a_list_one_plain_answer_is_the_no(values, unlisted):
    judge = Judge(column="verdict", positive="yes")

    assert doubtful_verdicts(judge, values, 10).unlisted == (values if unlisted else {})


def test_with_a_list_all_other_values_are_doubtful_once_they_are_many():
    judge = Judge(column="verdict", positive=True, negative=("no", False))
    values = {"no": 900, "false": 20, "unsure": 11}

    assert doubtful_verdicts(judge, values, 10).unlisted == {"unsure": 11}
    assert not doubtful_verdicts(judge, values, 11).unlisted
