"""The current truth of an item, from everything annotators said about it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.model import Answer, LabelKind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


class Statement(NamedTuple):
    """One stored label event; ordered by the annotator's time, then by arrival."""

    at: datetime
    arrival: int
    annotator: str
    kind: LabelKind
    answer: Answer | None


def current_answers(statements: Iterable[Statement]) -> dict[str, Answer]:
    """Latest standing answer of each annotator; withdrawn ones are gone."""
    latest: dict[str, Statement] = {}
    for statement in sorted(statements, key=lambda s: (s.at, s.arrival)):
        latest[statement.annotator] = statement
    return {
        name: statement.answer
        for name, statement in latest.items()
        if statement.kind is LabelKind.GIVEN and statement.answer is not None
    }


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
