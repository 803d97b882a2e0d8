"""The current truth of an item from what annotators said."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.labels import Statement, current_answers, current_label
from monitor.domain.model import Answer, LabelKind

NOON = datetime(2025, 3, 10, 12, tzinfo=UTC)


def said(answer, *, by="ada", minute=0, kind=LabelKind.GIVEN):
    return Statement(NOON + timedelta(minutes=minute), by, kind, answer)


def test_an_item_nobody_spoke_about_has_no_label():
    assert current_label([]) is None


def test_the_latest_answer_of_an_annotator_counts():
    label = current_label([said(Answer.POSITIVE, minute=1), said(Answer.NEGATIVE, minute=2)])

    assert label is Answer.NEGATIVE


def test_a_withdrawn_answer_is_gone():
    taken_back = said(None, minute=1, kind=LabelKind.WITHDRAWN)

    assert current_label([said(Answer.POSITIVE), taken_back]) is None


def test_two_answers_of_one_moment_that_differ_are_cannot_tell():
    both = [said(Answer.POSITIVE, minute=1), said(Answer.NEGATIVE, minute=1)]

    assert current_label(both) is Answer.CANNOT_TELL
    assert current_label([*both, said(Answer.POSITIVE, minute=2)]) is Answer.POSITIVE


def test_an_answer_outlives_a_withdrawal_of_the_same_moment():
    taken_back = said(None, kind=LabelKind.WITHDRAWN)

    assert current_label([said(Answer.POSITIVE), taken_back]) is Answer.POSITIVE
    assert current_label([taken_back, said(Answer.POSITIVE)]) is Answer.POSITIVE


def test_the_majority_of_annotators_decides():
    votes = [
        said(Answer.POSITIVE, by="ada"),
        said(Answer.POSITIVE, by="bo"),
        said(Answer.NEGATIVE, by="cy"),
    ]

    assert current_label(votes) is Answer.POSITIVE


def test_a_tie_is_cannot_tell():
    votes = [said(Answer.POSITIVE, by="ada"), said(Answer.NEGATIVE, by="bo")]

    assert current_label(votes) is Answer.CANNOT_TELL


def test_who_cannot_tell_does_not_outvote_who_can():
    votes = [
        said(Answer.CANNOT_TELL, by="ada"),
        said(Answer.CANNOT_TELL, by="bo"),
        said(Answer.NEGATIVE, by="cy"),
    ]

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
    others = [
        said(Answer.POSITIVE, by="ada"),
        said(Answer.CANNOT_TELL, by="eve"),
    ]
    withdrawn = said(None, by="eve", kind=LabelKind.WITHDRAWN)

    assert current_label(others, "eve") is Answer.POSITIVE
    assert current_label([*others, withdrawn], "eve") is Answer.POSITIVE
