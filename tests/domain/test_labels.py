"""The current truth of an item from what annotators said."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.labels import Statement, current_answers, current_label
from monitor.domain.model import Answer, LabelKind

NOON = datetime(2025, 3, 10, 12, tzinfo=UTC)


def said(answer, *, by="ada", minute=0, arrival=0, kind=LabelKind.GIVEN):
    return Statement(NOON + timedelta(minutes=minute), arrival, by, kind, answer)


def test_an_item_nobody_spoke_about_has_no_label():
    assert current_label([]) is None


def test_the_latest_answer_of_an_annotator_counts():
    label = current_label([said(Answer.POSITIVE, minute=1), said(Answer.NEGATIVE, minute=2)])

    assert label is Answer.NEGATIVE


def test_a_withdrawn_answer_is_gone():
    taken_back = said(None, minute=1, kind=LabelKind.WITHDRAWN)

    assert current_label([said(Answer.POSITIVE), taken_back]) is None


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
).map(lambda found: [each._replace(arrival=i) for i, each in enumerate(found)])


@given(statements, st.randoms(use_true_random=False))
def test_the_order_of_arrival_in_memory_does_not_matter(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)

    assert current_answers(shuffled) == current_answers(found)
    assert current_label(shuffled) == current_label(found)


def test_the_adjudicators_answer_decides_against_any_majority():
    answers = [
        said(Answer.POSITIVE, by="ada", arrival=1),
        said(Answer.POSITIVE, by="bob", arrival=2),
        said(Answer.NEGATIVE, by="eve", arrival=3),
    ]

    assert current_label(answers) is Answer.POSITIVE
    assert current_label(answers, "eve") is Answer.NEGATIVE
    assert current_label(answers, "nobody") is Answer.POSITIVE


def test_an_adjudicator_who_cannot_tell_or_took_it_back_leaves_it_to_the_others():
    others = [
        said(Answer.POSITIVE, by="ada", arrival=1),
        said(Answer.CANNOT_TELL, by="eve", arrival=2),
    ]
    withdrawn = said(None, by="eve", arrival=3, kind=LabelKind.WITHDRAWN)

    assert current_label(others, "eve") is Answer.POSITIVE
    assert current_label([*others, withdrawn], "eve") is Answer.POSITIVE
