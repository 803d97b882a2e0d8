"""Dependencies of all addresses: the form and the session of a request; and signing out."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from monitor.config.pages import PagesSettings
from monitor.domain.people import Role
from monitor.service.pages.rendering import message_page
from monitor.service.pages.sessions import SESSION, WebSession

router = APIRouter()

_MOST_FIELDS = 8

_NOT_FOR = "This page is not for you: your role here is {role}. The operator can change it."


class PageRefused(Exception):
    """A request that is answered with a sentence."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


async def form_of(request: Request) -> dict[str, str]:
    """Read the fields of a form."""
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise PageRefused(
            HTTPStatus.BAD_REQUEST, "This form does not belong to this page."
        ) from None
    return dict(fields)


def session_of(request: Request) -> WebSession:
    """Return the session of a request."""
    state = request.app.state
    session: WebSession | None = state.visits.find(_token(request))
    if session is None:
        raise PageRefused(HTTPStatus.UNAUTHORIZED, state.way_in.unauthenticated)
    request.state.role = session.role  # whatever page it ends with leads on to what is for them
    return session


def create_session(request: Request, annotator: str) -> Response:
    """Start a session, and end the one that the browser came with.

    Labelers are led to the labeling page as long as a round takes answers: answers that wait in the
    tab are sent there.
    """
    state = request.app.state
    token = state.visits.begin(annotator, before=_token(request))
    session: WebSession | None = state.visits.find(token)
    labels = session is not None and session.role.labels
    first = "/label" if labels and state.desk.takes_answers() else "/"
    response = RedirectResponse(first, HTTPStatus.SEE_OTHER)
    _set_cookie(request, response, token, round(SESSION.total_seconds()))
    return response


def cookie_name(settings: PagesSettings) -> str:
    """Name the cookie; under https a browser takes one of this name from its own host only."""
    name = f"pr_monitor_{settings.address.port}"  # its ports share a machine's cookies
    return f"__Host-{name}" if settings.behind_proxy else name


def address_of(request: Request) -> str:
    """Return where a request comes from; behind a proxy, what the proxy says."""
    forwarded = request.headers.getlist("x-forwarded-for")
    if request.app.state.settings.behind_proxy and forwarded:
        return forwarded[-1].rpartition(",")[2].strip()  # what came before it anybody may write
    return "" if request.client is None else request.client.host


def _set_cookie(request: Request, response: Response, token: str, seconds: int) -> None:
    """Set the session cookie for some seconds; with 0 the browser deletes it."""
    response.set_cookie(
        request.app.state.cookie,
        token,
        max_age=seconds,
        expires=None if seconds else 0,
        httponly=True,
        samesite="strict",
        secure=request.app.state.settings.behind_proxy,
    )


def _token(request: Request) -> str:
    return request.cookies.get(request.app.state.cookie, "")


Form = Annotated[dict[str, str], Depends(form_of)]
Visitor = Annotated[WebSession, Depends(session_of)]
"""Everybody who is signed in. Most pages are for one of the following."""


def _may(do: Callable[[Role], bool]) -> Callable[[WebSession], WebSession]:
    def session_that_may(session: Visitor) -> WebSession:
        if not do(session.role):
            raise PageRefused(HTTPStatus.FORBIDDEN, _NOT_FOR.format(role=session.role))
        return session

    return session_that_may


Labeling = Annotated[WebSession, Depends(_may(lambda role: role.labels))]
"""Who may answer tasks: labelers and admins."""
Viewing = Annotated[WebSession, Depends(_may(lambda role: role.views))]
"""Who may see how the monitors fare: viewers and admins."""
Administering = Annotated[WebSession, Depends(_may(lambda role: role is Role.ADMIN))]
"""Who may see how others label: admins."""


def own_form(session: Visitor, form: Form) -> dict[str, str]:
    """Return a form from a page of the same session; refuse any other."""
    if not session.made(form.get("form_token", "")):
        raise PageRefused(
            HTTPStatus.FORBIDDEN, "This form is from an earlier session; reload the page."
        )
    return form


OwnForm = Annotated[dict[str, str], Depends(own_form)]


@router.post("/leave")
def leave(request: Request, session: Visitor, form: OwnForm) -> Response:  # noqa: ARG001  is checked
    """Sign a person out in every browser, and delete this one's cookie."""
    state = request.app.state
    state.visits.end(session)
    way_back = state.way_in.login is not None
    response = message_page(
        HTTPStatus.OK, "You are signed out. Your answers are kept.", sign_in=way_back
    )
    _set_cookie(request, response, "", 0)
    return response
