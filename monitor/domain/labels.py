"""What counts for an item, from all answers of its annotators, in the order of acceptance.

Estimates take the majority of today, and nothing if people contradict each other. Evidence must
not: the promise on false alarms holds only where it does not depend on answers whether an item
counts (docs/method.md). So it takes one answer to each answered item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from monitor.domain.model import Answer, LabelKind

CLOCK_TOLERANCE = timedelta(minutes=15)
"""By how much the clock of whoever labels may be ahead of this machine's. A later time is none: no
correction would ever be newer."""

_ANSWERS = frozenset({Answer.POSITIVE, Answer.NEGATIVE})


class Statement(NamedTuple):
    """One stored label event."""

    at: datetime
    annotator: str
    kind: LabelKind
    answer: Answer | None


def current_answers(statements: Iterable[Statement]) -> dict[str, Answer]:
    """Latest standing answer of each annotator; withdrawn ones are gone.

    Of the same moment, an answer outlives a withdrawal, and two that differ are "cannot tell".
    """
    latest = {
        name: _answer_at_once(latest_statements)
        for name, latest_statements in _latest(statements).items()
    }
    return {name: answer for name, answer in latest.items() if answer is not None}


def _latest(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """Find the latest statements of each annotator: several where they have the same time."""
    latest: dict[str, list[Statement]] = {}
    for statement in statements:
        value = latest.get(statement.annotator, [])
        if not value or statement.at > value[0].at:
            latest[statement.annotator] = [statement]
        elif statement.at == value[0].at:
            value.append(statement)
    return latest


def _answer_at_once(statements: Iterable[Statement]) -> Answer | None:
    answers = {
        statement.answer
        for statement in statements
        if statement.kind is LabelKind.GIVEN and statement.answer is not None
    }
    return answers.pop() if len(answers) == 1 else Answer.CANNOT_TELL if answers else None


def current_label(statements: Iterable[Statement], adjudicator: str | None = None) -> Answer | None:
    """Majority of the annotators' latest answers; a tie is "cannot tell", none is None.

    The answer of the ``adjudicator`` decides alone, unless it is that nobody can tell.
    """
    answers = current_answers(statements)
    decided = answers.get(adjudicator) if adjudicator is not None else None
    if decided is not None and decided is not Answer.CANNOT_TELL:
        return decided
    votes = Counter(answers.values())
    if not votes:
        return None
    positive, negative = votes[Answer.POSITIVE], votes[Answer.NEGATIVE]
    if positive == negative:
        return Answer.CANNOT_TELL
    return Answer.POSITIVE if positive > negative else Answer.NEGATIVE


def is_disputed(statements: Sequence[Statement], adjudicator: str | None = None) -> bool:
    """Whether people contradict each other about an item and neither most nor one decided."""
    both = {Answer.POSITIVE, Answer.NEGATIVE} <= set(current_answers(statements).values())
    return both and current_label(statements, adjudicator) is Answer.CANNOT_TELL


def evidence_label(
    statements: Sequence[Statement], adjudicator: str | None = None
) -> Answer | None:
    """Choose the answer that counts as evidence when a round closes.

    The ``adjudicator``'s, else the answer of the annotator whose answer was accepted first, as it
    stands now. Others who contradict it change neither it nor whether the item counts.
    """
    answers = _current(statements)
    if adjudicator in answers:
        return answers[adjudicator]
    first = (statement.annotator for statement in statements if _is_answer(statement))
    return next((answers[name] for name in first if name in answers), None)


def is_unsettled(
    statements: Sequence[Statement], adjudicator: str | None, *, waits: bool = False
) -> bool:
    """Whether an adjudicator may still have to decide about an item; without one nobody does.

    So it is where people contradict each other, or where it ``waits`` for a second person.
    """
    answers = _current(statements)
    is_open = adjudicator is not None and adjudicator not in answers
    return is_open and (waits or len(set(answers.values())) > 1)


def _current(statements: Sequence[Statement]) -> dict[str, Answer | None]:
    """Answer of each annotator as it is now, the first of several given at once."""
    latest_answers = {
        name: [statement.answer for statement in latest if _is_answer(statement)]
        for name, latest in _latest(statements).items()
    }
    return {name: answers[0] for name, answers in latest_answers.items() if answers}


def corrected_evidence_label(
    statements: Sequence[Statement], adjudicator: str | None = None
) -> Answer | None:
    """Choose the answer that counts when evidence is recomputed with the labels of today.

    Changed answers count as they are now. An item that lost its answer keeps the one that it had:
    to take answers away is not to show that they were wrong.
    """
    label = current_label(statements, adjudicator)
    if label in _ANSWERS:
        return label
    at_close = evidence_label(statements, adjudicator)
    answers = [statement for statement in statements if _is_answer(statement)]
    if at_close is not None or not answers:
        return at_close
    same_annotator = [
        statement for statement in answers if statement.annotator == answers[0].annotator
    ]
    return max(same_annotator, key=lambda statement: statement.at).answer


def _is_answer(statement: Statement) -> bool:
    return statement.kind is LabelKind.GIVEN and statement.answer in _ANSWERS
