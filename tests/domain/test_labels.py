"""The current truth of an item from what annotators said."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.labels import (
    Statement,
    corrected_evidence_label,
    current_answers,
    current_label,
    evidence_label,
)
from monitor.domain.model import Answer, LabelKind

NOON = datetime(2025, 3, 10, 12, tzinfo=UTC)


def said(answer, *, by="ada", minute=0, kind=LabelKind.GIVEN):
    return Statement(NOON + timedelta(minutes=minute), by, kind, answer)


def test_the_latest_answer_of_an_annotator_counts():
    label = current_label([said(Answer.POSITIVE, minute=1), said(Answer.NEGATIVE, minute=2)])

    assert label is Answer.NEGATIVE


def test_a_withdrawn_answer_is_gone():
    taken_back = said(None, minute=1, kind=LabelKind.WITHDRAWN)

    assert current_label([said(Answer.POSITIVE), taken_back]) is None
    assert current_label([]) is None


def test_two_answers_of_one_moment_that_differ_are_cannot_tell():
    both = [said(Answer.POSITIVE, minute=1), said(Answer.NEGATIVE, minute=1)]

    assert current_label(both) is Answer.CANNOT_TELL
    assert current_label([*both, said(Answer.POSITIVE, minute=2)]) is Answer.POSITIVE


def test_an_answer_outlives_a_withdrawal_of_the_same_moment():
    taken_back = said(None, kind=LabelKind.WITHDRAWN)

    assert current_label([said(Answer.POSITIVE), taken_back]) is Answer.POSITIVE
    assert current_label([taken_back, said(Answer.POSITIVE)]) is Answer.POSITIVE


def test_a_tie_is_cannot_tell_and_who_cannot_tell_does_not_outvote_who_can():
    tie = [said(Answer.POSITIVE, by="ada"), said(Answer.NEGATIVE, by="bo")]
    votes = [
        said(Answer.CANNOT_TELL, by="ada"),
        said(Answer.CANNOT_TELL, by="bo"),
        said(Answer.NEGATIVE, by="cy"),
    ]

    assert current_label(tie) is Answer.CANNOT_TELL
    assert current_label(votes) is Answer.NEGATIVE


statements = st.lists(
    st.builds(
        said,
        st.sampled_from(list(Answer)),
        by=st.sampled_from(["ada", "bo", "cy"]),
        minute=st.integers(0, 5),
        kind=st.sampled_from(list(LabelKind)),
    ),
    max_size=8,
)


@given(statements, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)

    assert current_answers(shuffled) == current_answers(found)
    assert current_label(shuffled) == current_label(found)


def test_the_adjudicators_answer_decides_against_any_majority():
    answers = [
        said(Answer.POSITIVE, by="ada"),
        said(Answer.POSITIVE, by="bob"),
        said(Answer.NEGATIVE, by="eve"),
    ]

    assert current_label(answers) is Answer.POSITIVE
    assert current_label(answers, "eve") is Answer.NEGATIVE
    assert current_label(answers, "nobody") is Answer.POSITIVE


def test_an_adjudicator_who_cannot_tell_or_took_it_back_leaves_it_to_the_others():
    others = [said(Answer.POSITIVE, by="ada"), said(Answer.CANNOT_TELL, by="eve")]
    withdrawn = said(None, by="eve", kind=LabelKind.WITHDRAWN)

    assert current_label(others, "eve") is Answer.POSITIVE
    assert current_label([*others, withdrawn], "eve") is Answer.POSITIVE


def test_evidence_takes_the_answer_that_was_accepted_first_as_it_stands_now():
    first, second = said(Answer.NEGATIVE, minute=5), said(Answer.POSITIVE, by="bo", minute=1)
    corrected = said(Answer.POSITIVE, minute=6)

    assert evidence_label([first, second]) is Answer.NEGATIVE
    assert evidence_label([second, first]) is Answer.POSITIVE
    assert evidence_label([first, second, corrected]) is Answer.POSITIVE


def test_evidence_takes_the_answer_of_the_adjudicator_before_all_others():
    votes = [said(Answer.NEGATIVE), said(Answer.POSITIVE, by="bo")]

    assert evidence_label(votes, "bo") is Answer.POSITIVE
    assert evidence_label([*votes, said(Answer.CANNOT_TELL, by="cy")], "cy") is Answer.NEGATIVE


@given(st.lists(st.tuples(st.sampled_from(list(Answer)), st.sampled_from("abc")), max_size=6))
def test_whether_an_item_is_evidence_does_not_depend_on_what_is_answered(told):
    """Only on who answers: swapping what they say, item by item, counts the same items."""
    swap = {Answer.POSITIVE: Answer.NEGATIVE, Answer.NEGATIVE: Answer.POSITIVE}
    statements = [said(answer, by=by, minute=at) for at, (answer, by) in enumerate(told)]
    for place, each in enumerate(statements):
        swapped = [*statements]
        swapped[place] = each._replace(answer=swap.get(each.answer, each.answer))

        assert (evidence_label(statements) is None) == (evidence_label(swapped) is None)


def test_evidence_of_one_moment_that_contradicts_itself_counts_all_the_same():
    both = [said(Answer.NEGATIVE), said(Answer.POSITIVE)]

    assert current_label(both) is Answer.CANNOT_TELL
    assert evidence_label(both) is Answer.NEGATIVE


def test_an_item_that_lost_its_answer_keeps_the_one_that_it_had():
    mine, other = said(Answer.NEGATIVE), said(Answer.POSITIVE, by="bo", minute=1)
    taken_back = said(None, minute=2, kind=LabelKind.WITHDRAWN)
    declined = said(Answer.CANNOT_TELL, minute=2)

    assert corrected_evidence_label([mine, other]) is Answer.NEGATIVE
    assert corrected_evidence_label([mine, taken_back]) is Answer.NEGATIVE
    assert corrected_evidence_label([mine, declined]) is Answer.NEGATIVE


def test_an_answer_that_was_changed_or_outvoted_counts_as_it_is_now():
    mine = said(Answer.NEGATIVE)
    others = [said(Answer.POSITIVE, by=name, minute=1) for name in ("bo", "cy")]

    assert corrected_evidence_label([mine, said(Answer.POSITIVE, minute=1)]) is Answer.POSITIVE
    assert corrected_evidence_label([mine, *others]) is Answer.POSITIVE
    assert corrected_evidence_label([]) is None
