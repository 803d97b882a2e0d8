"""The way in by a link that works once."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from monitor.service.pages.accounts import annotator_name
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Form, PageRefused, create_session
from monitor.service.pages.roles import Role
from monitor.service.pages.sessions import Links

router = APIRouter()

_NO_LINK = (
    "This link was used, or is not the newest one. Each works once. Where pr-monitor runs it "
    "shows one that works."
)


@dataclass(frozen=True, slots=True)
class LinkLogin:
    """How people come in: the link, the name that is proposed, and who is told of a new link."""

    links: Links
    name: str
    entered: Callable[[str], None]
    login: ClassVar[str | None] = None
    unauthenticated: ClassVar[str] = (
        "You are not signed in here, or no longer. Where pr-monitor runs it shows a link: open "
        "that. Answers that wait in this tab are kept, and sent then."
    )

    def role(self, connection: Connection, name: str) -> Role:  # noqa: ARG002  the same for all
        """Return what somebody may do: all, as who sees the link runs the program."""
        return Role.ADMIN


@router.get("/enter")
def link_login_page(request: Request, key: str = "") -> Response:
    """Ask for the name of who comes by a link."""
    login: LinkLogin = request.app.state.way_in
    if not login.links.works(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    return html_page("enter.html", key=key, name=login.name, problem="")


@router.post("/enter")
def enter(request: Request, form: Form) -> Response:
    """Begin a visit; the link does not work any more."""
    login: LinkLogin = request.app.state.way_in
    key, name = form.get("key", ""), form.get("name", "")
    if not login.links.works(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    try:
        annotator = annotator_name(name)
    except ValueError as problem:
        page = html_page("enter.html", key=key, name=name, problem=str(problem))
        page.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return page
    if not login.links.use(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    login.entered(annotator)
    return create_session(request, annotator)
