"""What the forms of the labeling page send, and why an answer is not taken."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from monitor.domain.page_answer import PageAnswer, read_page_answer
from monitor.service.pages.labeling.outcome import AnswerOutcome
from monitor.service.pages.requests import PageRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

_HIGHEST_REVISION = 1_000_000
_NOT_OPEN = (
    "Nobody asks about this item here, or no longer. The answer was not taken; go on with the next "
    "one."
)
_OUTDATED = (
    "You said something else about this item since this page was made, so this was not taken. "
    "Undo brings the item back."
)
_NOT_YOURS = (
    "You have answered the other copy of this item; this one needs a second person. The answer was "
    "not taken."
)
_NOT_ASSIGNED = (
    "This item is not on your screen: it was never handed to you, or it went to somebody else when "
    "15 minutes were over. The answer was not taken; go on with the next one."
)
_NOT_REQUESTED = (
    "That is no answer to what is asked about this item. Choose one that its page offers."
)
REFUSALS = {
    AnswerOutcome.NOT_OPEN: (HTTPStatus.NOT_FOUND, _NOT_OPEN),
    AnswerOutcome.OUTDATED: (HTTPStatus.CONFLICT, _OUTDATED),
    AnswerOutcome.NOT_YOURS: (HTTPStatus.CONFLICT, _NOT_YOURS),
    AnswerOutcome.NOT_ASSIGNED: (HTTPStatus.CONFLICT, _NOT_ASSIGNED),
    AnswerOutcome.NOT_REQUESTED: (HTTPStatus.BAD_REQUEST, _NOT_REQUESTED),
}


def answer_of(form: Mapping[str, str]) -> PageAnswer:
    """Read the answer that a form gives."""
    try:
        return read_page_answer(form.get("answer", ""))
    except ValueError:
        raise PageRefused(*REFUSALS[AnswerOutcome.NOT_REQUESTED]) from None


def refusal_text(form: Mapping[str, str]) -> tuple[str, int]:
    """Read which task a form is about, and how much had been said of it when it was made."""
    task, revision = form.get("task", ""), form.get("revision", "")
    if "\0" in task or not revision.isdecimal() or int(revision) > _HIGHEST_REVISION:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "This is no form of the page.")
    return task, int(revision)
