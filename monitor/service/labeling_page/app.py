"""The page's addresses: the next item, an answer, its undoing, and the way in.

Each works as a plain form. What the script of the page asks for is the same, as JSON.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import parse_qsl

import structlog
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from monitor.domain.errors import MonitorError
from monitor.domain.model import Answer
from monitor.service.labeling_page.desk import Desk, Handed, Outcome, Screen
from monitor.service.labeling_page.guard import Guard
from monitor.service.labeling_page.guideline import as_html
from monitor.service.labeling_page.shown import parts_of
from monitor.service.labeling_page.visits import VISIT, Links, Visit, Visits, annotator_name

log = structlog.get_logger("monitor.labeling_page")

_HERE = Path(__file__).parent
_MOST_FIELDS = 8
_HIGHEST_REVISION = 1_000_000
_PAGES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_SEE_OTHER = HTTPStatus.SEE_OTHER
# FastAPI would tell any provider of the process, such as MLflow's, the addresses and so the links.
_NO_TELEMETRY: TelemetryConfig = {
    "auto_configure": False,
    "tracing": False,
    "metrics": False,
    "logs": False,
    "exclude": lambda _: True,
}

_NO_VISIT = (
    "You are not signed in here, or no longer. Where pr-monitor runs it shows a link: open that. "
    "Answers that wait in this tab are kept, and sent then."
)
_NO_LINK = (
    "This link was used, or is not the newest one. Each works once. Where pr-monitor runs it "
    "shows one that works."
)
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


@dataclass(frozen=True, slots=True)
class Entrance:
    """How people come in: the link, the name that is proposed, and who is told of a new link."""

    links: Links
    name: str
    entered: Callable[[str], None]


class PageRefused(Exception):
    """A request that is answered with a sentence."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def labeling_page(desk: Desk, entrance: Entrance, *, host: str, port: int) -> Guard:
    """Make the application that serves the page on an address of this machine."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, telemetry=_NO_TELEMETRY)
    app.state.desk = desk
    app.state.visits = Visits(desk.database, desk.clock)
    app.state.entrance = entrance
    app.state.cookie = f"pr_monitor_{port}"  # its ports share a machine's cookies
    app.add_exception_handler(PageRefused, _refused)
    for status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        app.add_exception_handler(status, _no_page)
    app.add_exception_handler(MonitorError, _unavailable)
    app.get("/")(item_page)
    app.get("/next")(next_items)
    app.post("/answer")(give_answer)
    app.post("/undo")(undo_answer)
    app.get("/enter")(entrance_page)
    app.post("/enter")(enter)
    app.post("/leave")(leave)
    app.mount("/static", StaticFiles(directory=_HERE / "static"))
    return Guard(app, host)


# What the addresses need


async def form_of(request: Request) -> dict[str, str]:
    """Read the fields of a form."""
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "This is no form of the page.") from None
    return dict(fields)


def visit_of(request: Request) -> Visit:
    """Find who asks."""
    state = request.app.state
    visit: Visit | None = state.visits.find(request.cookies.get(state.cookie, ""))
    if visit is None:
        raise PageRefused(HTTPStatus.UNAUTHORIZED, _NO_VISIT)
    return visit


Form = Annotated[dict[str, str], Depends(form_of)]
Visitor = Annotated[Visit, Depends(visit_of)]


def own_form(visit: Visitor, form: Form) -> dict[str, str]:
    """Take a form of a page of the same visit, and no other."""
    if not visit.made(form.get("form_token", "")):
        raise PageRefused(HTTPStatus.FORBIDDEN, "This form is of another visit; reload the page.")
    return form


OwnForm = Annotated[dict[str, str], Depends(own_form)]


# Labeling


def item_page(request: Request, visit: Visitor, task: str = "") -> Response:
    """Show the next item, or that nothing is left."""
    screen = request.app.state.desk.screen(visit.annotator, first=task)
    return _item_page(screen, visit)


def next_items(request: Request, visit: Visitor) -> Response:
    """Give the next items to the script of the page."""
    screen = request.app.state.desk.screen(visit.annotator)
    return JSONResponse(_as_json(screen))


def give_answer(request: Request, visit: Visitor, form: OwnForm) -> Response:
    """Take an answer."""
    try:
        answer = Answer(form.get("answer", ""))
    except ValueError:
        answers = ", ".join(Answer)
        raise PageRefused(HTTPStatus.BAD_REQUEST, f"An answer is one of {answers}.") from None
    return _said(request, visit, form, answer)


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
    if _wants_json(request):
        return JSONResponse({"progress": desk.progress(visit.annotator).text})
    back = f"/?task={task}" if answer is None else "/"
    return RedirectResponse(back, _SEE_OTHER)


def _item_page(screen: Screen, visit: Visit) -> Response:
    if screen.round_ is None:
        return _page("done.html", visit=visit, progress=screen.progress, last=screen.last)
    item = screen.tasks[0]
    return _page(
        "item.html",
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


# Coming and going


def entrance_page(request: Request, key: str = "") -> Response:
    """Ask for the name of who comes by a link."""
    entrance: Entrance = request.app.state.entrance
    if not entrance.links.works(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    return _page("enter.html", key=key, name=entrance.name, problem="")


def enter(request: Request, form: Form) -> Response:
    """Begin a visit; the link does not work any more."""
    state = request.app.state
    entrance: Entrance = state.entrance
    key, name = form.get("key", ""), form.get("name", "")
    if not entrance.links.works(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    try:
        annotator = annotator_name(name)
    except ValueError as problem:
        page = _page("enter.html", key=key, name=name, problem=str(problem))
        page.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return page
    if not entrance.links.use(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    token = state.visits.begin(annotator)
    entrance.entered(annotator)
    response = RedirectResponse("/", _SEE_OTHER)
    response.set_cookie(
        state.cookie,
        token,
        max_age=round(VISIT.total_seconds()),
        path="/",
        httponly=True,
        samesite="strict",
    )
    return response


def leave(request: Request, visit: Visitor, form: OwnForm) -> Response:  # noqa: ARG001  both are checked
    """End a visit."""
    state = request.app.state
    state.visits.end(request.cookies.get(state.cookie, ""))
    response = _message_page(HTTPStatus.OK, "You have left. Your answers are kept.")
    response.delete_cookie(state.cookie, path="/", httponly=True, samesite="strict")
    return response


# Pages


def _page(name: str, /, **values: Any) -> HTMLResponse:
    return HTMLResponse(_PAGES.get_template(name).render(**values))


def _message_page(status: HTTPStatus, message: str) -> HTMLResponse:
    page = _page("message.html", message=message, signed_in=status is not HTTPStatus.UNAUTHORIZED)
    page.status_code = status
    return page


def _answer_of(request: Request, status: HTTPStatus, message: str) -> Response:
    if _wants_json(request):
        return JSONResponse({"message": message}, status)
    return _message_page(status, message)


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _refused(request: Request, error: Exception) -> Response:
    refused = cast("PageRefused", error)
    return _answer_of(request, refused.status, refused.message)


def _no_page(request: Request, error: Exception) -> Response:
    status = cast("HTTPException", error).status_code
    return _answer_of(request, HTTPStatus(status), "There is no such page here.")


def _unavailable(request: Request, error: Exception) -> Response:
    log.warning("labeling page cannot be shown now", reason=str(error))
    message = "The store cannot be used now. Nothing was lost; try again in a moment."
    return _answer_of(request, HTTPStatus.SERVICE_UNAVAILABLE, message)
