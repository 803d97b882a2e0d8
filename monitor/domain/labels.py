"""The current truth of an item, from everything annotators said about it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.model import Answer, LabelKind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


class Statement(NamedTuple):
    """One stored label event."""

    at: datetime
    annotator: str
    kind: LabelKind
    answer: Answer | None


def current_answers(statements: Iterable[Statement]) -> dict[str, Answer]:
    """Latest standing answer of each annotator; withdrawn ones are gone.

    What one annotator said at the same moment counts the same in any order of arrival: an answer
    outlives a withdrawal, since no answer may be lost, and two that differ are "cannot tell".
    """
    latest: dict[str, list[Statement]] = {}
    for statement in statements:
        found = latest.get(statement.annotator, [])
        if not found or statement.at > found[0].at:
            latest[statement.annotator] = [statement]
        elif statement.at == found[0].at:
            found.append(statement)
    standing = {name: _said_at_once(found) for name, found in latest.items()}
    return {name: answer for name, answer in standing.items() if answer is not None}


def _said_at_once(statements: Iterable[Statement]) -> Answer | None:
    answers = {
        each.answer
        for each in statements
        if each.kind is LabelKind.GIVEN and each.answer is not None
    }
    return answers.pop() if len(answers) == 1 else Answer.CANNOT_TELL if answers else None


def current_label(statements: Iterable[Statement], adjudicator: str | None = None) -> Answer | None:
    """Majority of the annotators' latest answers; a tie is "cannot tell", none is None.

    An annotator who cannot tell does not outvote one who can. The answer of the ``adjudicator``
    decides alone, unless it is that nobody can tell.
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
