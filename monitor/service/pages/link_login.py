"""Sign-in by a link that works once and is in the memory of the process that printed it."""

import hmac
import secrets
from collections.abc import Callable
from http import HTTPStatus
from threading import Lock
from typing import ClassVar

from fastapi import APIRouter, Request
from fastapi.responses import Response

from monitor.domain.people import Role, annotator_name
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Form, PageRefused, create_session

router = APIRouter()

_NO_LINK = (
    "This link was already used, or a newer one exists. Each works once. The terminal or log of "
    "pr-monitor shows one that works."
)


class LinkLogin:
    """The one link that works now; its first use invalidates it.

    name: The name that the first page proposes.
    entered: Called with the name of the person who came in, when there is a new link.
    """

    login: ClassVar[str | None] = None
    unauthenticated: ClassVar[str] = (
        "You are not signed in here, or no longer. The terminal or log of pr-monitor shows a link: "
        "open it. Answers that wait in this tab are kept, and sent then."
    )

    def __init__(self, name: str, entered: Callable[[str], None]) -> None:
        self.name = name
        self.entered = entered
        self._lock = Lock()
        self.key = secrets.token_urlsafe()

    def works(self, key: str) -> bool:
        """Whether a link can be used."""
        return hmac.compare_digest(key.encode(), self.key.encode())

    def use(self, key: str) -> bool:
        """Use a link, and make another for the next person; returns false if it is invalid."""
        with self._lock:
            if not self.works(key):
                return False
            self.key = secrets.token_urlsafe()
            return True

    def role(self, name: str) -> Role:  # noqa: ARG002  the same for all
        """Return the role of everybody: admin, since people who see the link run the program."""
        return Role.ADMIN


@router.get("/enter")
def link_login_page(request: Request, key: str = "") -> Response:
    """Ask a person who follows a link for a name."""
    login: LinkLogin = request.app.state.way_in
    if not login.works(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    return html_page("enter.html", key=key, name=login.name, problem="")


@router.post("/enter")
def enter(request: Request, form: Form) -> Response:
    """Start a session, and invalidate the link."""
    login: LinkLogin = request.app.state.way_in
    key, name = form.get("key", ""), form.get("name", "")
    if not login.works(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    try:
        annotator = annotator_name(name)
    except ValueError as problem:
        page = html_page("enter.html", key=key, name=name, problem=str(problem))
        page.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return page
    if not login.use(key):
        raise PageRefused(HTTPStatus.FORBIDDEN, _NO_LINK)
    login.entered(annotator)
    return create_session(request, annotator)
