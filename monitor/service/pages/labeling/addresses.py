"""The labeling page's addresses: the next item, an answer, and its undoing.

Each works as a plain form. What the script of the page asks for is the same, as JSON.
"""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from monitor.domain.page_answer import PageAnswer
from monitor.service.pages.labeling.guideline import as_html
from monitor.service.pages.labeling.offered import offered
from monitor.service.pages.labeling.outcome import REFUSALS, AnswerOutcome, answer_of, refusal_text
from monitor.service.pages.labeling.shown import parts_of
from monitor.service.pages.labeling.task_queue import AssignedTask, Screen, TaskQueue
from monitor.service.pages.rendering import html_page, message_page, wants_json
from monitor.service.pages.requests import Labeling, OwnForm, PageRefused
from monitor.service.pages.sessions import WebSession

router = APIRouter(prefix="/label")


@router.get("")
def item_page(request: Request, session: Labeling, task: str = "") -> Response:
    """Show the next item, or that nothing is left."""
    screen = request.app.state.desk.screen(session.annotator, first=task)
    return _item_page(screen, session)


@router.get("/next")
def next_items(request: Request, session: Labeling) -> Response:
    """Give the next items to the script of the page."""
    screen = request.app.state.desk.screen(session.annotator)
    return JSONResponse(_as_json(screen))


@router.post("/answer")
def give_answer(request: Request, session: Labeling, form: OwnForm) -> Response:
    """Take an answer."""
    return _notice(request, session, form, answer_of(form))


@router.post("/undo")
def undo_answer(request: Request, session: Labeling, form: OwnForm) -> Response:
    """Take an answer back."""
    return _notice(request, session, form, None)


def _notice(
    request: Request, session: WebSession, form: dict[str, str], answer: PageAnswer | None
) -> Response:
    queue: TaskQueue = request.app.state.desk
    task, revision = refusal_text(form)
    outcome = queue.record_answer(session.annotator, task, answer, revision)
    if outcome is not AnswerOutcome.TAKEN:
        raise PageRefused(*REFUSALS[outcome])
    feedback = None if answer is None else queue.feedback(session.annotator, task)
    if wants_json(request):
        progress = queue.progress(session.annotator).text
        return JSONResponse({"progress": progress, "known": feedback})
    if feedback is not None:
        return message_page(HTTPStatus.OK, feedback, role=session.role)
    back = f"/label?task={task}" if answer is None else "/label"
    return RedirectResponse(back, HTTPStatus.SEE_OTHER)


def _item_page(screen: Screen, session: WebSession) -> Response:
    if screen.round_ is None:
        return html_page(
            "labeling/done.html", visit=session, progress=screen.progress, last=screen.last
        )
    item = screen.tasks[0]
    return html_page(
        "labeling/item.html",
        visit=session,
        question=screen.round_.question,
        guideline=as_html(screen.round_.guideline),
        round_name=screen.round_.name,
        offered=offered(screen.round_.choices),
        item=item,
        parts=parts_of(item.shown, item.key),
        progress=screen.progress,
        last=screen.last,
    )


def _as_json(screen: Screen) -> dict[str, Any]:
    return {
        "round": None if screen.round_ is None else screen.round_.name,
        "items": [_item_as_json(item) for item in screen.tasks],
        "progress": screen.progress.text,
    }


def _item_as_json(item: AssignedTask) -> dict[str, Any]:
    parts = [part._asdict() for part in parts_of(item.shown, item.key)]
    return {"task": item.key, "revision": item.revision, "parts": parts}
