"""The way in by a link that works once, and the way out."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from monitor.service.pages.rendering import html_page, message_page
from monitor.service.pages.requests import Form, OwnForm, PageRefused, Visitor
from monitor.service.pages.visits import VISIT, Links, annotator_name

router = APIRouter()

_NO_LINK = (
    "This link was used, or is not the newest one. Each works once. Where pr-monitor runs it "
    "shows one that works."
)


@dataclass(frozen=True, slots=True)
class Entrance:
    """How people come in: the link, the name that is proposed, and who is told of a new link."""

    links: Links
    name: str
    entered: Callable[[str], None]


@router.get("/enter")
def entrance_page(request: Request, key: str = "") -> Response:
    """Ask for the name of who comes by a link."""
    entrance: Entrance = request.app.state.entrance
    if not entrance.links.works(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    return html_page("enter.html", key=key, name=entrance.name, problem="")


@router.post("/enter")
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
        page = html_page("enter.html", key=key, name=name, problem=str(problem))
        page.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return page
    if not entrance.links.use(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    token = state.visits.begin(annotator)
    entrance.entered(annotator)
    response = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    response.set_cookie(
        state.cookie,
        token,
        max_age=round(VISIT.total_seconds()),
        path="/",
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/leave")
def leave(request: Request, visit: Visitor, form: OwnForm) -> Response:  # noqa: ARG001  both are checked
    """End a visit."""
    state = request.app.state
    state.visits.end(request.cookies.get(state.cookie, ""))
    response = message_page(HTTPStatus.OK, "You have left. Your answers are kept.")
    response.delete_cookie(state.cookie, path="/", httponly=True, samesite="strict")
    return response
