"""What becomes of what somebody says, as far as it follows from what they said before."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.domain.page_answer import PageAnswer
    from monitor.storage.pages.control_store import ControlStatement
    from monitor.storage.pages.page_store import PageStatement

    ChosenAnswer = PageStatement | ControlStatement


class AnswerOutcome(Enum):
    """What became of what somebody said."""

    TAKEN = auto()
    NOT_OPEN = auto()
    OUTDATED = auto()
    NOT_YOURS = auto()
    NOT_ASSIGNED = auto()
    NOT_REQUESTED = auto()


def judged(
    before: ChosenAnswer | None, answer: PageAnswer | None, revision: int
) -> AnswerOutcome | None:
    """Judge an answer, or with None an undoing, by what the person said ``before``.

    ``revision`` counts what they had said when they saw the item. None if it is to be taken;
    `Outcome.TAKEN` where it was, since what is sent again is taken once.
    """
    if before is not None and (before.revision, before.answer) == (revision + 1, answer):
        return AnswerOutcome.TAKEN
    if revision_of(before) != revision or (answer is None and not stands(before)):
        return AnswerOutcome.OUTDATED
    return None


def revision_of(answer: ChosenAnswer | None) -> int:
    """Count the answers of a person, by their latest statement."""
    return 0 if answer is None else answer.revision


def stands(answer: ChosenAnswer | None) -> bool:
    """Whether a statement is an answer, and not an undoing or nothing."""
    return answer is not None and answer.answer is not None
