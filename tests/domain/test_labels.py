"""The current truth of an item from what annotators said."""

from datetime import UTC, datetime, timedelta

import pytest
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
YES, NO, CANNOT_TELL = Answer.POSITIVE, Answer.NEGATIVE, Answer.CANNOT_TELL


def said(answer, by="ada", *, minute=0, kind=LabelKind.GIVEN):
    return Statement(NOON + timedelta(minutes=minute), by, kind, answer)


def taken_back(by="ada", *, minute=0):
    return said(None, by, minute=minute, kind=LabelKind.WITHDRAWN)


MAJORITY = [said(YES, "ada"), said(YES, "bob"), said(NO, "eve")]
OF_ONE_MOMENT = [said(YES, minute=1), said(NO, minute=1)]


@pytest.mark.parametrize(
    ("statements", "adjudicator", "label"),
    [
        pytest.param([], None, None, id="nothing was said"),
        pytest.param([said(YES, minute=1), said(NO, minute=2)], None, NO, id="the latest counts"),
        pytest.param([said(YES), taken_back(minute=1)], None, None, id="taken back"),
        pytest.param(OF_ONE_MOMENT, None, CANNOT_TELL, id="two answers of one moment"),
        pytest.param([*OF_ONE_MOMENT, said(YES, minute=2)], None, YES, id="and a later one"),
        pytest.param([said(YES), taken_back()], None, YES, id="taken back at that moment"),
        pytest.param([said(YES), said(NO, "bo")], None, CANNOT_TELL, id="a tie"),
        pytest.param(
            [said(CANNOT_TELL), said(CANNOT_TELL, "bo"), said(NO, "cy")],
            *(None, NO),
            id="who cannot tell does not outvote who can",
        ),
        pytest.param(MAJORITY, None, YES, id="a majority"),
        pytest.param(MAJORITY, "eve", NO, id="the adjudicator against a majority"),
        pytest.param(MAJORITY, "nobody", YES, id="an adjudicator who said nothing"),
        pytest.param(
            [said(YES), said(CANNOT_TELL, "eve")], "eve", YES, id="an adjudicator who cannot tell"
        ),
        pytest.param(
            [said(YES), said(CANNOT_TELL, "eve"), taken_back("eve")],
            *("eve", YES),
            id="an adjudicator who took it back",
        ),
    ],
)
def test_the_label_of_an_item(statements, adjudicator, label):
    assert current_label(statements, adjudicator) is label


statements = st.lists(
    st.builds(
        said,
        st.sampled_from(list(Answer)),
        st.sampled_from(["ada", "bo", "cy"]),
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


FIRST, SECOND = said(NO, minute=5), said(YES, "bo", minute=1)


@pytest.mark.parametrize(
    ("statements", "adjudicator", "label"),
    [
        pytest.param([FIRST, SECOND], None, NO, id="the first that was accepted"),
        pytest.param([SECOND, FIRST], None, YES, id="the other way round"),
        pytest.param([FIRST, SECOND, said(YES, minute=6)], None, YES, id="as it stands now"),
        pytest.param([FIRST, SECOND], "bo", YES, id="the adjudicator before all others"),
        pytest.param(
            [FIRST, SECOND, said(CANNOT_TELL, "cy")], "cy", NO, id="an adjudicator who cannot tell"
        ),
        pytest.param([said(NO), said(YES)], None, NO, id="a contradiction of one moment"),
    ],
)
def test_the_answer_that_counts_as_evidence(statements, adjudicator, label):
    assert evidence_label(statements, adjudicator) is label


@given(st.lists(st.tuples(st.sampled_from(list(Answer)), st.sampled_from("abc")), max_size=6))
def test_whether_an_item_is_evidence_does_not_depend_on_what_is_answered(told):
    """Only on who answers: swapping what they say, item by item, counts the same items."""
    swap = {YES: NO, NO: YES}
    statements = [said(answer, by, minute=at) for at, (answer, by) in enumerate(told)]
    for place, each in enumerate(statements):
        swapped = [*statements]
        swapped[place] = each._replace(answer=swap.get(each.answer, each.answer))

        assert (evidence_label(statements) is None) == (evidence_label(swapped) is None)


@pytest.mark.parametrize(
    ("statements", "label"),
    [
        pytest.param([], None, id="nothing was said"),
        pytest.param([said(NO), said(YES, "bo", minute=1)], NO, id="a tie"),
        pytest.param([said(NO), taken_back(minute=2)], NO, id="taken back"),
        pytest.param([said(NO), said(CANNOT_TELL, minute=2)], NO, id="cannot tell any more"),
        pytest.param([said(NO), said(YES, minute=1)], YES, id="changed"),
        pytest.param(
            [said(NO), said(YES, "bo", minute=1), said(YES, "cy", minute=1)], YES, id="outvoted"
        ),
    ],
)
def test_a_correction_moves_evidence_only_to_another_answer(statements, label):
    assert corrected_evidence_label(statements) is label
