"""The label of an item, derived from all answers of its annotators in the order of acceptance.

Estimates use the current majority, and ignore an item if people contradict each other. Evidence
cannot: the promise on false alarms requires that whether an item counts does not depend on its
answers (docs/method.md). So evidence uses one answer of each answered item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from monitor.domain.model import Answer, LabelKind

CLOCK_TOLERANCE = timedelta(minutes=15)
"""How far an annotator's clock may be ahead of this machine's. A later time does not count: no
correction would ever be newer."""

_ANSWERS = frozenset({Answer.POSITIVE, Answer.NEGATIVE})


class Statement(NamedTuple):
    """One stored label event."""

    at: datetime
    annotator: str
    kind: LabelKind
    answer: Answer | None


def current_answers(statements: Iterable[Statement]) -> dict[str, Answer]:
    """Return the latest answer of each annotator, without withdrawn ones.

    At equal times, an answer beats a withdrawal, and two different answers are "cannot tell".
    """
    latest = {
        name: _answer_at_once(latest_statements)
        for name, latest_statements in _latest(statements).items()
    }
    return {name: answer for name, answer in latest.items() if answer is not None}


def _latest(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """Return the latest statements of each annotator: several if their times are equal."""
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
    """Return the majority of the latest answers: "cannot tell" for a tie, None without answers.

    The answer of the ``adjudicator`` decides alone, unless it is "cannot tell".
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
    """Whether people contradict each other on an item and no majority or adjudicator decides."""
    both = {Answer.POSITIVE, Answer.NEGATIVE} <= set(current_answers(statements).values())
    return both and current_label(statements, adjudicator) is Answer.CANNOT_TELL


def evidence_label(
    statements: Sequence[Statement], adjudicator: str | None = None
) -> Answer | None:
    """Return the answer that counts as evidence when a round closes.

    This is the answer of the ``adjudicator``, else the current answer of the annotator whose answer
    was accepted first. Contradicting answers change neither it nor whether the item counts.
    """
    answers = _current(statements)
    if adjudicator in answers:
        return answers[adjudicator]
    first = (statement.annotator for statement in statements if _is_answer(statement))
    return next((answers[name] for name in first if name in answers), None)


def is_unsettled(
    statements: Sequence[Statement], adjudicator: str | None, *, waits: bool = False
) -> bool:
    """Whether the adjudicator may still have to decide on an item; False without an adjudicator.

    This is so if people contradict each other, or if the item ``waits`` for a second person.
    """
    answers = _current(statements)
    is_open = adjudicator is not None and adjudicator not in answers
    return is_open and (waits or len(set(answers.values())) > 1)


def _current(statements: Sequence[Statement]) -> dict[str, Answer | None]:
    """Return the current answer of each annotator; of several with equal times, the first."""
    latest_answers = {
        name: [statement.answer for statement in latest if _is_answer(statement)]
        for name, latest in _latest(statements).items()
    }
    return {name: answers[0] for name, answers in latest_answers.items() if answers}


def corrected_evidence_label(
    statements: Sequence[Statement], adjudicator: str | None = None
) -> Answer | None:
    """Return the answer that counts when evidence is recomputed with today's labels.

    Changed answers count as they are now. An item whose answer was withdrawn keeps it: a withdrawal
    does not show that the answer was wrong.
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
