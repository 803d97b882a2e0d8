"""Outcome of an answer, as far as it depends on the person's earlier answers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus

from monitor.domain.page_answer import PageAnswer, read_page_answer
from monitor.service.pages.requests import PageRefused
from monitor.storage.pages.page_store import PageStatement

_HIGHEST_REVISION = 1_000_000


class AnswerOutcome(Enum):
    """Outcome of an answer, with status and message of a refusal."""

    TAKEN = (HTTPStatus.OK, "")
    NOT_OPEN = (
        HTTPStatus.NOT_FOUND,
        "This item needs no answer here any longer. The answer was not saved; continue with the "
        "next one.",
    )
    OUTDATED = (
        HTTPStatus.CONFLICT,
        "You answered this item differently after this page was loaded, so this was not saved. "
        "Undo brings the item back.",
    )
    NOT_YOURS = (
        HTTPStatus.CONFLICT,
        "You have answered the other copy of this item; this one needs a second person. The answer "
        "was not saved.",
    )
    NOT_ASSIGNED = (
        HTTPStatus.CONFLICT,
        "This item is not on your screen: it was never handed to you, or it went to somebody else "
        "when 15 minutes were over. The answer was not saved; continue with the next one.",
    )
    NOT_REQUESTED = (
        HTTPStatus.BAD_REQUEST,
        "This answer is not offered for this item. Choose one that its page offers.",
    )


def judged(
    latest: PageStatement | None, answer: PageAnswer | None, revision: int
) -> AnswerOutcome | None:
    """Judge an answer, or with None an undo, by the ``latest`` answer of the person.

    ``revision`` is the number of their answers when they saw the item. Returns None if the answer
    is to be stored; `AnswerOutcome.TAKEN` if it is already: an answer that is sent again counts
    once.
    """
    if latest is not None and (latest.revision, latest.answer) == (revision + 1, answer):
        return AnswerOutcome.TAKEN
    if revision_of(latest) != revision or (answer is None and not stands(latest)):
        return AnswerOutcome.OUTDATED
    return None


def revision_of(answer: PageStatement | None) -> int:
    """Count the answers of a person, by their latest statement."""
    return 0 if answer is None else answer.revision


def stands(answer: PageStatement | None) -> bool:
    """Whether a statement is an answer, and not an undoing or nothing."""
    return answer is not None and answer.answer is not None


def refuse(outcome: AnswerOutcome) -> None:
    """Raise the refusal of an answer, unless it was taken."""
    if outcome is not AnswerOutcome.TAKEN:
        raise PageRefused(*outcome.value)


def answer_of(form: Mapping[str, str]) -> PageAnswer:
    """Read the answer that a form gives."""
    try:
        return read_page_answer(form.get("answer", ""))
    except ValueError:
        raise PageRefused(*AnswerOutcome.NOT_REQUESTED.value) from None


def task_of(form: Mapping[str, str]) -> tuple[str, int]:
    """Read the task of a form, and its revision when the form was made."""
    task, revision = form.get("task", ""), form.get("revision", "")
    if "\0" in task or not revision.isdecimal() or int(revision) > _HIGHEST_REVISION:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "This form does not belong to this page.")
    return task, int(revision)
