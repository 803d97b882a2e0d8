"""Answers of the pages: HTML from templates, or JSON where the script of a page asks."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from monitor.domain.people import Role
from monitor.domain.visible import clean
from monitor.presentation.alerts import note_text
from monitor.presentation.numbers import interval_text, limit_text, minute_text
from monitor.presentation.setting_changes import change_sentence
from monitor.report.html import TEMPLATES

_TEMPLATES = Environment(
    loader=FileSystemLoader([Path(__file__).parent / "templates", TEMPLATES]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "clean": clean,
    "minute": minute_text,
    "percent": "{:.1%}".format,
    "interval": interval_text,
    "limit": limit_text,
    "note": note_text,
    "change": change_sentence,
}


def html_page(template: str, /, **values: Any) -> HTMLResponse:
    """Make a page of a template."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(**values))


def message_page(
    status: HTTPStatus, message: str, *, role: Role | None = None, sign_in: bool = False
) -> HTMLResponse:
    """Make a page with one sentence, and links for a ``role``.

    ``sign_in`` adds a link to the sign-in page.
    """
    page = html_page("message.html", message=message, role=role, sign_in=sign_in)
    page.status_code = status
    return page


def message_answer(request: Request, status: HTTPStatus, message: str) -> Response:
    """Answer with one sentence, as a page or to a script."""
    if wants_json(request):
        return JSONResponse({"message": message}, status)
    unauthenticated = status is HTTPStatus.UNAUTHORIZED
    sign_in = unauthenticated and request.app.state.way_in.login is not None
    role = getattr(request.state, "role", None)  # of the person, if a session was found
    return message_page(status, message, role=role, sign_in=sign_in)


def wants_json(request: Request) -> bool:
    """Whether a script asks."""
    return "application/json" in request.headers.get("accept", "")
