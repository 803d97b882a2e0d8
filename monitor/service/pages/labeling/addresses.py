"""The labeling page's addresses: the next item, an answer, and its undoing.

Each works as a plain form. What the script of the page asks for is the same, as JSON.
"""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from monitor.domain.model import Answer
from monitor.service.pages.labeling.desk import Desk, Handed, Outcome, Screen
from monitor.service.pages.labeling.guideline import as_html
from monitor.service.pages.labeling.shown import parts_of
from monitor.service.pages.rendering import html_page, wants_json
from monitor.service.pages.requests import OwnForm, PageRefused, Visitor
from monitor.service.pages.visits import Visit

router = APIRouter(prefix="/label")

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
_REFUSALS = {
    Outcome.NOT_OPEN: (HTTPStatus.NOT_FOUND, _NOT_OPEN),
    Outcome.OUTDATED: (HTTPStatus.CONFLICT, _OUTDATED),
    Outcome.NOT_YOURS: (HTTPStatus.CONFLICT, _NOT_YOURS),
}


@router.get("")
def item_page(request: Request, visit: Visitor, task: str = "") -> Response:
    """Show the next item, or that nothing is left."""
    screen = request.app.state.desk.screen(visit.annotator, first=task)
    return _item_page(screen, visit)


@router.get("/next")
def next_items(request: Request, visit: Visitor) -> Response:
    """Give the next items to the script of the page."""
    screen = request.app.state.desk.screen(visit.annotator)
    return JSONResponse(_as_json(screen))


@router.post("/answer")
def give_answer(request: Request, visit: Visitor, form: OwnForm) -> Response:
    """Take an answer."""
    try:
        answer = Answer(form.get("answer", ""))
    except ValueError:
        answers = ", ".join(Answer)
        raise PageRefused(HTTPStatus.BAD_REQUEST, f"An answer is one of {answers}.") from None
    return _said(request, visit, form, answer)


@router.post("/undo")
def undo_answer(request: Request, visit: Visitor, form: OwnForm) -> Response:
    """Take an answer back."""
    return _said(request, visit, form, None)


def _said(request: Request, visit: Visit, form: dict[str, str], answer: Answer | None) -> Response:
    desk: Desk = request.app.state.desk
    task, revision = form.get("task", ""), form.get("revision", "")
    if "\0" in task or not revision.isdecimal() or int(revision) > _HIGHEST_REVISION:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "This is no form of the page.")
    outcome = desk.say(visit.annotator, task, answer, int(revision))
    if outcome is not Outcome.TAKEN:
        raise PageRefused(*_REFUSALS[outcome])
    if wants_json(request):
        return JSONResponse({"progress": desk.progress(visit.annotator).text})
    back = f"/label?task={task}" if answer is None else "/label"
    return RedirectResponse(back, HTTPStatus.SEE_OTHER)


def _item_page(screen: Screen, visit: Visit) -> Response:
    if screen.round_ is None:
        return html_page(
            "labeling/done.html", visit=visit, progress=screen.progress, last=screen.last
        )
    item = screen.tasks[0]
    return html_page(
        "labeling/item.html",
        visit=visit,
        question=screen.round_.question,
        guideline=as_html(screen.round_.guideline),
        round_name=screen.round_.name,
        item=item,
        parts=parts_of(item.shown),
        progress=screen.progress,
        last=screen.last,
    )


def _as_json(screen: Screen) -> dict[str, Any]:
    return {
        "round": None if screen.round_ is None else screen.round_.name,
        "items": [_item_as_json(item) for item in screen.tasks],
        "progress": screen.progress.text,
    }


def _item_as_json(item: Handed) -> dict[str, Any]:
    parts = [part._asdict() for part in parts_of(item.shown)]
    return {"task": item.key, "revision": item.revision, "parts": parts}
