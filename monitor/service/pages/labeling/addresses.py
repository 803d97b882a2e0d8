"""The labeling page's addresses: the next item, its pictures and HTML, an answer, its undoing.

Each works as a plain form. What the script of the page asks for is the same, as JSON.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from monitor.domain.page_answer import PageAnswer
from monitor.domain.shown import Value, image_type, picture_bytes
from monitor.service.pages.labeling.offered import question_values
from monitor.service.pages.labeling.outcome import answer_of, refuse, task_of
from monitor.service.pages.labeling.shown import FRAME_HEADERS, framed, parts_of
from monitor.service.pages.labeling.task_queue import Screen, TaskQueue
from monitor.service.pages.rendering import html_page, wants_json
from monitor.service.pages.requests import Labeling, OwnForm, PageRefused
from monitor.service.pages.sessions import WebSession

router = APIRouter(prefix="/label")

_LOCATION = re.compile(r"[0-9]{1,4}")


@router.get("")
def item_page(request: Request, session: Labeling, task: str = "") -> Response:
    """Show the next item, or that nothing is left."""
    screen: Screen = request.app.state.desk.screen(session.annotator, first=task)
    shared = {"visit": session, "progress": screen.progress, "last": screen.last}
    if screen.round_ is None:
        return html_page("labeling/done.html", **shared)
    item = screen.tasks[0]
    return html_page(
        "labeling/item.html",
        round_name=screen.round_.name,
        item=item,
        parts=parts_of(item.shown, item.key),
        **question_values(screen.round_),
        **shared,
    )


@router.get("/next")
def next_items(request: Request, session: Labeling) -> Response:
    """Return the next items to the script of the page."""
    screen: Screen = request.app.state.desk.screen(session.annotator)
    items = [
        {
            "task": item.key,
            "revision": item.revision,
            "parts": [part._asdict() for part in parts_of(item.shown, item.key)],
        }
        for item in screen.tasks
    ]
    name = None if screen.round_ is None else screen.round_.name
    return JSONResponse({"round": name, "items": items, "progress": screen.progress.text})


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
    task, revision = task_of(form)
    refuse(queue.record_answer(session.annotator, task, answer, revision))
    if wants_json(request):
        return JSONResponse({"progress": queue.progress(session.annotator).text})
    back = f"/label?task={task}" if answer is None else "/label"
    return RedirectResponse(back, HTTPStatus.SEE_OTHER)


@router.get("/picture")
def show_picture(request: Request, session: Labeling, task: str = "", part: str = "") -> Response:
    """Return a picture of a task that is on the person's screen, or was."""
    value = _part_of(request, session, task, part, "image")
    data = picture_bytes(value["value"]) if "value" in value else b""
    media_type = image_type(data)
    if media_type is None:
        raise _nothing_there()
    return Response(data, media_type=media_type)


@router.get("/html")
def show_html(request: Request, session: Labeling, task: str = "", part: str = "") -> Response:
    """Return HTML of such a task, for a frame that neither runs nor loads anything."""
    value = _part_of(request, session, task, part, "html")
    return HTMLResponse(framed(value["value"]), headers=FRAME_HEADERS)


def _part_of(
    request: Request, session: WebSession, task: str, part: str, kind: str
) -> Mapping[str, Any]:
    shown = None if "\0" in task else request.app.state.desk.shown_to(session.annotator, task)
    by_position: dict[int, Value] = dict(enumerate((shown or {}).values()))
    value = by_position.get(int(part) if _LOCATION.fullmatch(part) else -1)
    if value is None or isinstance(value, str) or value["kind"] != kind:
        raise _nothing_there()
    return value


def _nothing_there() -> PageRefused:
    message = "There is nothing to show here, or no longer."
    return PageRefused(HTTPStatus.NOT_FOUND, message)
